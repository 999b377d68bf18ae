package explain_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// Which steps a run can have, also those that only are when it runs.
func TestMayRun(t *testing.T) {
	f := schedulertest.Run(t, `
steps:
  - {id: each, for_each: [1, 2], call: flow, with: {path: inner.yaml}}
  - {id: sub, call: flow, with: {path: inner.yaml}}
  - {id: open, call: flow, with: {path: "{{ 'inner' ~ '.yaml' }}"}}
  - {id: filled, call: template, enable_filling: true, with: {template: Hi}}
-- inner.yaml --
steps:
  - {id: clerk, call: agent, with: {prompt: Hi}}
  - {id: made, call: template, with: {template: Some words}}
`, schedulertest.With(builtin.Calls()...)).Flow
	const inSub, inEach, all = "sub/clerk sub/clerk/round-1 sub/made", "each[1]/clerk each[1]/clerk/round-1 each[1]/made", "each sub open filled"
	for id, want := range map[string]string{
		"sub":                   "may run",
		"sub/clerk":             "may run",
		"sub/clerk/round-1":     "may run",
		"each":                  "may run",
		"each[1]/clerk/round-2": "may run",
		"open/whatever":         "may run",
		"filled/slot-1":         "may run",
		"filled/slot-1/ask-2":   "may run",
		"filled/round-1":        "filled/slot-1 filled/slot-1/ask-1",
		"sub[0]":                all,
		"missing":               all,
		"each[1]/missing":       inEach,
		"sub/clerk/missing":     inSub,
		"sub/clerk/look-1":      inSub,
		"sub/made/missing/made": inSub,
	} {
		known, ok := explain.MayRun(f, id)
		got := strings.Join(known, " ")
		if ok {
			got = "may run"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}
