package explain_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const computedFlow = `
inputs: {type: object, properties: {question: {type: string}, town: {type: string}}}
steps:
  - {id: note, call: template, with: {template: "note {{ q }}", values: {q: "{{ inputs.question }}"}}}
  - {id: loud, call: shop.shout, with: {text: "{{ note.text }}"}}
  - {id: said, call: chat, with: {messages: [{role: user, content: hello}]}}
  - id: ask
    call: chat
    with:
      messages:
        - {role: system, content: "{{ note.text | upper }}"}
        - {role: system, content: "{{ [note, inputs.town] | tojson }}"}
        - {role: system, content: "{{ loud.text }}"}
        - {role: system, content: "{{ said.text }}"}
        - {role: system, content: "{{ said | tojson }}"}
        - {role: system, content: "N {{ note }}"}
outputs: {x: 1}
`

type shoutParams struct {
	Text string `json:"text"`
}

func (p shoutParams) Init(context.Context, *calls.Vars) (shoutParams, error) { return p, nil }

func (p shoutParams) Exec(context.Context, *calls.Env, shoutParams) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) { return shoutParams{strings.ToUpper(p.Text)}, nil })
}

// A computed text is followed to its origins; a call that does not report its sources leaves them possible. The
// printed form of the source does not change.
func TestOriginsOfComputedText(t *testing.T) {
	shout := calls.Define[shoutParams, shoutParams, shoutParams](calls.Info{Name: "shop.shout", Summary: calls.Text{En: "Shout.", Zh: "喊。"}})
	r := schedulertest.Run(t, computedFlow, schedulertest.With(append(slices.Clone(builtin.Calls()), shout)...),
		schedulertest.Inputs(`{"question": "why", "town": "Ulm"}`), schedulertest.LLM(scripted.Texts("hm", "fine")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	prompts, err := explain.Explain(context.Background(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	names := func(sources []explain.Source) string {
		var all []string
		for _, s := range sources {
			if s.Kind != explain.SourceText {
				all = append(all, string(s.Kind)+" "+s.Name+s.Step)
			}
		}
		return strings.Join(all, ", ")
	}
	var got []string
	for _, m := range prompts[0].Messages {
		first := m.Pieces[len(m.Pieces)-1].Sources[0]
		got = append(got, strings.Join(first.From, " ")+" | "+names(first.Origins)+" | "+names(first.Possible))
	}
	want := []string{
		"note.text | computed , step note, input inputs.question | ",
		"note inputs.town | computed , step note, input inputs.question, input inputs.town | ",
		" |  | step note, input inputs.question",
		" | model  | ",
		"said | computed , step said, model , step said, step said, step said, step said | ",
		"note | computed , step note, input inputs.question | ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
