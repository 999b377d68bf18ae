package schema_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("ParseJSON(%q): %v", text, err)
	}
	return v
}

func mustParse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(parse(t, text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return s
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                    `not a JSON Schema: want an object, got array`,
		`{"type":"strng"}`:                      `not a JSON Schema: "/type": value must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"properties":{"":{"minLength":"x"}}}`: `not a JSON Schema: "/properties//minLength": expected integer, but got string`,
		`{"properties":[]}`:                     `not a JSON Schema: "/properties": expected object, but got array`,
		`{"pattern":"a(?=b)"}`:                  `not a JSON Schema: "/pattern": 'a(?=b)' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"patternProperties":{"(":{}}}`:        `not a JSON Schema: "/patternProperties/(": '(' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"$ref":"#/nope"}`:                     `not a JSON Schema: "/$ref": #/nope not found`,
		`{"$ref":"file:///etc/hostname"}`:       `not a JSON Schema: "/$ref": file:///etc/hostname: a schema loads nothing from outside`,
		`{"$schema":""}`:                        `not a JSON Schema: "/$schema": the draft "" is not supported`,
		`{"$ref":"other.json"}`:                 `not a JSON Schema: "/$ref": other.json: a schema loads nothing from outside`,
		`{"$schema":"http://example.com/mine"}`: `not a JSON Schema: "/$schema": the draft "http://example.com/mine" is not supported`,
		`{"$ref":"#"}`:                          `not a JSON Schema: "": infinite loop #/$ref`,
		`{"properties":{"a":{"patternProperties":{"(":{}}},"b":{"patternProperties":{"x":{}}}}}`:                      `not a JSON Schema: "/properties/a/patternProperties/(": '(' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"properties":{"a":{"$ref":"#/shared/n"}},"shared":{"n":{"not":{"patternProperties":{"(?!x)":{}}}}}}`:        `not a JSON Schema: "/shared/n/not/patternProperties/(?!x)": '(?!x)' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"properties":{"a":{"$ref":"#/default"}},"default":{"patternProperties":{"(":{}}}}`:                          `not a JSON Schema: "/default/patternProperties/(": '(' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","contentSchema":{"patternProperties":{"(":{}}}}`:   `not a JSON Schema: "/contentSchema/patternProperties/(": '(' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{"x y":true}}`:                       `not a JSON Schema: "/$vocabulary/x y": 'x y' is not valid 'uri'`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$defs":{"x":{"$vocabulary":{"x y":true}}}}`:       `not a JSON Schema: "/$defs/x/$vocabulary/x y": 'x y' is not valid 'uri'`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"patternProperties":{"(":{}}}}}`:     `not a JSON Schema: "/properties/a/patternProperties/(": '(' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minLength":-1,"items":{"patternProperties":{"(":{}}}}`: `not a JSON Schema: "/items/patternProperties/(": '(' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000); "/minLength": must be >= 0 but found -1`,
		`{"items":{"type":5}}`:             `not a JSON Schema: "/items/type": value must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"items":[{"type":"x"}]}`:         `not a JSON Schema: "/items/0/type": value must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"type":[]}`:                      `not a JSON Schema: "/type": minimum 1 items required, but found 0 items`,
		`{"type":["x"]}`:                   `not a JSON Schema: "/type/0": value must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"type":5}`:                       `not a JSON Schema: "/type": value must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"dependencies":{"a":["b","b"]}}`: `not a JSON Schema: "/dependencies/a": items at index 0 and 1 are equal`,
		`{"$ref":"#/a~5"}`:                 `not a JSON Schema: "/$ref": #/a~5 is not a JSON pointer (write ~0 for ~, and ~1 for /)`,
		`{"properties":{"b":{"$id":"#x"},"a":{"$id":"#x"}}}`:                                                           `not a JSON Schema: "/properties/b/$id": duplicate anchor "x" (also at "/properties/a")`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"b":{"$anchor":"x"},"a":{"$anchor":"x"}}}`: `not a JSON Schema: "/$defs/b/$anchor": duplicate anchor "x" (also at "/$defs/a")`,
		`{"properties":{"a":{"$id":"x"},"b":{"$id":"x"}}}`:                                                             `not a JSON Schema: "/properties/b/$id": duplicate id "x" (also at "/properties/a")`,
		`{"$id":"%zz"}`:                                   `not a JSON Schema: "/$id": '%zz' is not valid 'uri-reference'`,
		`{"properties":{"a":{"$id":"b#%zz"}}}`:            `not a JSON Schema: "/properties/a/$id": 'b#%zz' is not valid 'uri-reference'`,
		`{"$schema":"%zz"}`:                               `not a JSON Schema: "/$schema": '%zz' is not valid 'uri'`,
		`{"$schema":"mem:///schema.json"}`:                `not a JSON Schema: "/$schema": the draft "schema.json" is not supported`,
		`{"items":5,"multipleOf":0,"required":["a","a"]}`: `not a JSON Schema: "/items": expected array, but got number; "/items": expected object or boolean, but got number; "/multipleOf": must be > 0 but found 0; "/required": items at index 0 and 1 are equal`,
		`{"minLength":-1,"$ref":"a b:","allOf":[]}`:       `not a JSON Schema: "/$ref": 'a b:' is not valid 'uri-reference'; "/allOf": minimum 1 items required, but found 0 items; "/minLength": must be >= 0 but found -1`,
		`{"properties":{"a":{"$ref":"#/x y"},"b":{"items":{"$ref":"#/x%20y"}},"c":{"default":{"$ref":"#/x y"}}}}`:                        `not a JSON Schema: "/properties/a/$ref": #/x%20y not found; "/properties/b/items/$ref": #/x%20y not found`,
		`{"properties":{"$ref":{"$ref":"#/lost/a~1b"}}}`:                                                                                 `not a JSON Schema: "/properties/$ref/$ref": #/lost/a~1b not found`,
		`{"definitions":{"d":{}},"properties":{"a":{"$ref":"#/definitions/d"},"b":{"$id":"b.json","items":{"$ref":"#/definitions/d"}}}}`: `not a JSON Schema: "/properties/b/items/$ref": #/properties/b/definitions/d not found`,
		`{"properties":{"a":{"$id":"http://h/x/a","allOf":[{"$ref":"b"}]},"b":{"$ref":"http://h/x/b"}}}`:                                 `not a JSON Schema: "/properties/a/allOf/0/$ref": http://h/x/b: a schema loads nothing from outside; "/properties/b/$ref": http://h/x/b: a schema loads nothing from outside`,
		`{"definitions":{"d":{"$id":"#d"}},"properties":{"a":{"$ref":"#d"},"b":{"$ref":"#e"},"c":{"id":"c","$ref":"#e"}}}`:               `not a JSON Schema: "/properties/b/$ref": #e not found; "/properties/c/$ref": #e not found`,
		`{"$schema":"draft-07"}`:                                                                     `not a JSON Schema: "/$schema": the draft "draft-07" is not supported`,
		`{"items":{"$id":"http://h/a","$schema":"http://h/own"}}`:                                    `not a JSON Schema: "/items/$schema": the draft "http://h/own" is not supported`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[{"$recursiveRef":"#"}]}`: `not a JSON Schema: "/items/0/$recursiveRef": a schema with $dynamicRef or $recursiveRef is not supported; use $ref`,
		`{"$ref":"#a"}`: `not a JSON Schema: "/$ref": #a not found`,
		`{"properties":{"x":{"allOf":[{"$ref":"#/$defs/b"}]}},"$defs":{"b":{"not":{"$ref":"#/properties/x"}}}}`: `not a JSON Schema: "/$defs/b": infinite loop #/$defs/b/not/$ref/allOf/0/$ref`,
		`{"$defs":{"a":{"minLength":"x"}},"items":{"$ref":"#/$defs/a"}}`:                                        `not a JSON Schema: "/$defs/a/minLength": expected integer, but got string`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true}`:                         `not a JSON Schema: "": property 'minimum' is required, if 'exclusiveMinimum' property exists`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$anchor":"1"}`:                              `not a JSON Schema: "/$anchor": does not match pattern '^[A-Za-z_][-A-Za-z0-9._]*$'`,
		`{"anyOf":[` + strings.Repeat(`{},`, 11_000) + `true]}`:                                                 `the schema takes too long to compile: it has 11002 subschemas, and 0 references to places other than definitions`,
		`{"maxLength":1e30,"minItems":9007199254740994}`:                                                        `not a JSON Schema: "/maxLength": 1e30 is more than the maximum 9007199254740992; "/minItems": 9007199254740994 is more than the maximum 9007199254740992`,
		`{"properties":{"a":{"$ref":"#/types/n"}},"types":{"n":{"maxLength":1e400}}}`:                           `not a JSON Schema: "/types/n/maxLength": 1e400 is more than the maximum 9007199254740992`,
		`{"properties":{"maxLength":{"$ref":"#/default"}},"default":{"minItems":1e30}}`:                         `not a JSON Schema: "/default/minItems": 1e30 is more than the maximum 9007199254740992`,
		`{"minimum":1e9999999}`:                                        `not a JSON Schema: "/minimum": the number 1e9999999 is out of range`,
		`{"enum":[0.` + strings.Repeat("0", 2000) + `1]}`:              `not a JSON Schema: "/enum/0": the number 0.00000000000000000000000000000000000... is out of range`,
		strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70): `the schema is nested 71 deep, more than 64`,
		`{"description":"` + strings.Repeat("x", 300_000) + `"}`:       `the schema has 300018 bytes, more than 262144`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`: `not a JSON Schema: "/$dynamicRef": a schema with $dynamicRef or $recursiveRef is not supported; use $ref`,
	} {
		_, err := schema.Parse(parse(t, text))
		if err == nil || err.Error() != want {
			t.Errorf("Parse(%.80s):\n got %v\nwant %s", text, err, want)
		}
	}
}

// What compiles for long is refused, whatever hides it.
func TestCostlyCompiling(t *testing.T) {
	list := func(n int, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(format, "N", strconv.Itoa(i))
		}
		return strings.Join(items, ",")
	}
	const wide = 10_500
	for name, text := range map[string]string{
		"a property named default":  `{"properties":{"default":{"properties":{` + list(wide, `"aN":{}`) + `}}}}`,
		"a definition named enum":   `{"$ref":"#/definitions/enum","definitions":{"enum":{"properties":{` + list(wide, `"aN":{}`) + `}}}}`,
		"references into data":      `{"$ref":"#/default","default":{"properties":{` + list(wide, `"aN":{}`) + `}}}`,
		"names taken for a schema":  `{"items":{"$ref":"#/properties"},"properties":{"properties":{"default":{"properties":{` + list(wide, `"aN":{}`) + `}}}}}`,
		"references in definitions": `{"anyOf":[` + list(4500, `{"$ref":"#/definitions/d/x/N"}`) + `],"definitions":{"d":{"x":{` + list(4500, `"N":{}`) + `}}}}`,
		"$defs of an inner draft 7": `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":{"$id":"http://a/","$schema":"http://json-schema.org/draft-07/schema#",
			"anyOf":[` + list(3000, `{"$ref":"#/$defs/N"}`) + `],"$defs":{` + list(3000, `"N":{}`) + `}}}`,
		"$recursiveRef":                `{"$schema":"https://json-schema.org/draft/2019-09/schema","anyOf":[` + list(3000, `{"$recursiveRef":"#/x/N"}`) + `],"x":{` + list(3000, `"N":{}`) + `}}`,
		"indices written in many ways": `{"anyOf":[{"$ref":"#/x/00"},{"$ref":"#/x/+0"},{"$ref":"#/x/-0"}],"x":[{"properties":{` + list(3000, `"aN":{}`) + `}}]}`,
	} {
		if _, err := schema.Parse(parse(t, text)); err == nil || !strings.Contains(err.Error(), "takes too long to compile") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	for name, text := range map[string]string{
		"objects in an enum": `{"enum":[` + list(wide, `{"a":N}`) + `]}`,
		"definitions":        `{"anyOf":[` + list(2000, `{"$ref":"#/definitions/N"}`) + `],"definitions":{` + list(2000, `"N":{}`) + `}}`,
		"$defs":              `{"$schema":"https://json-schema.org/draft/2020-12/schema","anyOf":[` + list(2000, `{"$ref":"#/$defs/N"}`) + `],"$defs":{` + list(2000, `"N":{}`) + `}}`,
	} {
		if _, err := schema.Parse(parse(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTypos(t *testing.T) {
	doc := parse(t, `{"type":"object","requird":["a"],"aditionalProperties":false,"x-order":1,"properties":{"requird":{"type":"string","minLenght":1,"default":{"requird":1}}},
		"anyOf":[{"item":{}}],"items":{"titel":"x"},"something":{"requird":[]}}`)
	want := []string{
		`/requird: JSON Schema has no keyword "requird", it has no effect (did you mean "required"?)`,
		`/aditionalProperties: JSON Schema has no keyword "aditionalProperties", it has no effect (did you mean "additionalProperties"?)`,
		`/properties/requird/minLenght: JSON Schema has no keyword "minLenght", it has no effect (did you mean "minLength"?)`,
		`/anyOf/0/item: JSON Schema has no keyword "item", it has no effect (did you mean "items"?)`,
		`/items/titel: JSON Schema has no keyword "titel", it has no effect (did you mean "title"?)`,
	}
	got := []string{}
	for _, p := range schema.UnknownKeywords(doc) {
		got = append(got, p.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, doc := range []value.Value{schema.MustFor[tool]().Doc(), parse(t, `true`), parse(t, `{"items":[true,{"$defs":{}}]}`)} {
		if p := schema.UnknownKeywords(doc); p != nil {
			t.Errorf("%s: %v", doc, p)
		}
	}
}

// Members that are neither keywords nor look like a misspelt one are left alone.
func TestAnnotations(t *testing.T) {
	for text, want := range map[string]string{
		`{"note":"the name","notes":"n","noted":{},"id":"a","name":"b","enum":["a"],"enumDescriptions":["A."],"iff":"x","tem":3}`: "",
		`{"iff":{},"item":{"nott":{}}}`: `/iff: JSON Schema has no keyword "iff", it has no effect (did you mean "if"?); /item: JSON Schema has no keyword "item", it has no effect (did you mean "items"?)`,
		`{"minimun":3}`:                 `/minimun: JSON Schema has no keyword "minimun", it has no effect (did you mean "minimum"?)`,
	} {
		if got := schema.UnknownKeywords(parse(t, text)).Error(); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestNeededKeywords: a keyword that is about another has no effect without it.
func TestNeededKeywords(t *testing.T) {
	const newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	for text, want := range map[string]string{
		`{"then":{"else":false}}`: `/then: "then" has no effect without "if" (write if beside it, or leave it out); ` +
			`/then/else: "else" has no effect without "if" (write if beside it, or leave it out)`,
		`{"if":{},"then":{},"else":{}}`:                  "",
		`{"items":{},"additionalItems":false}`:           `/additionalItems: "additionalItems" has no effect where items is not a list (leave it out)`,
		`{"additionalItems":false}`:                      `/additionalItems: "additionalItems" has no effect where items is not a list (leave it out)`,
		`{"items":[{}],"additionalItems":false}`:         "",
		`{"items":null,"additionalItems":false}`:         "",
		`{` + newest + `,"minContains":2}`:               `/minContains: "minContains" has no effect without "contains" (write contains beside it, or leave it out)`,
		`{` + newest + `,"contains":{},"maxContains":2}`: "",
	} {
		got := schema.UnknownKeywords(parse(t, text))
		if got.Error() != want || strings.Contains(got.In("zh"), "no effect") {
			t.Errorf("%s: %s, %s", text, got, got.In("zh"))
		}
	}
}

// TestKeywordsOfOtherDrafts: what has no effect in the draft of a schema is told, with the way
// out; what has is not.
func TestKeywordsOfOtherDrafts(t *testing.T) {
	const (
		newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
		old    = `"$schema":"http://json-schema.org/draft-04/schema#"`
		change = ` (change $schema to https://json-schema.org/draft/2020-12/schema)`
		way    = ` (write $schema: https://json-schema.org/draft/2020-12/schema at the top of the schema)`
	)
	for text, want := range map[string][]string{
		`{"prefixItems":[{"type":"string"}]}`:                       {`/prefixItems: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect` + way},
		`{` + newest + `,"prefixItems":[{}]}`:                       nil,
		`{"items":[{"dependentRequired":{}}]}`:                      {`/items/0/dependentRequired: draft 7 of JSON Schema has no keyword "dependentRequired", it has no effect (use dependencies)`},
		`{"$schema":"https://h/own","prefixItems":[],"requird":[]}`: {`/requird: JSON Schema has no keyword "requird", it has no effect (did you mean "required"?)`},
		`{"items":[{}],"minContains":1,"not":{"prefixItems":[]}}`: {
			`/minContains: draft 7 of JSON Schema has no keyword "minContains", it has no effect (write $schema: https://json-schema.org/draft/2019-09/schema at the top of the schema)`,
			`/not/prefixItems: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect (use items: [...])`},
		`{"properties":{"prefixItems":{}}}`:       nil,
		`{"default":{"prefixItems":[]}}`:          nil,
		`{"$defs":{"a":{}},"$ref":"#/$defs/a"}`:   nil,
		`{"if":{},"then":{},"contains":{}}`:       nil,
		`{"contains":{},"minContains":2}`:         {`/minContains: draft 7 of JSON Schema has no keyword "minContains", it has no effect` + way},
		`{"$dynamicRef":"#a"}`:                    {`/$dynamicRef: draft 7 of JSON Schema has no keyword "$dynamicRef", it has no effect (use $ref)`},
		`{` + newest + `,"$recursiveRef":"#"}`:    {`/$recursiveRef: draft 2020-12 of JSON Schema has no keyword "$recursiveRef", it has no effect (use $ref)`},
		`{` + newest + `,"additionalItems":true}`: {`/additionalItems: draft 2020-12 of JSON Schema has no keyword "additionalItems", it has no effect (use items)`},
		`{` + old + `,"const":1,"if":{}}`: {`/const: draft 4 of JSON Schema has no keyword "const", it has no effect` + change,
			`/if: draft 4 of JSON Schema has no keyword "if", it has no effect` + change},
		`{"items":{"$id":"http://h/a",` + newest + `,"prefixItems":[{"unevaluatedItems":false}]},"unevaluatedProperties":false}`: {
			`/unevaluatedProperties: draft 7 of JSON Schema has no keyword "unevaluatedProperties", it has no effect` + way},
		`{"items":{` + newest + `,"prefixItems":[{}]}}`: {
			`/items/$schema: $schema has no effect here: the schema is of draft 7 (write it at the top of the schema)`,
			`/items/prefixItems: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect` + way},
		`{` + newest + `,"items":{` + newest + `}}`: nil,
		`{"definitions":{"a":{}},"items":{"$ref":"#/definitions/a","description":"A.","default":1,"minLength":2}}`: {
			`/items/minLength: draft 7 of JSON Schema ignores what is beside $ref: "minLength" has no effect (write allOf: [{$ref: ...}] in place of $ref)`},
		`{` + newest + `,"$defs":{"a":{}},"$ref":"#/$defs/a","minLength":2}`: nil,
	} {
		var got []string
		for _, p := range schema.UnknownKeywords(parse(t, text)) {
			got = append(got, p.Error())
			if !p.Warning || p.Keyword != schema.UnknownKeyword || strings.Contains(p.In("zh"), "has no") {
				t.Errorf("%s: %+v, %s", text, p, p.In("zh"))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for whole, want := range map[string]string{
		`{}`: `/$schema: $schema has no effect here: the schema is of draft 7 (leave it out); ` +
			`/prefixItems: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect (use items: [...]); ` +
			`/minContains: draft 7 of JSON Schema has no keyword "minContains", it has no effect (leave it out); ` +
			`/requird: JSON Schema has no keyword "requird", it has no effect (did you mean "required"?)`,
		`{` + newest + `}`: `/requird: JSON Schema has no keyword "requird", it has no effect (did you mean "required"?)`,
		`null`:             `/requird: JSON Schema has no keyword "requird", it has no effect (did you mean "required"?)`,
	} {
		part := schema.UnknownKeywordsOfPart(parse(t, `{`+newest+`,"prefixItems":[],"contains":{},"minContains":1,"requird":[]}`), parse(t, whole)).Error()
		if part != want {
			t.Errorf("%s: got  %s\nwant %s", whole, part, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		schema, v string
		want      []string // keyword and problem
	}{
		{`true`, `1`, nil},
		{`false`, `1`, []string{"false no value is allowed here"}},
		{`{}`, `{"a":[1,"2",null]}`, nil},
		{`{"type":["string","null"]}`, `7`, []string{"type want string or null, got integer"}},
		{`{"type":"integer"}`, `7.0`, nil},
		{`{"type":"integer"}`, `7.5`, []string{"type want integer, got number"}},
		{`{"type":"object","required":["a","b","c/d"]}`, `{"b":1}`, []string{
			`required /a: the required property "a" is missing`, `required /c~1d: the required property "c/d" is missing`}},
		{`{"properties":{"model":{},"x y":{"type":"string"}},"additionalProperties":false}`, `{"modle":1,"x y":2,"zzz":3}`, []string{
			`additionalProperties /modle: unknown property "modle" (did you mean "model"?)`,
			`type /x y: want string, got integer`,
			`additionalProperties /zzz: unknown property "zzz"`}},
		{`{"properties":{"a":{}},"patternProperties":{"^x-":{}},"additionalProperties":false}`, `{"a":1,"x-b":2,"c":3}`, []string{
			`additionalProperties /c: unknown property "c"`}},
		{`{"properties":{"é~/%":{"type":"string"}}}`, `{"é~/%":1}`, []string{"type /é~0~1%: want string, got integer"}},
		{`{"enum":["celsius","fahrenheit",3,null]}`, `"celcius"`, []string{`enum "celcius" is not one of celsius, fahrenheit, 3, null (did you mean "celsius"?)`}},
		{`{"enum":[""]}`, `{"a":1}`, []string{`enum {"a":1} is not one of ""`}},
		{`{"const":{"a":[1]}}`, `2`, []string{`const 2 is not {"a":[1]}`}},
		{`{"minimum":3,"multipleOf":0.5}`, `2.3`, []string{"minimum 2.3 is less than the minimum 3", "multipleOf 2.3 is not a multiple of 0.5"}},
		{`{"maximum":3}`, `4`, []string{"maximum 4 is more than the maximum 3"}},
		{`{"exclusiveMinimum":3,"exclusiveMaximum":3}`, `3`, []string{"exclusiveMaximum 3 is not less than 3", "exclusiveMinimum 3 is not more than 3"}},
		{`{"minimum":9007199254740993}`, `9007199254740992`, []string{"minimum 9007199254740992 is less than the minimum 9007199254740993"}},
		{`{"enum":["a","b"],"maxLength":1}`, `"cc"`, []string{`enum "cc" is not one of a, b`, "maxLength want at most 1 character, got 2"}},
		{`{"const":{"a":1},"properties":{"a":{"type":"string"}}}`, `{"a":2}`, []string{`const {"a":2} is not {"a":1}`, "type /a: want string, got integer"}},
		{`{"definitions":{"s":{"type":"string"}},"items":{"$ref":"#/definitions/s","const":1,"propertyNames":false,"if":true,"then":false}}`, `["a",1]`, []string{"type /1: want string, got integer"}},
		{`{"minLength":2}`, `"é"`, []string{"minLength want at least 2 characters, got 1"}},
		{`{"maxLength":1}`, `"été"`, []string{"maxLength want at most 1 character, got 3"}},
		{`{"minItems":1}`, `[]`, []string{"minItems want at least 1 item, got 0"}},
		{`{"maxItems":1}`, `[1,2]`, []string{"maxItems want at most 1 item, got 2"}},
		{`{"minProperties":2}`, `{"a":1}`, []string{"minProperties want at least 2 members, got 1"}},
		{`{"maxProperties":0}`, `{"a":1}`, []string{"maxProperties want at most 0 members, got 1"}},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, []string{"uniqueItems items at index 0 and 2 are equal"}},
		{`{"pattern":"^[\\u4e00-\\u9fa5\\ud83d\\ude00]+$"}`, `"中文😀"`, nil},
		{`{"pattern":"^[\\u4e00-\\u9fa5]+\\\\u$"}`, `"中文"`, []string{`pattern "中文" does not match the pattern ^[一-龥]+\\u$`}},
		{`{"patternProperties":{"^\\u0061":{"type":"integer"}}}`, `{"ab":"x","b":"y"}`, []string{"type /ab: want integer, got string"}},
		{`{"format":"date-time"}`, `"yesterday"`, nil},
		{`{"not":{"type":"string"}}`, `"x"`, []string{`not "x" is what the schema excludes (not)`}},
		{`{"contains":{"type":"string"}}`, `[1,2]`, []string{"contains no item is what the schema wants one to be (contains)"}},
		{`{"propertyNames":{"pattern":"^[a-z]+$","maxLength":3}}`, `{"ok":1,"NOT GOOD":2}`, []string{
			`propertyNames the property name "NOT GOOD": "NOT GOOD" does not match the pattern ^[a-z]+$`,
			`propertyNames the property name "NOT GOOD": want at most 3 characters, got 8`}},
		{`{"items":{"propertyNames":{"anyOf":[{"maxLength":1},{"pattern":"^x"}]}}}`, `[{"aa":1},{"b":1},{}]`, []string{
			`propertyNames /0: the property name "aa": "aa" fits no branch of anyOf: branch 1: want at most 1 character, got 2; branch 2: "aa" does not match the pattern ^x`}},
		{`{"contentEncoding":"base64","contentMediaType":"application/json","anyOf":[{},{}]}`, `"?"`, nil},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","contains":{"const":1},"minContains":1,"maxContains":1}`, `[]`, []string{
			"contains no item is what the schema wants one to be (contains)"}},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","contains":{"const":1},"maxContains":1,"dependentRequired":{"a":["b"]}}`, `[1,1]`, []string{
			"maxContains valid must be <= 1, but got 2"}},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","dependentRequired":{"a":["b","c"]},"unevaluatedProperties":false}`, `{"a":1}`, []string{
			"dependentRequired property 'b' is required, if 'a' property exists", "dependentRequired property 'c' is required, if 'a' property exists", "false /a: no value is allowed here"}},
		{`{"anyOf":[{"properties":{"b":{"type":"string"},"a":{"type":"string"},"c":{"type":"string"}}},{"const":1}]}`, `{"c":1,"b":1,"a":1}`, []string{
			`anyOf {"c":1,"b":1,"a":1} fits no branch of anyOf: branch 1: /a: want string, got integer; /b: want string, got integer; /c: want string, got integer; branch 2: {"c":1,"b":1,"a":1} is not 1`}},
		{`{"properties":{"":{"type":"string","propertyNames":false}}}`, `{"":1}`, []string{"type /: want string, got integer"}},
		{`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":2}`, []string{
			"dependencies property 'b' is required, if 'a' property exists", `required /d: the required property "d" is missing`}},
		{`{"items":[{"type":"string"}],"additionalItems":false}`, `[1,2]`, []string{
			"additionalItems only 1 items are allowed, but found 2 items", "type /0: want string, got integer"}},
		{`{"if":{"properties":{"k":{"const":1}}},"then":{"required":["a"]},"else":{"required":["b"]}}`, `{"k":2}`, []string{
			`required /b: the required property "b" is missing`}},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `7`, []string{"anyOf want string or array, got integer"}},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `["a",7]`, []string{
			`anyOf ["a",7] fits no branch of anyOf: branch 2: /1: want string, got integer`}},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `3`, []string{"oneOf 3 fits more than one branch of oneOf"}},
		{`{"properties":{"u":{"oneOf":[{"required":["a"]},{"required":["b"]},{"const":1}]}}}`, `{"u":{}}`, []string{
			`oneOf /u: {} fits no branch of oneOf: branch 1: /u/a: the required property "a" is missing; branch 2: /u/b: the required property "b" is missing; branch 3: /u: {} is not 1`}},
		{`{"allOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`, `{"b":1}`, []string{
			`required /a: the required property "a" is missing`, `type /b: want string, got integer`}},
		{`{"definitions":{"city":{"type":"object","required":["name"]}},"properties":{"to":{"$ref":"#/definitions/city"}}}`, `{"to":{}}`, []string{
			`required /to/name: the required property "name" is missing`}},
		// An $id of its own does not lead the messages astray.
		{`{"$id":"https://example.com/a.json","required":["wrong"],"properties":{"wrong":{"$id":"b.json","required":["right"]}}}`, `{"wrong":{}}`, []string{
			`required /wrong/right: the required property "right" is missing`}},
		// Properties with the names of keywords.
		{`{"properties":{"not":{"type":"string","minLength":3,"maxLength":1},"anyOf":false,"propertyNames":{"type":"string"},"contains":{"required":["required"]},
		   "default":{"type":"object","properties":{"pattern":{"pattern":"^\\u0061$"}}}}}`,
			`{"not":"ab","anyOf":1,"propertyNames":2,"contains":{},"default":{"pattern":"b"}}`, []string{
				"false /anyOf: no value is allowed here",
				`required /contains/required: the required property "required" is missing`,
				`pattern /default/pattern: "b" does not match the pattern ^\x{61}$`,
				"minLength /not: want at least 3 characters, got 2", "maxLength /not: want at most 1 character, got 2",
				"type /propertyNames: want string, got integer"}},
		{`{"const":"\\u0041"}`, `"\\u0041"`, nil},
		// A newer dialect, when it is named.
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}],"items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}},
		   "contains":{"const":1},"minContains":2}`, `[1,"x",1.5]`, []string{
			"minContains valid must be >= 2, but got 1", "type /0: want string, got integer", "type /1: want integer, got string", "type /2: want integer, got number"}},
		// Numbers that the library cannot look at.
		{`{"type":"number"}`, `[{"a/b":1e9999999}]`, []string{"type /0/a~1b: the number 1e9999999 is out of range"}},
		{`{"items":{}}`, `1e-999`, []string{"type the number 1e-999 is out of range"}},
		{`{"type":"integer"}`, strings.Repeat("9", 2000), []string{"type the number 9999999999999999999999999999999999999... is out of range"}},
	} {
		got := []string(nil)
		for _, p := range mustParse(t, test.schema).Check(parse(t, test.v)) {
			got = append(got, p.Keyword+" "+p.Error())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s\n%s (-want +got):\n%s", test.schema, test.v, diff)
		}
	}
}

func TestUnionsThatMultiply(t *testing.T) {
	// Each definition is two references to the next: 2^30 ways for one value.
	var chain strings.Builder
	chain.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range 30 {
		fmt.Fprintf(&chain, `"d%d":{"anyOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	chain.WriteString(`"d30":{"type":"string"}}}`)
	_, err := schema.Parse(parse(t, chain.String()))
	if err == nil || !strings.Contains(err.Error(), "unions multiply") {
		t.Errorf("a chain of unions: %v", err)
	}

	// The same chain where only a member reaches it.
	member := strings.Replace(chain.String(), `"$ref":"#/definitions/d0"`, `"properties":{"a":{"$ref":"#/definitions/d0"}}`, 1)
	if _, err := schema.Parse(parse(t, member)); err == nil || !strings.Contains(err.Error(), "unions multiply") {
		t.Errorf("a chain of unions below a member: %v", err)
	}

	// Here every level of the value doubles the ways.
	tree := mustParse(t, `{"anyOf":[{"properties":{"next":{"$ref":"#"}},"required":["x"]},{"properties":{"next":{"$ref":"#"}},"required":["y"]}]}`)
	nested := func(depth int) value.Value {
		return parse(t, strings.Repeat(`{"x":1,"next":`, depth)+`{"x":1}`+strings.Repeat(`}`, depth))
	}
	if p := tree.Check(nested(8)); p != nil {
		t.Errorf("8 levels: %v", p)
	}
	if p := tree.Check(nested(60)); p == nil || !strings.Contains(p.Error(), "unions multiply") {
		t.Errorf("60 levels: %.200v", p)
	}

	// Recursion as such is no fault.
	list := mustParse(t, `{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`)
	deep := parse(t, strings.Repeat(`{"n":1,"next":`, 250)+`{"n":"x"}`+strings.Repeat(`}`, 250))
	if p := list.Check(deep); len(p) != 1 || p[0].Keyword != "type" {
		t.Errorf("a list of 250: %.200v", p)
	}

	// A long chain of references at every level would use up the stack.
	chain.Reset()
	chain.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range 200 {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/definitions/d%d"},`, i, i+1)
	}
	chain.WriteString(`"d200":{"properties":{"next":{"$ref":"#/definitions/d0"}}}}}`)
	long := mustParse(t, chain.String())
	if p := long.Check(nested(3)); p != nil {
		t.Errorf("a long chain: %v", p)
	}
	if p := long.Check(nested(900)); p == nil {
		t.Error("a long chain at 900 levels was gone through")
	}

	built := value.OfInt(1)
	for range 2000 {
		built = value.OfList(built)
	}
	if p := list.Check(built); p == nil || p[0].Message != "nested deeper than 1000" {
		t.Errorf("a list in a list 2000 times: %.100v", p)
	}
}

func TestCostlyPatterns(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":{"pattern":"%s"}`, i, strings.Repeat(`[a-z\\pL]{1000}`, 20))
	}
	for name, text := range map[string]string{
		"properties":        `{"properties":{` + strings.Join(many, ",") + `}}`,
		"patternProperties": `{"definitions":{"pattern":{"patternProperties":{"` + strings.Repeat("[a-z]{1000}", 60) + `":{}}}}}`,
	} {
		if _, err := schema.Parse(parse(t, text)); err == nil || !strings.Contains(err.Error(), "regular expressions are too costly") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Names, and what stands in data, are no patterns.
	mustParse(t, `{"properties":{"pattern":{"const":{"pattern":"(a{900}){900}"}}}}`)

	s := mustParse(t, `{"properties":{"heavy":{"pattern":"(a|aa){400}(a*){300}b"},"light":{"pattern":"^\\d+$"}},"patternProperties":{"^(x*){900}Y$":false}}`)
	long := strings.Repeat("1", 1_000_000)
	for name, tt := range map[string]struct {
		v    value.Value
		want string
	}{
		"light":         {value.OfMap(value.Pairs("light", long)), ""},
		"light, wrong":  {value.OfMap(value.Pairs("light", long+"x")), "does not match the pattern"},
		"heavy":         {value.OfMap(value.Pairs("heavy", strings.Repeat("a", 1000)+"b")), ""},
		"heavy, wrong":  {value.OfMap(value.Pairs("heavy", "c")), "does not match the pattern"},
		"heavy on long": {value.OfMap(value.Pairs("heavy", strings.Repeat("a", 1_000_000))), "takes too long to check"},
		"a long name":   {value.OfMap(value.Pairs(strings.Repeat("x", 1_000_000), 1)), "takes too long to check"},
	} {
		p := s.Check(tt.v)
		if got := p.Error(); (tt.want == "") != (p == nil) || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	if place := s.Describe("/" + strings.Repeat("x", 1_000_000)); place.Known {
		t.Error("a long name was looked up by patterns")
	}
}

func TestBigPlainValuesAreChecked(t *testing.T) {
	s := mustParse(t, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","patternProperties":{"^[a-z]+$":{"type":"integer"}}}]},"uniqueItems":true}`)
	items := make([]value.Value, 20_000)
	for i := range items {
		items[i] = value.OfMap(value.Pairs("id", i, "n", i))
	}
	if p := s.Check(value.OfList(items...)); p != nil {
		t.Errorf("%.200v", p)
	}
}

// Values are not compared with each value of an enum.
func TestBigEnums(t *testing.T) {
	texts := func(n int, format string) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "N", strconv.Itoa(i))
		}
		return all
	}
	numbers := strings.Repeat("1,", 600)
	names := texts(15_000, `"name-N"`)
	for name, tt := range map[string]struct{ enum, items, last, missing []string }{
		"lists":   {texts(99, "["+numbers+"N]"), texts(400, "["+numbers+"9.80e1]"), []string{"[" + numbers + "98.0]"}, []string{"[" + numbers + "99]"}},
		"objects": {texts(99, `{"a":N,"b":0}`), texts(20_000, `{"b":0e5,"a":9.8e1}`), []string{`{"b":-0,"a":0.98E+2}`}, []string{`{"a":98}`, `{"a":98,"c":0}`}},
		"texts":   {names, slices.Repeat(names[14_000:], 50), names[:1], []string{`"name-15000"`, `"name-1 "`, "1", "null"}},
		"mixed":   {[]string{"[1,[2]]", `["1"]`, "[]", "{}", "0", `""`, "true"}, []string{"[]"}, []string{"0.0", `""`}, []string{"[1,2]", "[[1],[2]]", "[1]", "false", "null", `["1:"]`, `"true"`, `"0"`}},
	} {
		s := mustParse(t, `{"items":{"enum":[`+strings.Join(tt.enum, ",")+`]}}`)
		good := parse(t, `[`+strings.Join(append(tt.items, tt.last...), ",")+`]`)
		began := time.Now()
		if p := s.Check(good); p != nil {
			t.Errorf("%s: %.300v", name, p)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		for _, text := range tt.missing {
			if p := s.Check(parse(t, `[`+text+`]`)); len(p) != 1 || p[0].Keyword != "enum" {
				t.Errorf("%s: %.50s: %.200v", name, text, p)
			}
		}
	}
}

// The sizes of values count where many enums look at one.
func TestEnumsOfLongTexts(t *testing.T) {
	s := mustParse(t, `{"items":{"allOf":[`+strings.Repeat(`{"$ref":"#/definitions/e"},`, 1000)+`{}]},"definitions":{"e":{"not":{"enum":["`+strings.Repeat("x", 100_000)+`"]}}}}`)
	long := `"` + strings.Repeat("y", 99_999) + `"`
	if p := s.Check(parse(t, "["+strings.Repeat(long+",", 50)+"1]")); p == nil || !strings.Contains(p.Error(), "takes too long to check") {
		t.Errorf("%.200v", p)
	}
	if p := s.Check(parse(t, "["+long+"]")); p != nil {
		t.Errorf("%.200v", p)
	}
}

func TestManyProblemsAreNotAllListed(t *testing.T) {
	s := mustParse(t, `{"items":{"type":"string"}}`)
	p := s.Check(parse(t, "["+strings.Repeat("1,", 4_999)+"1]"))
	if len(p) != 5_000 {
		t.Errorf("%d problems", len(p))
	}
	en, zh := p.Error(), p.In("zh-CN")
	if !strings.HasSuffix(en, "; and 4900 more") || !strings.HasSuffix(zh, "；另有 4900 个") || len(en) > 5000 {
		t.Errorf("%d bytes: %.200s", len(en), en)
	}
	if p := s.Check(parse(t, "["+strings.Repeat("1,", 99)+"1]")); strings.Contains(p.Error(), "more") {
		t.Errorf("100 are listed: %s", p)
	}
	_, err := schema.Parse(parse(t, `{"properties":{"a":{"type":[`+strings.Repeat(`"x",`, 200)+`"x"]}}}`))
	if err == nil || !strings.HasSuffix(err.Error(), " more") {
		t.Errorf("%.200v", err)
	}
}

func TestCheckFromManyGoroutines(t *testing.T) {
	s := schema.MustFor[tool]()
	v := parse(t, toolValue)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if p := s.Check(v); p != nil {
				t.Error(p)
			}
		})
	}
	wg.Wait()
}

func TestApplyDefaults(t *testing.T) {
	s := mustParse(t, `{"properties":{
		"a":{"default":1},
		"o":{"type":"object","default":{},"properties":{"x":{"default":"x"},"y":{}}},
		"l":{"type":"array","items":{"properties":{"k":{"default":[]}}}},
		"r":{"$ref":"#/definitions/r%20r"},
		"self":{"$ref":"#"},
		"t":{"items":[{"properties":{"z":{"default":1}}}]}},
		"definitions":{"r r":{"properties":{"n":{"default":null}}}}}`)
	for v, want := range map[string]string{
		`{}`:                               `{"a":1,"o":{"x":"x"}}`,
		`{"o":{"y":2},"a":null}`:           `{"o":{"y":2,"x":"x"},"a":null}`,
		`{"a":1,"o":{"x":0}}`:              `{"a":1,"o":{"x":0}}`,
		`{"a":1,"o":5,"l":[{},3,{"k":1}]}`: `{"a":1,"o":5,"l":[{"k":[]},3,{"k":1}]}`,
		`{"a":1,"o":5,"r":{},"t":[{}]}`:    `{"a":1,"o":5,"r":{"n":null},"t":[{}]}`,
		`{"a":1,"o":5,"self":{"o":1}}`:     `{"a":1,"o":5,"self":{"o":1,"a":1}}`,
		`7`:                                `7`,
		`[]`:                               `[]`,
	} {
		in := parse(t, v)
		if got := s.ApplyDefaults(in).JSON(); got != want {
			t.Errorf("%s became %s, want %s", v, got, want)
		}
		if in.JSON() != parse(t, v).JSON() {
			t.Errorf("%s was changed to %s", v, in)
		}
	}
	loop := mustParse(t, `{"properties":{"next":{"$ref":"#","default":{}}}}`)
	if got := loop.ApplyDefaults(parse(t, `{}`)).JSON(); got != `{"next":{}}` {
		t.Errorf("a default that leads back: %s", got)
	}
}

func TestFromText(t *testing.T) {
	s := mustParse(t, `{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"si":{"type":["string","integer"]},"ol":{"type":["object","array"]},"b":{"type":"boolean"},"sb":{"type":["boolean","string"]},"any":{}}}`)
	for _, test := range []struct{ property, text, want string }{
		{"s", "12", `"12"`}, {"i", "12", `12`}, {"i", "x", `error`}, {"si", "12", `12`}, {"si", "x", `"x"`}, {"ol", "[1]", `[1]`}, {"ol", "x", "error"},
		{"any", "true", `true`}, {"any", "a b", `"a b"`}, {"b", "true", `true`}, {"b", "Y", `true`}, {"b", "否", `false`}, {"b", "maybe", "error"}, {"s", "yes", `"yes"`}, {"sb", "no", `"no"`}, {"any", "no", `"no"`}, {"i", "y", "error"},
		{"other", "{}", `{}`}, {"other", "text", `"text"`},
	} {
		v, err := s.FromText(test.property, test.text)
		got := v.JSON()
		if err != nil {
			got = "error"
		}
		if got != test.want {
			t.Errorf("%s=%s gives %s (%v), want %s", test.property, test.text, got, err, test.want)
		}
	}
}

func FuzzSchema(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","required":["a"],"properties":{"a":{"enum":[1,null]}}}`, `{"a":2,"b":[]}`},
		{`{"anyOf":[{"$ref":"#/definitions/x"},{"not":{}}],"definitions":{"x":{"$ref":"#"}}}`, `1`},
		{`{"anyOf":[{"properties":{"n":{"$ref":"#"}}},{"properties":{"n":{"$ref":"#"}}}]}`, `{"n":{"n":{"n":{}}}}`},
		{`{"items":[{"pattern":"\\u4e00"}],"additionalItems":{"multipleOf":0.1}}`, `["x",0.3,1e300]`},
		{`{"patternProperties":{"^\\u0061":{}},"propertyNames":{"maxLength":1},"dependencies":{"a":["b"]}}`, `{"a":1,"bc":2}`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"#x"}`, `{}`},
		{`{"$id":"http://x/y#z","if":true,"then":false}`, `"é"`},
		{`{"properties":{"":{"patternProperties":{".?":{"allOf":[{"additionalProperties":{"type":"null"}}]}}}}}`, `{"":{"":{"":1}}}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		doc, err := value.ParseJSON([]byte(text))
		if err != nil {
			return
		}
		s, err := schema.Parse(doc)
		if err != nil {
			return
		}
		v, err := value.ParseJSON([]byte(data))
		if err != nil {
			return
		}
		before := v.JSON()
		problems := s.Check(v)
		for _, p := range problems {
			if p.Message == "" {
				t.Errorf("a problem without words: %#v", p)
			}
			parent := p.Pointer[:max(0, strings.LastIndexByte(p.Pointer, '/'))]
			if _, ok := v.At(parent); !ok {
				t.Errorf("%q is no place in %s", p.Pointer, v)
			}
		}
		s.ApplyDefaults(v)
		if v.JSON() != before {
			t.Errorf("%s was changed to %s", before, v)
		}
	})
}

// Draft 7 says that enums should have values, each once; it does not forbid others.
func TestOddEnums(t *testing.T) {
	s := mustParse(t, `{"properties":{"twice":{"enum":["a","b","a"]},"none":{"enum":[]},"maybe":{"type":"string","nullable":true,"enum":["a",null]}}}`)
	for doc, want := range map[string]string{
		`{"twice":"a","maybe":null}`: "",
		`{"twice":"c"}`:              `/twice: "c" is not one of a, b`,
		`{"none":1}`:                 "/none: no value is allowed here: the enum is empty",
	} {
		if got := s.Check(parse(t, doc)).Error(); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
