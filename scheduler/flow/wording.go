package flow

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// say formats a message in the built-in languages.
func say(format string, args ...any) wording.Text { return chinese.Say(format, args...) }

// chineseHint returns a hint that [value.Suggest] and the like made in English with what it
// is in Chinese; others stay as they are.
func chineseHint(hint string) wording.Text {
	if quoted, ok := strings.CutPrefix(hint, "did you mean "); ok {
		if name, err := strconv.Unquote(strings.TrimSuffix(quoted, "?")); err == nil {
			return say("did you mean %q?", name)
		}
	}
	if names, ok := strings.CutPrefix(hint, "there are "); ok && !strings.Contains(names, ";") {
		return say("there are %s", names)
	}
	return wording.Same(hint)
}

// textError is an error with its message in the built-in languages.
type textError wording.Text

func (e textError) Error() string             { return e.En }
func (e textError) In(language string) string { return wording.Text(e).In(language) }
