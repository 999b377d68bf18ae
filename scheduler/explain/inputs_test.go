package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// The inputs of summary and facts name their sources: messages of a step, parameters, or outputs of the steps
// before.
func TestExplainInputsOfSummaryAndFacts(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - {id: talk, call: in-chat, with: {history: [{role: user, content: "{{ inputs.same }}"}, {role: assistant, content: same}]}}
  - {id: sum, call: summary, with: {messages: "{{ talk.messages }}", text: "{{ inputs.other }}", instructions: none, max_words: 9}}
  - {id: more, name: More, call: summary, with: {messages: []}}
  - {id: fact, call: facts, needs: [sum], with: {known: [same, "{{ inputs.other }}"]}}
  - id: ask
    call: chat
    needs: [sum, fact, more]
    with:
      messages:
        - {role: user, content: "{{ history[1].input.lines[0].who }}{{ history[1].input.lines[0].text }}"}
        - {role: user, content: "{{ history[1].input.lines[1].who }}{{ history[1].input.lines[1].text }}{{ history[1].input.lines[2].text }}"}
        - {role: user, content: "{{ history[3].input.lines[0].text }}{{ history[3].input.lines[2].text }}"}
        - {role: user, content: "{{ history[3].input.known[0] }}{{ history[3].input.known[1] }}"}
        - {role: user, content: "{{ more.text }}{{ history[2].input.before }}"}
`
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"same": "same", "other": "same", "question": "same"}`),
		schedulertest.LLM(scripted.Texts("same", `{"facts": [], "domain": []}`, "yes")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	show := func(step string, from, to int) (got []string) {
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), step, bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		messages := all[len(all)-1].Messages
		for _, m := range messages[from:min(to, len(messages))] {
			for _, p := range m.Pieces {
				if p.Sources[0].Kind != explain.SourceText {
					got = append(got, p.Text+" < "+p.Way().En)
				}
			}
		}
		return got
	}
	want := []string{
		"user < flow.yaml:4:55 > talk (in-chat) > sum (summary) > ask",
		"same < inputs.same (flow.yaml:4:74) > sum (summary) > ask",
		"assistant < flow.yaml:4:99 > talk (in-chat) > sum (summary) > ask",
		"same < flow.yaml:4:119 > sum (summary) > ask",
		"same < inputs.other (flow.yaml:5:80) > sum (summary) > ask",
		"same < inputs.question (flow.yaml:7:5) > fact (facts) > ask",
		"same < sum (summary) > fact (facts) > ask",
		"same < flow.yaml:7:58 > fact (facts) > ask",
		"same < inputs.other (flow.yaml:7:68) > fact (facts) > ask",
		"same < sum (summary) > more (summary) > ask",
		"same < sum (summary) > more (summary) > ask",
	}
	if diff := cmp.Diff(want, show("ask", 0, 9)); diff != "" {
		t.Error(diff)
	}
	want = []string{
		"same < inputs.question (flow.yaml:5:5) > sum (summary): question",
		"user < flow.yaml:4:55 > talk (in-chat) > sum (summary): conversation",
		":  < sum (summary): conversation",
		"same < inputs.same (flow.yaml:4:74) > sum (summary): conversation",
		"\n < sum (summary): conversation",
		"assistant < flow.yaml:4:99 > talk (in-chat) > sum (summary): conversation",
		":  < sum (summary): conversation",
		"same < flow.yaml:4:119 > sum (summary): conversation",
		"\n < sum (summary): conversation",
		"same < inputs.other (flow.yaml:5:80) > sum (summary): conversation",
		"9 < flow.yaml:5:129 > sum (summary): max_words",
		"none < flow.yaml:5:112 > sum (summary): instructions",
	}
	if diff := cmp.Diff(want, show("sum", 0, 1)); diff != "" {
		t.Error(diff)
	}
}
