package template_test

import (
	"context"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/template"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, template.Definition()) }

func exec(ctx context.Context, t *testing.T, with string) (string, error) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	def := template.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		t.Fatal(problems)
	}
	call, err := def.New(params)
	if err != nil {
		return "", err
	}
	env := calls.NewEnv()
	in, err := call.Init(ctx, env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	out, err := callstest.CollectOutput(call.Exec(ctx, env, in))
	text, _ := out.Get("text")
	s, _ := text.Str()
	return s, err
}

func TestTemplate(t *testing.T) {
	for name, c := range map[string]struct{ with, want string }{
		"text":          {"template: plain", "plain"},
		"nothing":       {"template: ''", ""},
		"value":         {"template: 'Hello {{ name }}!'\nvalues: {name: 世界}", "Hello 世界!"},
		"whole value":   {"template: '{{ n }}'\nvalues: {n: 3}", "3"},
		"not again":     {"template: '{{ x }}'\nvalues: {x: '{{ y }}', y: no}", "{{ y }}"},
		"order is kept": {"template: '{% for k, v in m.items() %}{{ k }}={{ v }};{% endfor %}'\nvalues: {m: {b: 1, a: 2}}", "b=1;a=2;"},
		"default":       {"template: '{{ x | default(1) }}'", "1"},
		"chat template": {"dialect: transformers\ntemplate: |\n  {% for m in messages %}\n  <{{ m.role }}{{ m.name }}>{% endfor %}\nvalues: {messages: [{role: user}, {role: tool, name: s}]}", "<user><tools>"},
		"flow dialect":  {"dialect: flow\ntemplate: \"{% if true %}\\na{% endif %}\"", "\na"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := exec(t.Context(), t, c.with)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		with, want string
		kind       calls.Kind
	}{
		"syntax":    {"template: \"one\\n {{ a b }}\"", "template:2:", calls.Invalid},
		"statement": {"template: '{% if x %}'", "template:1:", calls.Invalid},
		"undefined": {"template: \"\\n\\n{{ no.such }}\"", "template:3:4: ", calls.Invalid},
		"raised":    {"dialect: transformers\ntemplate: \"{{ raise_exception('No system role!') }}\"", "No system role!", calls.Invalid},
		"endless":   {"template: '{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}.{% endfor %}{% endfor %}{% endfor %}'", "template:", calls.Budget},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := exec(t.Context(), t, c.with)
			if err == nil || !strings.Contains(err.Error(), c.want) || calls.KindOf(err) != c.kind {
				t.Errorf("got %v of kind %s, want %s of kind %s", err, calls.KindOf(err), c.want, c.kind)
			}
		})
	}
}

func TestSyntaxIsCheckedWhenConstructed(t *testing.T) {
	_, err := template.Definition().New(value.OfMap(value.Pairs("template", "{{")))
	if calls.KindOf(err) != calls.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := exec(ctx, t, "template: '{% for a in range(9999) %}{% for b in range(9999) %}.{% endfor %}{% endfor %}'")
	if calls.KindOf(err) != calls.Canceled {
		t.Errorf("got %v of kind %s", err, calls.KindOf(err))
	}
}

// A hint is separate from the message.
func TestHint(t *testing.T) {
	_, err := exec(t.Context(), t, "template: '{{ name | uper }}'\nvalues: {name: x}")
	hint := calls.HintOf(err)
	if err == nil || hint == "" || strings.Contains(err.Error(), hint) {
		t.Errorf("got %v with the hint %q", err, hint)
	}
}
