package explain_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const historyFlow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - {id: a, call: template, with: {template: "Hi {{ x }}", values: {x: "{{ inputs.who }}"}}}
  - {id: f, call: template, for_each: [one, "{{ inputs.who }}"], with: {template: "{{ x }}", values: {x: "{{ item }}"}}}
  - {id: c, call: chat, with: {messages: [{role: user, content: "Q {{ a.text }}"}]}}
  - {id: q, call: slot, with: {current_schema: {type: object}}}
  - id: ask
    call: chat
    needs: [a, f, c, q]
    with:
      user: >-
        {{ history[0].input['values'].x }}/{{ history[1].input[1]['values'].x }}/{{ history[2].input.messages[0].content
        }}/{{ history[0].input }}/{{ history[3].input.question }}
`

// What a step before had as its input comes from where its parameters come from, not from the step.
func TestExplainHistory(t *testing.T) {
	r := schedulertest.Run(t, historyFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"who": "Bo", "question": "T Bo"}`),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"}, scripted.Answer{Text: "b"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"ask chat",
		"user Bo < inputs.who (flow.yaml:4:76) > a (template) > ask",
		"user / < flow.yaml:13:43",
		"user Bo < inputs.who (flow.yaml:5:49) > item (flow.yaml:5:110) > f[1] (template) > ask",
		"user / < flow.yaml:13:81",
		"user Q  < flow.yaml:6:66 > ask",
		"user Hi  < flow.yaml:4:47 > a (template) > c > ask",
		"user Bo < inputs.who (flow.yaml:4:76) > a (template) > c > ask",
		"user / < flow.yaml:14:11",
		"user {'values': {'x': 'Bo'}} < flow.yaml:14:15 {{ history[0].input }} computed from history.0.input",
		"user / < flow.yaml:14:34",
		"user T Bo < q (slot) > ask",
	}
	if diff := cmp.Diff(want, explained(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
	// The call tells nothing of how it made its input: what it was given may be in it.
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	pieces := all[0].Messages[0].Pieces
	isVisitor := func(s explain.Source) bool { return s.Name == "inputs.who" }
	if possible := pieces[len(pieces)-1].Sources[0].Possible; !slices.ContainsFunc(possible, isVisitor) {
		t.Errorf("got %+v", possible)
	}
	if origins := pieces[len(pieces)-3].Sources[0].Origins; !slices.ContainsFunc(origins, isVisitor) {
		t.Errorf("got %+v", origins)
	}
}
