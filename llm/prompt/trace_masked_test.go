package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/test/slow"
)

// TestAlignSpans: of a text of a run, rendered again with masks, is known what secrets have made of
// it, and the rest has its sources.
func TestAlignSpans(t *testing.T) {
	masked := secret.MarkMasks(value.OfMap(value.Pairs("key", "***", "n", "***", "header", "Bearer ***!", "name", "ann", "list", []string{"***", "x"})))
	for _, c := range []struct{ template, recorded, want string }{
		{"{{ name }} {{ key }}!", "ann ***!", `"ann" name|" "|"***" key|"!"`},
		{"{{ n + 1 }} of {{ name }}", "*** of ann", `"***" n*|" of "|"ann" name`},
		{"{{ key | length }} of {{ name }}", "15 of ann", `"15" key*|" of "|"ann" name`},
		{"{{ header }} {{ n | upper }} {{ name }}", "Bearer ***! *** ann", `"Bearer " header|"***" header|"!" header|" "|"***" n*|" "|"ann" name`},
		{"{% for c in key %}{{ c }}{{ name }}{% endfor %}!", "***ann***ann***ann***ann!", `"***ann***ann***ann***ann" key name*|"!"`},
		{"{% for x in list %}{{ x }}{{ name }}{% endfor %}{{ n + 1 }}", "***annxann***", `"***" list/0|"ann" name|"x" list/1|"ann" name|"***" n*`},
		{"a{% if key == 'k' %}b{{ name }}{% endif %}c", "abannc", `"a"|"bann" key*|"c"`},
		{"a{% if key == 'k' %}b{% endif %}c", "ac", `"a"|"c"`},
		{"{{ 'x' if key == 'k' else 'y' }} {{ name }}", "x ann", `"x" key*|" "|"ann" name`},
		{"{{ key[7] }}{{ name }}", "***ann", `"***" key*|"ann" name`},
		{"{{ name }} {{ key | upper }}, {{ key | lower }}, {{ name }}", "ann *** ann", "none"},
		{"{{ name }} {{ key | upper }}, {{ key | lower }}. {{ name }}", "ann ***. ann", `"ann" name|" "|"***" key*|". "|"ann" name`},
		{"{{ name }}{{ key | upper }}{{ name }}{{ key | lower }}{{ name }}", "ann***annann", `"ann" name|"***" key*|"ann" name|"ann" name`},
		{"{{ name }} {{ n + 1 }}", "bob ***", "none"},
	} {
		parsed, err := prompt.Parse(prompt.Source{Text: c.template})
		if err != nil {
			t.Fatal(err)
		}
		text, spans, err := parsed.Trace(t.Context(), prompt.SecretValues{Values: prompt.Values{Map: masked.Map()}})
		if err != nil {
			t.Fatalf("%s: %v", c.template, err)
		}
		got := []string{"none"}
		if aligned, ok := prompt.AlignSpans(spans, text, c.recorded, secret.Mask); ok {
			got = namedSpans(aligned, c.recorded)
		}
		if diff := cmp.Diff(strings.Split(c.want, "|"), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.template, diff)
		}
	}
}

// namedSpans are the spans of a text: text, values, and * for what was computed.
func namedSpans(spans []prompt.Span, text string) (all []string) {
	end := 0
	for _, s := range spans {
		if s.Start != end {
			all = append(all, fmt.Sprintf("gap at %d", end))
		}
		end = s.End
		shown, known := fmt.Sprintf("%q", text[s.Start:s.End]), map[string]bool{}
		for _, ref := range s.Sources {
			if name := ref.Name + ref.Pointer; !known[name] {
				shown += " " + name
				known[name] = true
			}
		}
		if s.Kind == prompt.Computed {
			shown += "*"
		}
		all = append(all, shown)
	}
	return all
}

// A trace with masks fails where the template itself does.
func TestTraceOfMasksFails(t *testing.T) {
	masked := secret.MarkMasks(value.OfMap(value.Pairs("key", "***", "name", "ann")))
	for _, text := range []string{"{{ name + 1 }}", "{{ nothing }}", "{{ range(99999999) }}{{ key }}", "{% for x in range(99999) %}{% for y in range(99999) %}{{ key }}{% endfor %}{% endfor %}"} {
		if strings.Contains(text, "for y") && !slow.Enabled() {
			continue
		}
		parsed, err := prompt.Parse(prompt.Source{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := parsed.Trace(t.Context(), prompt.SecretValues{Values: prompt.Values{Map: masked.Map()}}); err == nil {
			t.Errorf("%s makes %q", text, out)
		}
	}
}
