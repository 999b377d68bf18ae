package prompt_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/test/slow"
)

// A trace with masks fails if the template itself does.
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
