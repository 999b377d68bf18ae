package builtins_test

import (
	"errors"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/value/wording"
)

// TestUnsupported uses every name that Python has and templates do not: each is
// refused with its place before anything runs.
func TestUnsupported(t *testing.T) {
	forms := map[string][2]string{
		"filter": {"{{ x | ", " }}"}, "test": {"{{ x is ", " }}"}, "tag": {"{% ", " %}"}, "method": {"{{ x.", "() }}"},
	}
	for kind, form := range forms {
		for _, name := range builtins.UnsupportedNames(kind) {
			remedy, _ := builtins.Remedy(kind, name)
			_, err := prompt.Parse(prompt.Source{Text: form[0] + name + form[1]})
			var e *prompt.Error
			if !errors.As(err, &e) || e.Line != 1 || e.Offset != len(form[0]) || e.Hint != remedy {
				t.Errorf("%s %s: got %v", kind, name, err)
			}
		}
	}
	for _, kind := range []string{"filter", "tag", "method", "function"} {
		names := builtins.UnsupportedNames(kind)
		if len(names) == 0 {
			t.Errorf("no unsupported %s", kind)
		}
		for _, name := range names {
			remedy, _ := builtins.Remedy(kind, name)
			if text := wording.Of(remedy); remedy != "" && text.Zh == text.En {
				t.Errorf("the hint of the %s %s is not in Chinese: %s", kind, name, remedy)
			}
		}
	}
	for _, text := range []string{"{{ 'x'.__class__ }}", "{{ '%u' % 1 }}", "{{ '{!r}'.format(1) }}", "{{ 0x1f }}", "{{ 1_000 }}", "{{ f(*a) }}",
		"{% macro m() %}{% set caller = 1 %}{% endmacro %}", "{% macro m(caller) %}{% endmacro %}", "{% macro m() %}{% for caller in x %}{% endfor %}{% endmacro %}",
		"{% macro m() %}{% with caller = 1 %}{% endwith %}{% endmacro %}", "{{ ('<b>{}' | safe).format('x') }}", "{{ '\\101' }}", "{{ ('<' | e) | upper }}", "{{ lipsum() }}"} {
		tmpl, err := prompt.Parse(prompt.Source{Text: text})
		if err == nil {
			_, err = tmpl.Render(t.Context(), prompt.Values{})
		}
		var e *prompt.Error
		if !errors.As(err, &e) || e.Line != 1 {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
