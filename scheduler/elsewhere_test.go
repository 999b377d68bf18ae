package scheduler_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// otherMachines finishes child runs at once, with their task as output.
type otherMachines struct{}

func (otherMachines) RunChild(_ context.Context, child *scheduler.ChildRun) (*scheduler.ChildEnd, error) {
	return &scheduler.ChildEnd{State: &journal.RunState{
		State: journal.RunFinished, Outputs: value.OfMap(value.Pairs("ran", child.Flow.Name+" on "+child.Queue)),
	}}, nil
}

// lateMachines report the delay of each child run once the next has begun.
type lateMachines struct {
	otherMachines
	hints []func(wording.Text)
}

func (m *lateMachines) RunChild(ctx context.Context, child *scheduler.ChildRun) (*scheduler.ChildEnd, error) {
	m.tellLate()
	child.Hint(wording.Say("in time"))
	m.hints = append(m.hints, child.Hint)
	return m.otherMachines.RunChild(ctx, child)
}

func (m *lateMachines) tellLate() {
	for _, hint := range m.hints {
		hint(wording.Say("late"))
	}
}

// TestLateHints: a hint about a child run that its step no longer waits for is dropped.
func TestLateHints(t *testing.T) {
	late := &lateMachines{}
	r := schedulertest.Run(t, `
steps:
  - {id: a, call: flow, queue: far, with: {path: other.yaml}}
  - {id: b, call: flow, queue: far, needs: [a], with: {path: other.yaml}}
  - {id: c, call: flow, queue: far, needs: [b], with: {path: other.yaml}}
-- other.yaml --
steps: [{id: y, call: nop}]
`, journaled(t), schedulertest.With(flowcall.Definition()), schedulertest.ChangeLoader(func(l *flow.Loader) { l.QueuedElsewhere = true }),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Elsewhere = late }))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	late.tellLate()
	var told []string
	for _, e := range r.Events {
		if e.Type == journal.StepChild && e.Data.Text != "" {
			told = append(told, e.Step+": "+e.Data.Text)
		}
	}
	if want := []string{"a: in time", "b: in time", "c: in time"}; !slices.Equal(told, want) {
		t.Errorf("got %q", told)
	}
}

// TestQueuedPathOfARun: a flow with a queue, whose path is computed in the run, needs none of its calls on the
// machine that gives it to others, whether the step or the flow names the queue.
func TestQueuedPathOfARun(t *testing.T) {
	const files = `
-- other.yaml --
name: other
steps: [{id: y, call: of-a-plugin}]
-- queued.yaml --
name: queued
queue: gpu
steps: [{id: y, call: of-a-plugin}]
`
	run := func(step string) *schedulertest.Result {
		return schedulertest.Run(t, "steps: ["+step+"]\n"+files, journaled(t), schedulertest.With(flowcall.Definition()),
			schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Elsewhere = otherMachines{} }),
			schedulertest.ChangeLoader(func(l *flow.Loader) { l.QueuedElsewhere = true }))
	}
	for step, want := range map[string]string{
		`{id: s, call: flow, queue: far, with: {path: "{{ 'other.yaml' }}"}}`: `{"s":{"ran":"other on far"}}`,
		`{id: s, call: flow, with: {path: "{{ 'queued.yaml' }}"}}`:            `{"s":{"ran":"queued on gpu"}}`,
	} {
		if r := run(step); r.Err != nil || r.Outputs.JSON() != want {
			t.Errorf("%s: %s, %v", step, r.Outputs.JSON(), r.Err)
		}
	}
	r := run(`{id: s, call: flow, with: {path: "{{ 'other.yaml' }}"}}`)
	if r.Err == nil || !strings.Contains(r.Err.Error(), `there is no call "of-a-plugin"`) {
		t.Errorf("without a queue: %v", r.Err)
	}
}
