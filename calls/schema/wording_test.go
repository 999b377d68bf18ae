package schema

import (
	"regexp"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Every message of a problem has a Chinese text without English words in it.
func TestMessagesInChinese(t *testing.T) {
	english := regexp.MustCompile(`[A-Za-z]{2,}`)
	known := regexp.MustCompile(`not|contains|enum|anyOf|oneOf|schema|uniqueItems|dependencies|ab|abc`)
	for _, test := range []struct{ schema, value string }{
		{`{"required":["ab"]}`, `{}`}, {`{"additionalProperties":false}`, `{"ab":1}`}, {`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`},
		{`{"properties":{"a":false}}`, `{"a":1}`}, {`{"enum":[]}`, `1`}, {`{"type":["string","null"]}`, `{}`}, {`{"enum":[1,2]}`, `3`}, {`{"const":1}`, `3`},
		{`{"not":{}}`, `3`}, {`{"contains":{"const":1}}`, `[2]`}, {`{"pattern":"^a"}`, `"b"`}, {`{"minimum":1}`, `0`}, {`{"maximum":1}`, `2`},
		{`{"exclusiveMinimum":1}`, `1`}, {`{"exclusiveMaximum":1}`, `1`}, {`{"multipleOf":2}`, `1`}, {`{"minLength":3}`, `"ab"`}, {`{"maxLength":1}`, `"ab"`},
		{`{"minItems":1}`, `[]`}, {`{"maxItems":0}`, `[1]`}, {`{"minProperties":1}`, `{}`}, {`{"maxProperties":0}`, `{"ab":1}`},
		{`{"oneOf":[{},{}]}`, `1`}, {`{"anyOf":[{"type":"string"},{"type":"array"}]}`, `1`}, {`{"anyOf":[{"minimum":3},{"enum":[1]}]}`, `2`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","contains":{},"minContains":2}`, `[1]`},
		{`{"uniqueItems":true}`, `[1,1]`}, {`{"dependencies":{"ab":["abc"]}}`, `{"ab":1}`}, {`{"type":"number"}`, `1e9999`},
	} {
		doc, err := value.ParseJSON([]byte(test.schema))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		v, err := value.ParseJSON([]byte(test.value))
		if err != nil {
			t.Fatal(err)
		}
		problems := s.Check(v)
		if len(problems) == 0 {
			t.Errorf("%s: no problem with %s", test.schema, test.value)
		}
		for _, p := range problems {
			message, _ := p.Text()
			if zh := message.In("zh-CN"); zh == p.Message || english.MatchString(known.ReplaceAllString(zh, "")) {
				t.Errorf("%s: %q is not in Chinese", test.schema, zh)
			}
			if message.In("en") != p.Message || message.In("fr") != p.Message {
				t.Errorf("%s: %q is not the English message", test.schema, message.In("en"))
			}
		}
	}
}

// Every error of a schema has a Chinese text too.
func TestErrorsOfSchemasInChinese(t *testing.T) {
	english := regexp.MustCompile(`[A-Za-z]{2,}`)
	known := regexp.MustCompile(`JSON|Schema|uri-reference|schema|"[^"]*"`)
	for _, text := range []string{
		`{"properties":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, `{"properties":{"a":{"$id":"#x"},"b":{"$id":"#x"}}}`, `{"$id":"%z"}`, `{"$id":"#%z"}`,
		`{"$ref":"#/a~5"}`, `{"$ref":"x"}`, `{"$schema":"mem:///schema.json"}`, `{"maxLength":1e30}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","patternProperties":{"(":{}}}`, `{"items":{"type":[]}}`,
	} {
		doc, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(doc)
		if err == nil {
			t.Errorf("%s is taken", text)
			continue
		}
		if zh := wording.OfError(err).Zh; english.MatchString(known.ReplaceAllString(zh, "")) {
			t.Errorf("%s: %s", text, zh)
		}
	}
}
