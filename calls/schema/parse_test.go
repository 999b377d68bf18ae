package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

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

// TestKeywordsOfOtherDrafts: keywords without effect in the schema's draft are reported, with a remedy; others are
// not.
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

func TestIsForeignPattern(t *testing.T) {
	for pattern, want := range map[string]bool{
		`^(?!-)a`: true, `(?<=a)b`: true, `(a)\1`: true, `a{1001}`: true, `a(?=b)`: true,
		`(`: false, `*`: false, `[`: false, ``: false, `^\u4e2d+$`: false, `(?:a|b)`: false,
	} {
		if got := schema.IsForeignPattern(pattern); got != want {
			t.Errorf("%s: got %v", pattern, got)
		}
	}
}
