package explain_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// The sources of a prompt, and of parameters, are found through templates, filters and answers of models.
func TestSeen(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: note, call: template, with: {template: "{{ town | upper }}", values: {town: "{{ inputs.town }}"}}}
  - {id: said, call: chat, with: {user: "Say {{ inputs.word }}"}}
  - {id: prompt, call: context, with: {workspace: ws, current_message: "{{ [note.text, said.text] | join('-') }}"}}
  - {id: ask, call: chat, with: {messages: "{{ prompt.messages }}"}}
  - {id: last, call: template, with: {template: "{{ x }}", values: {x: "{{ note.text | lower }}"}}}
-- ws/SOUL.md --
Be calm.
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"town": "Rome", "word": "hi"}`), schedulertest.LLM(scripted.Texts("yes", "no")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	prompts, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(explain.Seen(prompts[0]), " ")
	for _, want := range []string{"call:chat", "call:template", "file", "inputs.town", "model", "step:note", "step:said", "user"} {
		if !strings.Contains(" "+got+" ", " "+want+" ") {
			t.Errorf("the prompt has not seen %s: %s", want, got)
		}
	}
	seen, err := explain.SeenByStep(t.Context(), r.Flow, r.State(), "last", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"call:template", "flow", "inputs.town", "step:note", "user"}, seen); diff != "" {
		t.Errorf("other sources of the parameters (-want +got):\n%s", diff)
	}
	if _, err := explain.SeenByStep(t.Context(), r.Flow, r.State(), "none", bytesCounter{}); err == nil {
		t.Error("no error for a step that the run does not have")
	}
}
