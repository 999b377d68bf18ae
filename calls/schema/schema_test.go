package schema_test

import (
	"strings"
	"sync"
	"testing"

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
		// Numbers that the library cannot read.
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
		{"s", `"\ud83d"`, `"\"\\ud83d\""`}, {"any", `{"a":"\ud83d"}`, "error"}, {"si", `"\ud83d"`, "error"}, {"ol", `{"a":1,"a":2}`, "error"},
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
