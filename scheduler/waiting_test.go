package scheduler_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
)

func waiting(t *testing.T) []scheduler.WaitingFor {
	t.Helper()
	schema, err := value.ParseJSON([]byte(`{"type": "object", "required": ["/s", "/i", "/any", "/many", "/ref"], "properties": {
		"/s": {"type": "string"}, "/i": {"type": "integer"}, "/any": {}, "/many": {"type": ["string", "integer"]},
		"/ref": {"$ref": "#/definitions/point"}, "/list": {"type": "array", "items": {"type": "integer"}}},
		"definitions": {"point": {"type": "object", "additionalProperties": false, "properties": {"x": {"type": "number"}, "name": {"type": "string"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	whole := value.OfMap(value.Pairs("properties", value.Pairs("", value.Pairs("type", "array"))))
	return []scheduler.WaitingFor{{Step: "a", RemainingSchema: schema}, {Step: "b[3]", RemainingSchema: schema}, {Step: "outer[1]/c", RemainingSchema: whole}}
}

func TestParseAnswer(t *testing.T) {
	all := waiting(t)
	one := all[:1]
	for _, test := range []struct {
		text    string
		waiting []scheduler.WaitingFor
		want    string // step, pointer, value
		err     string
	}{
		{"/s=杭州", one, `a /s "杭州"`, ""},
		{"/s=123", one, `a /s "123"`, ""},
		{"/s=", one, `a /s ""`, ""},
		{`/s="x=y"`, one, `a /s "\"x=y\""`, ""},
		{"/i=12", one, `a /i 12`, ""},
		{"/i=x", one, "", "want integer"},
		{"/any={\"a\": 1}", one, `a /any {"a":1}`, ""},
		{"/any=a word", one, `a /any "a word"`, ""},
		{"/many=1", one, `a /many 1`, ""},
		{"/many=x", one, `a /many "x"`, ""},
		{`/ref={"x": 1.50}`, one, `a /ref {"x":1.50}`, ""},
		{`/ref={"z": 1}`, one, "", "z"},
		{"/ref/x=2", one, `a /ref/x 2`, ""},
		{"/ref/name=2", one, `a /ref/name "2"`, ""},
		{"/ref/x=q", one, "", "want number"},
		{"/ref/z=2", one, "", "no such place"},
		{"/list/0=7", one, `a /list/0 7`, ""},
		{"/list=[1, 2]", one, `a /list [1,2]`, ""},
		{"a:/i=1", all, `a /i 1`, ""},
		{"b[3]:/i=1", all, `b[3] /i 1`, ""},
		{"outer[1]/c:=[1]", all, `outer[1]/c  [1]`, ""},
		{"=[1]", all[2:], `outer[1]/c  [1]`, ""},
		{"outer[1]/c:=x", all, "", "want array"},
		{"/i=1", all, "", "several steps wait"},
		{"c:/i=1", all, "", `no step "c" waits`},
		{"/ii=1", one, "", `does not wait for "/ii" (did you mean /i?)`},
		{"/quite_other=1", one, "", "(it waits for /s, /i, /any"},
		{"i=1", one, "", "(write /i=1)"},
		{"/i", one, "", "is no answer"},
		{"/i=1", nil, "", "no step waits"},
	} {
		a, err := scheduler.ParseAnswer(test.text, test.waiting)
		switch {
		case test.err != "":
			if calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error()+" ("+calls.HintOf(err)+")", test.err) {
				t.Errorf("%s: %v (%s), want %s", test.text, err, calls.HintOf(err), test.err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.text, err)
		default:
			if got := a.Step + " " + a.Pointer + " " + a.Value.JSON(); got != test.want {
				t.Errorf("%s: %s, want %s", test.text, got, test.want)
			}
			if err := scheduler.CheckAnswers([]scheduler.Answer{a}, test.waiting); err != nil {
				t.Errorf("%s: %v", test.text, err)
			}
		}
	}
}

func TestAnswersOf(t *testing.T) {
	all := waiting(t)
	for _, test := range []struct{ doc, want, err string }{
		{`{"a": {"/s": "x", "i": 1}, "b[3]": {"/ref/x": 2}}`, `a /s "x", a /i 1, b[3] /ref/x 2`, ""},
		{`{"a": {"/s": 1, "i": "x"}}`, "", "a:/s: want string, got integer\na:/i: want integer, got string"},
		{`{"/s": 1}`, "", "several steps"},
		{`[]`, "", "got array"},
	} {
		doc, err := value.ParseJSON([]byte(test.doc))
		if err != nil {
			t.Fatal(err)
		}
		answers, err := scheduler.AnswersOf(doc, all)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", test.doc, err, test.err)
			}
			continue
		}
		var got []string
		for _, a := range answers {
			got = append(got, a.Step+" "+a.Pointer+" "+a.Value.JSON())
		}
		if err != nil || strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %v, %v", test.doc, got, err)
		}
	}
}
