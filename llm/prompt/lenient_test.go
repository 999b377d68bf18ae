package prompt_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
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

// Messages about undefined names and about syntax exist in both languages.
func TestUndefinedInChinese(t *testing.T) {
	for text, want := range map[string]string{
		"{{ a.b }}":        "a.b 未定义：对象没有键 'b'",
		"{{ x }}":          "x 未定义",
		"{{ [] | first }}": "列表为空：没有第一个元素",
		"{{ a | }}":        "此处不应有 }}：应为名称",
		"{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}": "没有给出参数 a（宏 m）",
	} {
		parsed, err := prompt.Parse(prompt.Source{Text: text})
		if err == nil {
			_, err = parsed.Render(t.Context(), prompt.Values{Map: value.Pairs("a", value.NewMap(0))})
		}
		if got := wording.OfError(err); err == nil || !strings.Contains(got.Zh, want) {
			t.Errorf("%s: got %q (%v), want %q", text, got.Zh, err, want)
		}
	}
}
