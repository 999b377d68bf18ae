package context

import (
	"context"
	"embed"
	"runtime"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/llm/value"
)

//go:embed lang/en lang/zh
var texts embed.FS

// facts are the values that the texts may mention.
type facts struct {
	Time, Runtime, Workspace, Channel, ChatID string
	Tools                                     []string
}

func (f facts) values() *value.Map {
	return value.Pairs("tools", f.Tools, "time", f.Time, "runtime", f.Runtime, "workspace", f.Workspace, "channel", f.Channel, "chat_id", f.ChatID)
}

// renderTraced renders a text in the language of the run, with the sources of its bytes: words of the text's file,
// and facts, some of them parameters.
func (b *builder) renderTraced(ctx context.Context, name string, f facts) (tracedText, error) {
	text, parts, err := ask.TracedPrompt(ctx, b.env, "context", texts, name, ask.Values{Map: f.values()})
	traced := tracedText{text: text, reason: b.env.Say("built-in text")}
	for _, p := range parts {
		o := calls.Origin{Start: p.Start, End: p.End, Kind: calls.OriginText, Name: p.Name, Computed: true}
		if p.Kind == "time" {
			o.Kind, o.Name = calls.OriginClock, ""
		}
		if pointer := map[string]string{"workspace": "/workspace", "channel": "/channel", "chat_id": "/chat_id"}[p.Kind]; pointer != "" {
			o = calls.Origin{Start: p.Start, End: p.End, Pointer: pointer, Computed: p.Kind == "workspace"}
		}
		list := []calls.Origin{o}
		if p.Kind == "text" {
			list = shiftOrigins(p.Origins, p.Start)
		}
		traced.origins = append(traced.origins, list...)
		if p.Kind == "text" && p.Name != "context "+name+".txt" {
			traced.reason = b.env.Say("the text %s", p.Name) // of a user
		}
	}
	return traced, err
}

// formatClock writes a time to the minute, with the day of the week.
func formatClock(now time.Time, language string) string {
	return now.Format("2006-01-02 15:04") + " (" + calls.Weekday(now.Weekday(), language) + ")"
}

// platformName names the operating system and the processor.
func platformName() string {
	name := runtime.GOOS
	switch name {
	case "darwin":
		name = "macOS"
	case "linux":
		name = "Linux"
	case "windows":
		name = "Windows"
	}
	return name + " " + runtime.GOARCH
}
