package prompt_test

import (
	"slices"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// TestBuiltinDocs: every filter and test is described in both languages, by an example that renders to the result
// it gives.
func TestBuiltinDocs(t *testing.T) {
	for _, b := range slices.Concat(prompt.Filters(), prompt.Tests()) {
		if b.Doc == "" {
			t.Errorf("%s is not described", b.Name)
			continue
		}
		if wording.Of(b.Doc).Zh == b.Doc {
			t.Errorf("%s is not described in Chinese: %q", b.Name, b.Doc)
		}
		parsed, err := prompt.Parse(prompt.Source{Text: b.Example})
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		if got, err := parsed.Render(t.Context(), prompt.Values{Map: value.NewMap(0)}); err != nil || got != b.Result {
			t.Errorf("%s: %s renders to %q, want %q (%v)", b.Name, b.Example, got, b.Result, err)
		}
	}
}
