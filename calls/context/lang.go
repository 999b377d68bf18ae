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

//go:embed lang
var texts embed.FS

// facts are what the texts may mention.
type facts struct {
	Time, Runtime, Workspace, Channel, ChatID string
}

func (f facts) values() *value.Map {
	return value.Pairs("time", f.Time, "runtime", f.Runtime, "workspace", f.Workspace, "channel", f.Channel, "chat_id", f.ChatID)
}

// renderText renders a text in the language of the run.
func (b *builder) renderText(ctx context.Context, name string, f facts) (string, error) {
	return ask.Prompt(ctx, b.env, "context", texts, name, f.values())
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
