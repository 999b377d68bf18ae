package terminal

import (
	"io"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/test/slow"
)

// JSON on a terminal steers it no more than other text does.
func TestJSONText(t *testing.T) {
	for text, want := range map[string]string{
		"plain 文本":        `"plain 文本"`,
		"\x1b[31m":        `"\u001b[31m"`,
		"\u009b31m\u007f": `"\u009b31m\u007f"`,
	} {
		got := JSONText(value.OfString(text))
		if back, err := value.ParseJSON([]byte(got)); got != want || err != nil || !value.Equal(back, value.OfString(text)) {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}

// Stdin may never end, as a device does.
func TestEndlessStdin(t *testing.T) {
	slow.Test(t)
	term := New(endless{}, io.Discard, io.Discard, nil)
	if _, err := term.ReadFile("-"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("endless stdin: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
