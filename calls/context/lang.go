package context

import (
	"embed"
	"io/fs"
	"runtime"
	"strings"
	"text/template"
	"time"

	"github.com/callnode/scheduler/calls"
)

//go:embed lang
var texts embed.FS

// facts are what the built-in texts may mention.
type facts struct {
	Time, Runtime, Workspace, Channel, ChatID string
}

// builtIn renders one of the built-in texts, in English where the language has
// none. The last newline of the file does not belong to the text.
func builtIn(language, name string, data facts) (string, error) {
	file := "lang/" + language + "/" + name + ".txt"
	if _, err := fs.Stat(texts, file); err != nil {
		file = "lang/en/" + name + ".txt"
	}
	t, err := template.ParseFS(texts, file)
	if err != nil {
		return "", calls.Errorf(calls.Internal, "parsing %s: %w", file, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", calls.Errorf(calls.Internal, "rendering %s: %w", file, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// clock writes a time to the minute, with the day of the week.
func clock(now time.Time, language string) string {
	day := now.Weekday().String()
	if language == "zh" {
		day = [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}[now.Weekday()]
	}
	return now.Format("2006-01-02 15:04") + " (" + day + ")"
}

// system names the operating system and the processor.
func system() string {
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
