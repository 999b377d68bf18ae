package prompt_test

import (
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

// TestSecretResults: typed results have their marks where secrets are.
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
		if got := maskAll(v).JSON(); got != want {
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

func maskAll(v value.Value) value.Value {
	switch v.Kind() {
	case value.List:
		var items []value.Value
		for _, item := range v.List() {
			items = append(items, maskAll(item))
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(0)
		for k, member := range v.Map().All() {
			m.Set(k, maskAll(member))
		}
		return value.OfMap(m)
	}
	return v.Masked("***")
}
