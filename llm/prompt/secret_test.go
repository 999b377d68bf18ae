package prompt_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// secretScope has a secret text, a secret number, a text with a secret in it and a plain one.
func secretScope() prompt.SecretValues {
	mark := func(x any, ranges ...value.ByteRange) value.Value { return value.OfSecret(value.Must(x), ranges...) }
	return prompt.SecretValues{Values: prompt.Values{Map: value.Pairs(
		"key", mark("Ab-12"), "pin", mark(4711), "header", mark("Bearer Ab-12!", value.ByteRange{Start: 7, End: 12}), "name", "ann",
		"all", value.Pairs("key", mark("Ab-12"), "name", "ann"),
	)}}
}

// TestSecretTexts: of a text that bytes of secrets went into, exactly these are secret.
func TestSecretTexts(t *testing.T) {
	for template, want := range map[string]string{
		"{{ name }} {{ key }}!":                                            "ann ***!",
		"{{ key | upper }}{{ key[1:3] }}.":                                 "***.",
		"{{ header }}, {{ header[5:9] }}|{{ header[0:6] }}":                "Bearer ***!, r ***|Bearer",
		"{{ header | lower }}":                                             "***",
		"{{ 'a' ~ key ~ name }}":                                           "a***ann",
		"{% for c in key %}{{ c }}.{% endfor %}":                           "***.***.***.***.***.",
		"{% set k %}<{{ key }}>{% endset %}{{ k }}{{ k|e }}":               "<***>***",
		"{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(key) }}{{ m(name) }}": "[***][ann]",
		"{% set n = namespace(v='') %}{% for c in key %}{% set n.v = n.v ~ c %}{% endfor %}{{ n.v }}": "***",
		"{% filter upper %}x{{ key }}{% endfilter %}":                                                 "***",
		"{{ all }}{{ all.name }}{{ all | tojson }}":                                                   "***ann***",
		"{{ pin }} {{ pin + 1 }} {{ '%x' | format(pin) }}":                                            "*** *** ***",
		"{{ key | length }} {{ key == 'x' }} {{ 'yes' if key else 'no' }} {{ key is defined }}":       "5 False yes True",
		"{{ [name, key] | join('/') }}":                                                               "ann/***",
	} {
		parsed, err := prompt.Parse(prompt.Source{Text: template})
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		v, err := parsed.RenderValue(t.Context(), secretScope())
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		if got, _ := v.Masked("***").Str(); got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
		plain, err := parsed.Render(t.Context(), secretScope())
		if text, _ := v.Str(); err != nil || text != plain {
			t.Errorf("%s: %q, but without marks %q, %v", template, text, plain, err)
		}
	}
}

// TestSecretResults: typed results have masks in place of their secrets.
func TestSecretResults(t *testing.T) {
	for expr, want := range map[string]string{
		"key":                          `"***"`,
		"pin":                          `"***"`,
		"pin | string":                 `"***"`,
		"(pin | string | reverse)|int": `"***"`,
		"[name, key, pin, 1]":          `["ann","***","***",1]`,
		"{'a': key, 'b': [header]}":    `{"a":"***","b":["Bearer ***!"]}`,
		"all":                          `{"key":"***","name":"ann"}`,
		"dict(all, x=pin)":             `{"key":"***","name":"ann","x":"***"}`,
		"key | list":                   `["***","***","***","***","***"]`,
		"key.split('-')":               `["***","***"]`,
		"all | dictsort":               `[["key","***"],["name","ann"]]`,
		"pin > 5":                      `true`,
		"key | length":                 `5`,
		"(key | length) + 1":           `"***"`,
		"none if key else 1":           `null`,
		"name | upper":                 `"ANN"`,
	} {
		parsed, err := prompt.ParseExpr(prompt.Source{Text: expr}, nil)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		v, err := parsed.Eval(t.Context(), secretScope())
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if got := v.MaskedDeep("***").JSON(); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	parsed, err := prompt.ParseExpr(prompt.Source{Text: "{(key | upper): 1}"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := parsed.Eval(t.Context(), secretScope()); err == nil {
		t.Errorf("a secret became a key: %s", v)
	}
}

// TestSecretErrors: an error gives its message without secrets, at its place.
func TestSecretErrors(t *testing.T) {
	for expr, want := range map[string]string{
		"all[key | replace('A', 'x')]":     "1:1: all.*** is undefined: the object has no key '***' (it has key, name)",
		"[1][pin + 1]":                     "1:1: it fails, and how is not told: the message may show a secret (look at what it makes of the secret)",
		"[1] | select(key ~ 1) | list":     "1:7: unknown test '***1'",
		"{(key | replace('A', 'x')): 1}.x": "1:1: x is undefined: the object has no key 'x' (it has ***)",
		"name + 1":                         "1:6: unsupported operand types for +: 'str' and 'int' (~ joins any two values as text)",
		"other":                            "1:1: other is undefined",
		"{(key ~ 'x'): 1}":                 "1:1: a secret cannot be the key of a dict that leaves the template: keys are not masked",
	} {
		parsed, err := prompt.ParseExpr(prompt.Source{Text: expr}, nil)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		_, err = parsed.Eval(t.Context(), secretScope())
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expr, err, want)
		}
		template, err := prompt.Parse(prompt.Source{Text: "{{ " + expr + " }}"})
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if v, err := template.RenderValue(t.Context(), secretScope()); err != nil && (strings.Contains(err.Error(), "b-12") || strings.Contains(err.Error(), "4712")) {
			t.Errorf("%s in a template: %s, %v", expr, v, err)
		}
	}
}
