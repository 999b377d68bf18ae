package builtins_test

import (
	"errors"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/value"
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
	for _, kind := range []string{"filter", "tag", "method", "function", "name"} {
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

// TestNameRemedy prints names that people know from elsewhere: each is undefined with a remedy, and an ordinary name in every other
// respect.
func TestNameRemedy(t *testing.T) {
	names := append(builtins.UnsupportedNames("name"), "upper", "sum", "tojson") // these are filters
	for _, name := range names {
		if name == "caller" || name == "loop" || name == "forloop" || name == "super" {
			continue // these have values in their blocks
		}
		_, err := render(t, "{{ "+name+"(1) }}", value.NewMap(0))
		var e *prompt.Error
		if !errors.As(err, &e) || e.Class != prompt.Undefined || e.Hint == "" || e.Hint != prompt.NameRemedy(name).En {
			t.Errorf("%s: got %v", name, err)
		}
		for _, one := range []struct {
			text, want string
			values     *value.Map
		}{
			{"{{ " + name + " is defined }}", "False", value.NewMap(0)},
			{"{{ " + name + " | default('none') }}", "none", value.NewMap(0)},
			{"{{ " + name + " }}", "given", value.Pairs(name, "given")},
		} {
			if got, err := render(t, one.text, one.values); err != nil || got != one.want {
				t.Errorf("%s: got %q, %v", one.text, got, err)
			}
		}
	}
	if remedy := prompt.NameRemedy("customer"); remedy.En != "" {
		t.Errorf("a name of a flow has the remedy %q", remedy)
	}
}

func render(t *testing.T, text string, values *value.Map) (string, error) {
	t.Helper()
	tmpl, err := prompt.Parse(prompt.Source{Text: text})
	if err != nil {
		return "", err
	}
	return tmpl.Render(t.Context(), prompt.Values{Map: values})
}
