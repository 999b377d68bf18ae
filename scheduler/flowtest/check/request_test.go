package check

import (
	"errors"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

const requestFlow = `
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: note, call: template, with: {template: hello}}
  - id: answer
    call: chat
    with: {user: "{{ inputs.question }}", temperature: 0.2, max_tokens: 50, extra: {top_k: 3, max_tokens: null, note: hunter2}}
    retry: {max_attempts: 2, initial_interval: 1ms}
  - id: clerk
    call: agent
    needs: [answer]
    with: {prompt: "{{ inputs.question }}", temperature: 0.7, tools: {calls: [{call: template, name: greet, with: {template: "hello"}}]}}
  - {id: plain, call: chat, needs: [clerk], with: {user: "{{ note.text }}"}}
outputs: {x: 1}
`

// runRequests runs the flow of requests, with a change of its text; the first request is repeated.
func runRequests(t *testing.T, before, after string) *Evidence {
	t.Helper()
	source := strings.Replace(requestFlow, before, after, 1)
	if before != "" && source == requestFlow {
		t.Fatalf("there is no %q", before)
	}
	return runText(t, source, value.OfMap(value.Pairs("question", "hello")),
		scripted.Answer{Error: &llm.Error{Provider: "x", Temporary: true, Err: errors.New("busy")}}, scripted.Answer{Text: "one"},
		scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "greet", Arguments: `{}`}}}, scripted.Answer{Text: "two"}, scripted.Answer{Text: "three"})
}

// The request of a step without its messages is data, of each round; a step that sends nothing has no request to
// check.
func TestRequest(t *testing.T) {
	e := runRequests(t, "", "")
	e.Services.Mask = func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	expectLines(t, e, `
		pass {request: answer, equals: {temperature: 0.2, top_k: 3, note: "***"}}
		fail {request: answer, equals: {temperature: 0.2, top_k: 3}}
		fail {request: answer, equals: {temperature: 0.9, top_k: 3, note: "***"}}
		pass {request: answer, json: {temperature: 0.2}}
		fail {request: answer, json: {max_tokens: 50}}
		pass {request: answer.temperature, max: 0.2}
		fail {request: answer.temperature, max: 0.1}
		fail {request: answer.temprature, max: 0.2}
		pass {request: answer, that: "{{ value.temperature < 0.5 and value.tools is not defined }}"}
		pass {request: plain, equals: {}}
		pass {request: clerk, json: {temperature: 0.7}}
		pass {request: clerk, round: 1, json: {temperature: 0.7}}
		pass {request: "clerk.tools[0].function.name", equals: greet}
		fail {request: clerk, round: 3, json: {temperature: 0.7}}
		pass {request: clerk, schema: {required: [tools]}}
	`)
	for item, want := range map[string]string{
		"{request: note, equals: {}}":                  "a.test.yaml:1:11: the step note (template) asks no model (name a step that does, as chat or agent)",
		"{request: anser, equals: {}}":                 `a.test.yaml:1:11: the flow flow has no step "anser" (did you mean "answer"?)`,
		"{request: answer, round: x, equals: {}}":      `a.test.yaml:1:26: round must be a whole number from 1, not "x"`,
		"{request: answer, tokens: {max: 3}}":          "a.test.yaml:1:19: tokens is not a matcher of request (it is a matcher of prompt, run)",
		"{request: answer}":                            "a.test.yaml:1:1: the check says nothing about its subject",
		"{request: answer, prompt: answer, equals: 1}": "a check has one subject",
	} {
		_, problems := tryParse(t, item, &Scope{File: "a.test.yaml", Flows: []*flow.Flow{e.Flow}})
		if got := problems.In("en"); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", item, got, want)
		}
	}
	e.Record.Step("plain").IsGiven = true
	if got, message := outcome(t, e, "{request: plain, equals: {}}"); got != "error" || !strings.Contains(message, "mocked") {
		t.Errorf("of a mocked step: %s %s", got, message)
	}
}

// A snapshot of a prompt includes the request around it: any change of it is caught, in each round.
func TestSnapshotOfRequests(t *testing.T) {
	texts := func(e *Evidence) map[string]string {
		all := map[string]string{}
		for _, step := range []string{"answer", "clerk", "plain"} {
			s := &parsedSubject{kind: promptSubject, text: step, step: step}
			of, failed := s.resolve(t.Context(), e)
			if failed != nil {
				t.Fatal(failed.message)
			}
			all[step] = of.snapshotText()
		}
		return all
	}
	original := texts(runRequests(t, "", ""))
	if got := original["answer"]; !strings.HasPrefix(got, "[request]\n  | temperature: 0.2\n  | note: hunter2\n  | top_k: 3\n[0] user\n") {
		t.Errorf("the snapshot is\n%s", got)
	}
	if strings.Count(original["clerk"], "[request]") != 1 || strings.Contains(original["plain"], "[request]") {
		t.Errorf("what is not new is repeated:\n%s\n%s", original["clerk"], original["plain"])
	}
	for _, edit := range [][3]string{
		{"answer", "temperature: 0.2", "temperature: 0.9"},
		{"answer", "temperature: 0.2, ", ""},
		{"answer", "max_tokens: null", "stop: null"},
		{"answer", "top_k: 3", "top_k: 4"},
		{"answer", "user:", "model: large, user:"},
		{"clerk", "temperature: 0.7", "temperature: 0.8"},
		{"clerk", "name: greet", "name: salute"},
		{"plain", `user: "{{ note`, `temperature: 0, user: "{{ note`},
		{"plain", `user: "{{ note`, `response_schema: {properties: {a: {type: integer, minimum: 2}}}, user: "{{ note`},
	} {
		if changed := texts(runRequests(t, edit[1], edit[2])); changed[edit[0]] == original[edit[0]] {
			t.Errorf("%s instead of %s is not in the snapshot of %s", edit[2], edit[1], edit[0])
		}
	}
}
