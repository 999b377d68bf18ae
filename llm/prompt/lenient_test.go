package prompt_test

import (
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// skipped is a scope in which the name step is absent, and others are undefined.
type skipped struct{ prompt.Values }

func (skipped) IsAbsent(name string) bool { return name == "step" }

func TestLenientScope(t *testing.T) {
	scope := skipped{prompt.Values{Map: value.NewMap(0)}}
	for text, want := range map[string]string{
		"{{ step.a.b | default('x') }}":           "x",
		"{{ step['a'][0] | default('x') }}":       "x",
		"{{ step.a is defined }}":                 "False",
		"{{ step is defined }}":                   "False",
		"{{ step.a if step.a is defined else 1}}": "1",
		"{{ step.a.b }}":                          "error: step",
		"{{ step.a + 1 }}":                        "error: step",
		"{{ other.a | default('x') }}":            "error: other",
	} {
		tmpl, err := prompt.Parse(prompt.Source{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(t.Context(), scope)
		if e, ok := err.(*prompt.Error); ok { //nolint:errorlint // it is not wrapped here
			got = "error: " + e.Name
		}
		if got != want {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
}
