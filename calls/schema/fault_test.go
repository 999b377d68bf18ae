package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaults(t *testing.T) {
	tests := []struct {
		name, schema, value string
		want                []string // pointer, keyword, schema
	}{
		{"nothing", `{"type":"object"}`, `{}`, nil},
		{"missing", `{"type":"object","required":["b","a"],"properties":{"a":{"type":"string","default":1},"b":{}}}`, `{}`,
			[]string{`/a required {"type":"string","default":1}`, `/b required {}`}},
		{"missing in an item", `{"items":{"required":["a"],"properties":{"a":{"minimum":1}}}}`, `[{},{"a":1}]`, []string{`/0/a required {"minimum":1}`}},
		{"missing beside wrong", `{"required":["a"],"properties":{"b":{"type":"integer"}}}`, `{"b":"x"}`, []string{`/a required {}`, `/b type {"type":"integer"}`}},
		{"required elsewhere", `{"allOf":[{"required":["a"]},{"properties":{"a":{"minLength":1}}}],"properties":{"a":{"type":"string"}}}`, `{}`,
			[]string{`/a required {"allOf":[{"type":"string"},{"minLength":1}]}`}},
		{"behind a reference", `{"definitions":{"é x":{"minimum":3}},"properties":{"a":{"$ref":"#/definitions/%C3%A9%20x"}}}`, `{"a":1}`, []string{`/a minimum {"minimum":3}`}},
		{"two of one place", `{"allOf":[{"minLength":3},{"pattern":"^x"},{"minLength":3}]}`, `"y"`, []string{` pattern {"pattern":"^x"}`, ` minLength {"minLength":3}`}},
		{"a union", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `[]`, []string{` anyOf {"anyOf":[{"type":"string"},{"type":"integer"}]}`}},
		{"a closed object", `{"additionalProperties":false}`, `{"x":1}`, []string{`/x additionalProperties {"additionalProperties":false}`}},
		{"never", `{"properties":{"x":{"not":true}}}`, `{"x":1}`, []string{`/x not {"not":true}`}},
		{"false", `{"properties":{"x":false}}`, `{"x":1}`, []string{`/x false false`}},
		{"a number that is out of range", `{"type":"number"}`, `1e9999`, []string{` type {}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, tt.schema)
			var got []string
			for _, f := range s.Faults(parse(t, tt.value)) {
				got = append(got, f.Pointer+" "+f.Keyword+" "+f.Schema.JSON())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	s := mustParse(t, `{
		"definitions":{"node":{"properties":{"next":{"$ref":"#/definitions/node"},"v":{"type":"integer"}}}},
		"properties":{"tree":{"$ref":"#/definitions/node"},"a/b":{"const":1},"list":{"items":[{"const":0}],"additionalItems":{"const":9}},"free":{"type":"object"},
			"open":{"properties":{"x":{}},"additionalProperties":{"type":"null"}},"must":{"properties":{"x":{}},"required":["y"],"dependencies":{"x":["w"]}}},
		"patternProperties":{"^p":{"const":2}},
		"if":{"required":["p"]},"then":{"properties":{"tree":{"minProperties":1}}},
		"anyOf":[{"properties":{"kind":{"const":"k"}}},{}]}`)
	tests := []struct {
		pointer string
		want    []string
		known   bool
	}{
		{"/tree", []string{`{"$ref":"#/definitions/node"}`, `{"minProperties":1}`}, true},
		{"/tree/next/next/v", []string{`{"type":"integer"}`}, true},
		{"/tree/left", nil, false},
		{"/a~1b", []string{`{"const":1}`}, true},
		{"/list/0", []string{`{"const":0}`}, true},
		{"/list/7", []string{`{"const":9}`}, true},
		{"/list/-", []string{`{"const":0}`}, true},
		{"/free/any/thing", nil, true},
		{"/open/z", []string{`{"type":"null"}`}, true},
		{"/must/y", nil, true},
		{"/must/w", nil, true},
		{"/must/z", nil, false},
		{"/pq", []string{`{"const":2}`}, true},
		{"/kind", []string{`{"const":"k"}`}, true},
		{"/other", nil, false},
		{"nonsense", nil, true},
	}
	for _, tt := range tests {
		place := s.Describe(tt.pointer)
		var got []string
		for _, sub := range place.Schemas {
			got = append(got, sub.JSON())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || place.Known != tt.known {
			t.Errorf("%s: known %t, want %t (-want +got)\n%s", tt.pointer, place.Known, tt.known, diff)
		}
	}
	if all := s.Describe("/tree").All; len(all) != 3 {
		t.Errorf("with references there are %v", all)
	}
}
