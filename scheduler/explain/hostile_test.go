package explain_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/test/slow"
)

const hostileFlow = `
inputs: {type: object}
steps:
  - {id: made, call: template, with: {template: "a{{ x }}b", values: {x: "{{ inputs.x }}"}}}
  - {id: prompt, call: context, with: {identity: "{{ made.text }}", current_message: "é{{ inputs.x }}", history: [{role: user, content: "{{ inputs.x }}"}]}}
  - {id: sum, call: summary, with: {text: "{{ prompt.system }}"}}
  - {id: ask, call: chat, with: {messages: "{{ prompt.messages }}"}}
  - {id: fill, call: slot, on_missing: return, with: {data: {a: "{{ summary }}"}, current_schema: {type: object, required: [b], properties: {a: {type: string}, b: {type: string}}}}}
`

// drawParts draws parts as a careless or hostile call could give them.
func drawParts(t *rapid.T) []calls.Part {
	number := rapid.SampledFrom([]int{-1 << 62, -7, -1, 0, 1, 2, 3, 5, 9, 40, 1 << 30, 1<<62 + 5})
	pointer := rapid.SampledFrom([]string{
		"", "/", "x", "/identity", "/text", "/messages/0/content", "/messages", "/messages/99", "/values/x", "/data/a", "/data", "/template", "~", "/history/0/content", "/output",
	})
	name := rapid.SampledFrom([]string{"", ".", "question", "inputs", "inputs.x", "made", "made.text", "prompt", "ask", "summary", "facts", "history", "item", "history.1.output", "history.-1.output.x"})
	kind := rapid.SampledFrom([]calls.OriginKind{"", calls.OriginName, calls.OriginAnswer, calls.OriginTool, calls.OriginMemory, calls.OriginText, calls.OriginUser, calls.OriginClock, calls.OriginParams, "odd"})
	origin := rapid.Custom(func(t *rapid.T) calls.Origin {
		return calls.Origin{
			Start: number.Draw(t, "start"), End: number.Draw(t, "end"), From: number.Draw(t, "from"), Kind: kind.Draw(t, "kind"), Name: name.Draw(t, "name"),
			Pointer: pointer.Draw(t, "pointer"), Computed: rapid.Bool().Draw(t, "computed"), File: rapid.SampledFrom([]string{"", "f"}).Draw(t, "file"), Line: number.Draw(t, "line"),
		}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) calls.Part {
		message := number.Draw(t, "message")
		return calls.Part{
			Kind: rapid.SampledFrom([]string{"", "text", "answer", "tool", "image", "odd"}).Draw(t, "kind"), Message: &message, Included: rapid.Bool().Draw(t, "included"),
			Start: number.Draw(t, "start"), End: number.Draw(t, "end"), At: pointer.Draw(t, "at"), Origins: rapid.SliceOfN(origin, 0, 4).Draw(t, "origins"),
		}
	}), 0, 5).Draw(t, "parts")
}

// Journals of older versions have no parts, and calls and plugins may give any: whatever
// they are, the prompts are explained, with all of their text.
func TestExplainAnyParts(t *testing.T) {
	slow.Checks(t, 20)
	r := schedulertest.Run(t, hostileFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"x": "some words"}`),
		schedulertest.LLM(scripted.Texts("summed up", "said", "{}", "{}", "{}", "{}")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	texts := func(t *rapid.T, state *journal.RunState) (all []string) {
		for _, st := range state.Steps {
			prompts, err := explain.Explain(t.Context(), r.Flow, state, st.ID, bytesCounter{})
			if err != nil {
				continue
			}
			for _, e := range prompts {
				for _, m := range e.Messages {
					var text strings.Builder
					for _, p := range m.Pieces {
						text.WriteString(p.Text)
					}
					all = append(all, e.Step+" "+text.String())
				}
			}
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		want := texts(t, r.State())
		state := r.State()
		for _, st := range state.Steps {
			for i := range st.Prompts {
				st.Prompts[i].Parts = drawParts(t)
			}
			if _, has := st.Output.Get("parts"); has {
				m := st.Output.Map().Clone()
				m.Set("parts", value.Must(drawParts(t)))
				st.Output = value.OfMap(m)
			}
		}
		got := texts(t, state)
		if len(want) < 6 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got %q\nwant %q", got, want)
		}
	})
}
