package context

import (
	"embed"
	"runtime"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
)

//go:embed lang
var texts embed.FS

// facts are what the texts may mention.
type facts struct {
	Time, Runtime, Workspace, Channel, ChatID string
}

// renderText renders a text in the language of the run.
func (b *builder) renderText(name string, data facts) (string, error) {
	return ask.Prompt(b.env, "context", texts, name, data)
}

// formatClock writes a time to the minute, with the day of the week.
func formatClock(now time.Time, language string) string {
	day := now.Weekday().String()
	if slices.Contains(calls.WithoutRegion(language), "zh") {
		day = [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}[now.Weekday()]
	}
	return now.Format("2006-01-02 15:04") + " (" + day + ")"
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
