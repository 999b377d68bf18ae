package prompt_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/prompt"
)

// TestLiteralSource: whatever a text looks like, its literal prints it as it is.
func TestLiteralSource(t *testing.T) {
	pieces := []string{"{", "}", "{{ secrets.key }}", "{% raw %}", "{% endraw %}", "{#", "#}", "{%-", "-%}", `"`, `\`, "\n", "\r\n", " ", "x", "é", "# for x"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "text"), "")
		tmpl, err := prompt.Parse(prompt.Source{Text: prompt.LiteralSource(text)})
		if err != nil {
			t.Fatalf("the literal of %q is refused: %v", text, err)
		}
		got, err := tmpl.Render(t.Context(), prompt.Values{})
		if err != nil || got != text {
			t.Fatalf("the literal of %q renders to %q, %v", text, got, err)
		}
	})
}
