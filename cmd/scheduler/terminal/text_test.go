package terminal

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
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
