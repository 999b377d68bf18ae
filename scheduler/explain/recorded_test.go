package explain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// recordWith returns the record of a run whose events are changed as text.
func recordWith(t *testing.T, r *schedulertest.Result, change func(string) string) *journal.RunState {
	t.Helper()
	state := journal.NewRunState()
	for _, ev := range r.Events {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		changed := new(journal.Event)
		if err := json.Unmarshal([]byte(change(string(text))), changed); err != nil {
			t.Fatal(err)
		}
		state.Add(changed)
	}
	return state
}

// waysOf returns the pieces of a prompt with their ways.
func waysOf(t *testing.T, r *schedulertest.Result, state *journal.RunState) (ways []string) {
	t.Helper()
	all, err := explain.Explain(t.Context(), r.Flow, state, "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all[0].Messages[0].Pieces {
		ways = append(ways, p.Text+" < "+p.Way().En)
	}
	return ways
}

// A journal shows a digest in place of an image: the texts around it keep their sources.
func TestExplainRecordedImage(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: ask, call: chat, with: {user: "See {{ inputs.pic }} of {{ inputs.who }}"}}
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"pic": "data:image/png;base64,QUJDRA==", "who": "Mei"}`), schedulertest.LLM(scripted.Texts("yes")))
	hidden := ";sha256=" + strings.Repeat("a0", 32) + ";size=4"
	state := recordWith(t, r, func(event string) string { return strings.ReplaceAll(event, ";base64,QUJDRA==", hidden) })
	want := []string{
		"See  < flow.yaml:4:41 > ask",
		"data:image/png" + hidden + " < inputs.pic (flow.yaml:4:48) > ask",
		" of  < flow.yaml:4:61 > ask",
		"Mei < inputs.who (flow.yaml:4:68) > ask",
	}
	got := waysOf(t, r, state)
	for i := range got {
		got[i] = strings.Replace(got[i], " > ask (chat)", " > ask", 1)
		if !strings.HasSuffix(got[i], " > ask") {
			got[i] += " > ask"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other ways (-want +got):\n%s", diff)
	}
}

// A run from before spans were recorded names every name in the template of a rendered text, as a value that it
// may be computed from.
func TestExplainWithoutSpans(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: note, call: template, with: {template: "A {{ x }}", values: {x: "{{ inputs.x }}"}}}
  - {id: ask, call: chat, with: {user: "Say {{ note.text }} to {{ inputs.who }}"}}
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"x": "X", "who": "Mei"}`), schedulertest.LLM(scripted.Texts("yes")))
	state := recordWith(t, r, func(event string) string { return strings.ReplaceAll(event, `"spans":`, `"unknown":`) })
	all, err := explain.Explain(t.Context(), r.Flow, state, "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	pieces := all[0].Messages[0].Pieces
	if len(pieces) != 1 || pieces[0].Text != "Say A X to Mei" {
		t.Fatalf("other pieces: %+v", pieces)
	}
	if got := pieces[0].Sources[0]; got.Kind != explain.SourceComputed || strings.Join(got.From, " ") != "note.text inputs.who" {
		t.Errorf("another source: %+v", got)
	}
	if !all[0].Unrecorded {
		t.Error("the prompt does not say that its sources are not recorded")
	}
}

// Spans are a small part of a journal, also for a long run.
func TestSpansAreCompact(t *testing.T) {
	for name, flow := range longFlows {
		const size, most = 1000, 15
		list := strings.TrimSuffix(strings.Repeat(`{"role": "user", "content": "a short message"},`, size), ",")
		r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.Texts("a")), schedulertest.Inputs(`{"list": [`+list+`]}`))
		whole, spans := 0, 0
		for _, ev := range r.Events {
			text, _ := json.Marshal(ev)
			whole += len(text)
			if ev.Data != nil && ev.Data.Spans != nil {
				text, _ = json.Marshal(ev.Data.Spans)
				spans += len(text) + len(`"spans":,`)
			}
		}
		t.Logf("%s: %d bytes of spans in %d", name, spans, whole)
		if 100*spans > most*(whole-spans) {
			t.Errorf("%s: %d bytes of spans in %d", name, spans, whole)
		}
	}
}
