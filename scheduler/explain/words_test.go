package explain_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// A separator comes from the setting that has it, even if the same text occurs everywhere; a default is a word of
// the call.
func TestExplainSeparators(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - id: built
    call: input
    with:
      config: !expr "{'context_template': [{'module_name': 'a', 'segments': [{'type': 'text', 'value': '|'}, {'type': 'variable', 'value': 'v'}]}, {'module_name': 'b', 'segments': [{'type': 'variable', 'value': 'short_term_history_content'}]}], 'settings': {'segment_separator': inputs.between, 'short_term_format': '{role}|{content}', 'user_label': inputs.who}}"
      variables: {v: "{{ inputs.v }}"}
      memory: {short_term: [{role: user, content: "{{ inputs.said }}"}]}
  - {id: ask, call: chat, with: {user: "{{ built.prompt }}"}}
`
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.Texts("yes")),
		schedulertest.Inputs(`{"between": "|", "v": "|", "who": "|", "said": "|"}`))
	want := []string{
		`"|" < flow [83:84]`, `"|" < inputs.between [0:1]`, `"|" < inputs.v [0:1]`, `"\n\n" < b`,
		`"|" < inputs.who [0:1]`, `"|" < flow [302:303]`, `"|" < inputs.said [0:1]`,
	}
	if diff := cmp.Diff(want, shownPieces(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
}

type joinParams struct {
	A         string `json:"a"`
	Separator string `json:"separator"`
}

type joined struct {
	Text  string       `json:"text"`
	Parts []calls.Part `json:"parts"`
}

// A text that a plugin does not report on is its own, whatever it was given: its parameters may be in it.
func TestExplainWordsOfPlugins(t *testing.T) {
	join := calls.Func("shop.join", calls.Text{En: "Joins."}, func(_ context.Context, _ *calls.Env, p joinParams) (joined, error) {
		return joined{p.A + p.Separator + "b", []calls.Part{{Kind: "entry", Start: 0, End: len(p.A), Included: true, Origins: []calls.Origin{{End: len(p.A), Pointer: "/a"}}}}}, nil
	})
	const flow = `
inputs: {type: object}
steps:
  - {id: made, call: shop.join, with: {a: "{{ inputs.a }}", separator: "{{ inputs.between }}"}}
  - {id: ask, call: chat, with: {user: "{{ made.text }}"}}
`
	r := schedulertest.Run(t, flow, schedulertest.With(append(builtin.Calls(), join)...), schedulertest.LLM(scripted.Texts("yes")),
		schedulertest.Inputs(`{"a": "first", "between": "b"}`))
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	pieces := all[len(all)-1].Messages[0].Pieces
	if n := len(pieces); n != 2 || pieces[1].Way().En != "made (shop.join) > ask" || len(pieces[1].Sources[0].Possible) != 2 {
		t.Errorf("%+v", pieces)
	}
}
