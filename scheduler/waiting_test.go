package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

func waiting(t *testing.T) []journal.WaitingFor {
	t.Helper()
	schema, err := value.ParseJSON([]byte(`{"type": "object", "required": ["/s", "/i", "/any", "/many", "/ref"], "properties": {
		"/s": {"type": "string"}, "/i": {"type": "integer"}, "/any": {}, "/many": {"type": ["string", "integer"]},
		"/ref": {"$ref": "#/definitions/point"}, "/list": {"type": "array", "items": {"type": "integer"}},
		"/zip": {"type": "string", "pattern": "^[0-9]{5}$"}, "/flag": {"type": "boolean"},
		"/day": {"type": "string", "format": "date", "pattern": "^[0-9-]+$"}, "/at": {"type": "integer", "format": "timestamp"}},
		"definitions": {"point": {"type": "object", "additionalProperties": false, "properties": {"x": {"type": "number"}, "name": {"type": "string"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	whole := value.OfMap(value.Pairs("properties", value.Pairs("", value.Pairs("type", "array"))))
	return []journal.WaitingFor{{Step: "a", RemainingSchema: schema}, {Step: "b[3]", RemainingSchema: schema}, {Step: "outer[1]/c", RemainingSchema: whole}}
}

func TestParseAnswer(t *testing.T) {
	all := waiting(t)
	one := all[:1]
	for _, test := range []struct {
		text    string
		waiting []journal.WaitingFor
		want    string // step, pointer, value
		err     string
	}{
		{"/s=杭州", one, `a /s "杭州"`, ""},
		{"/s=123", one, `a /s "123"`, ""},
		{`/s="x=y"`, one, `a /s "\"x=y\""`, ""},
		{"/i=12", one, `a /i 12`, ""},
		{"/i=x", one, "", "want integer"},
		{"/flag=true", one, `a /flag true`, ""},
		{"/flag=Yes", one, `a /flag true`, ""},
		{"/flag=否", one, `a /flag false`, ""},
		{"/flag=perhaps", one, "", "want boolean"},
		{"/s=yes", one, `a /s "yes"`, ""},
		{"/any=no", one, `a /any "no"`, ""},
		{"/i=y", one, "", "want integer"},
		{"/any={\"a\": 1}", one, `a /any {"a":1}`, ""},
		{"/any=a word", one, `a /any "a word"`, ""},
		{`/any={"a": "\ud83d"}`, one, "", "1:8: the escape \\ud83d is half of a character"},
		{`/s="\ud83d"`, one, `a /s "\"\\ud83d\""`, ""},
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
		{"/ii=1", one, "", `does not wait for "/ii" (did you mean "/i"?)`},
		{"/quite_other=1", one, "", "(it waits for /s, /i, /any"},
		{"i=1", one, "", "(write /i=1)"},
		{"/i", one, "", "is not an answer"},
		{"/i=1", nil, "", "no step waits"},
		{"/zip=1234", one, "", `"1234" does not match the pattern`},
		{"/zip=12345", one, `a /zip "12345"`, ""},
		{"/flag=1", one, "", "want boolean, got integer"},
		{"/day=tomorrow", one, `a /day "tomorrow"`, ""}, // slot understands it
		{"/at=tomorrow", one, `a /at "tomorrow"`, ""},
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
		{`{"a": {"/s": "  "}}`, "", "a:/s: a value is needed (a schema with minLength: 0 takes an empty text)"},
		{`{"a": {"/s": ""}}`, "", "a:/s: a value is needed"},
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

const optionalFlow = `
steps:
  - id: args
    call: slot
    with:
      stages: []
      data: {unit: metric}
      current_schema:
        type: object
        required: ["a=b"]
        properties: {"a=b": {type: string}, unit: {type: string}, day: {type: %s}, more: {type: object, properties: {k: {type: integer}}}}
        additionalProperties: false
`

// Values that a step does not wait for can be given too, if its schema has them.
func TestAnswersBeside(t *testing.T) {
	for dayType, wrong := range map[string][]string{
		"string": {"/day=x|", "/more/k=x|want integer", "/mare=5|does not wait for", "/unit=inch|", "/more={}|"},
		"date":   {"/day=tomorrow|", "/day=no day|not understood as a date", "/more/k=x|want integer", "/mare=5|no such", "/unit=inch|"},
	} {
		var exec *scheduler.StepExecutor
		r := schedulertest.Run(t, fmt.Sprintf(optionalFlow, dayType), schedulertest.With(builtin.Calls()...),
			schedulertest.Executor(func(e *scheduler.StepExecutor) { exec, e.Journal = e, newJournal(t, e.Env.Clock) }))
		waiting := r.State().Waiting
		for _, c := range wrong {
			text, want, _ := strings.Cut(c, "|")
			answer, err := scheduler.ParseAnswer(text, waiting)
			if err == nil {
				_, err = exec.Answer(t.Context(), "run-1", answer)
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: got %v", dayType, text, err)
			}
		}
		if _, err := exec.Answer(t.Context(), "nobody", scheduler.Answer{}); calls.KindOf(err) != calls.NotFound {
			t.Errorf("got %v", err)
		}
		one, err := scheduler.ParseAnswer("/a=b=c=d", waiting)
		if err != nil || one.Pointer != "/a=b" || one.Value.JSON() != `"c=d"` {
			t.Errorf("got %v, %v", one, err)
		}
	}
}

func TestAnswersOverlap(t *testing.T) {
	waiting := []journal.WaitingFor{{Step: "a", RemainingSchema: value.Must(map[string]any{"properties": map[string]any{"/x": map[string]any{}}})}}
	answer := func(pointer string, v int) scheduler.Answer {
		return scheduler.Answer{Pointer: pointer, Value: value.Must(v)}
	}
	for _, c := range []struct {
		answers []scheduler.Answer
		want    string
	}{
		{[]scheduler.Answer{answer("/x", 1), answer("/x", 1)}, ""},
		{[]scheduler.Answer{answer("/x", 1), answer("/x", 2)}, "there are two answers, 1 and 2"},
		{[]scheduler.Answer{answer("/x/y", 1), answer("/x", 2)}, "one is a part of the other"},
		{[]scheduler.Answer{answer("/x/y", 1), answer("/x/yz", 2)}, ""},
	} {
		err := scheduler.CheckAnswers(c.answers, waiting)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v", c.answers, err)
		}
	}
}

// The values that a step changed by an edited flow will wait for are not known before it ran.
func TestAnswersToEdited(t *testing.T) {
	flow := fmt.Sprintf(optionalFlow, "string")
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), journaled(t))
	edited := schedulertest.Load(t, strings.Replace(flow, "unit: metric", "unit: inch", 1), schedulertest.With(builtin.Calls()...))
	refused := r.Resume(scheduler.Resumption{Flow: edited}, "/a=b=x")
	if calls.KindOf(refused.Err) != calls.Invalid || !strings.Contains(refused.Err.Error(), "the edited flow changes the step args, which waited") {
		t.Errorf("got %v", refused.Err)
	}
	again := r.Resume(scheduler.Resumption{Flow: edited})
	if done := again.Resume(scheduler.Resumption{}, "/a=b=x"); done.Err != nil {
		t.Error(done.Err)
	}
}
