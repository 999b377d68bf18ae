package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// longFlows are flows whose prompt has a piece, or a message, for every item.
var longFlows = map[string]string{
	"items": `
inputs: {type: object, properties: {list: {type: array}}}
steps:
  - {id: one, call: template, for_each: "{{ inputs.list }}", with: {template: "item {{ x }}", values: {x: "{{ item.content }}"}}}
  - {id: two, call: template, for_each: "{{ one }}", with: {template: "again {{ x }}", values: {x: "{{ item.text }}"}}}
  - {id: ask, call: chat, with: {user: "All: {{ two | map(attribute='text') | join('-') }}"}}
`,
	"messages": `
inputs: {type: object, properties: {list: {type: array}}}
steps:
  - {id: prompt, call: context, with: {identity: x, history: "{{ inputs.list }}", current_message: now}}
  - {id: ask, call: chat, with: {messages: "{{ prompt.messages }}"}}
`,
}

// explainLong returns a function that explains the prompt of a long flow.
func explainLong(tb testing.TB, flow string, size int) func() {
	tb.Helper()
	list := strings.TrimSuffix(strings.Repeat(`{"role": "user", "content": "m"},`, size), ",")
	r := schedulertest.Run(tb, flow, schedulertest.With(builtin.Calls()...),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"})), schedulertest.Inputs(`{"list": [`+list+`]}`))
	if r.Err != nil {
		tb.Fatal(r.Err)
	}
	state := r.State()
	return func() {
		if _, err := explain.Explain(tb.Context(), r.Flow, state, "ask", bytesCounter{}); err != nil {
			tb.Fatal(err)
		}
	}
}

// The work grows with the items, and not with their square.
func TestExplainLong(t *testing.T) {
	const size, most = 150, 6
	for name, flow := range longFlows {
		short, long := testing.AllocsPerRun(1, explainLong(t, flow, size)), testing.AllocsPerRun(1, explainLong(t, flow, 4*size))
		if long > most*short {
			t.Errorf("%s: %.0f allocations for %d, %.0f for %d", name, short, size, long, 4*size)
		}
	}
}

func BenchmarkExplainLong(b *testing.B) {
	for name, flow := range longFlows {
		for _, size := range []int{1000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				run := explainLong(b, flow, size)
				for b.Loop() {
					run()
				}
			})
		}
	}
}
