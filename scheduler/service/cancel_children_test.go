package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// Cancelling a run cancels the runs that it waits for, at work or waiting.
func TestCancelChildren(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\n",
		"inner": "steps: [{id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [x], properties: {x: {type: integer}}}}}]\n",
	})
	_, id, err := m.run(t.Context(), dir, value.Value{})
	var waiting *scheduler.Waiting
	if !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	if _, err := m.service.Cancel(t.Context(), anyone, id); err != nil {
		t.Fatal(err)
	}
	if children := m.children(id); len(children) != 1 || children[0].State != journal.RunCancelled {
		t.Errorf("after the run was cancelled: %+v", children[0])
	}
}

// If the machines cannot be notified, the runs that a cancelled run waits for are still cancelled: a repeat of the
// request would find it cancelled.
func TestCancelChildrenUntold(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, for_each: [1, 2], queue: gpu, with: {path: inner.yaml}}]\n",
		"inner": "steps: [{id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [x], properties: {x: {type: integer}}}}}]\n",
	})
	_, id, err := m.run(t.Context(), dir, value.Value{})
	var waiting *scheduler.Waiting
	if !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	m.deaf = errors.New("no connection")
	if _, err := m.service.Cancel(t.Context(), anyone, id); !errors.Is(err, m.deaf) {
		t.Errorf("got %v", err)
	}
	children := m.children(id)
	if len(children) != 2 || children[0].State != journal.RunCancelled || children[1].State != journal.RunCancelled {
		t.Errorf("after the run was cancelled: %+v", children)
	}
}

// A child run that is recorded, and that no machine knows yet, is cancelled with the run around it.
func TestCancelUnopenedChild(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	m.heldUp = 2 // by the step; the first time is for the run itself
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\n",
		"inner": "steps: [{id: said, call: chat, with: {user: one}}]\n",
	})
	state, id, err := m.run(t.Context(), dir, value.Value{})
	if state.State != journal.RunCancelled {
		t.Fatalf("%s, %v", state.State, err)
	}
	if children := m.children(id); len(children) != 1 || children[0].State != journal.RunCancelled {
		t.Errorf("the child runs are %+v", children)
	}
}

// The time of a step ends its child run as well; a further attempt of the step is one of the child.
func TestChildTakesTooLong(t *testing.T) {
	m := newMachines(t, heldModel{make(chan struct{})})
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, timeout: 1s, retry: {max_attempts: 2, initial_interval: 1ms}, with: {path: inner.yaml}}]\n",
		"inner": "steps: [{id: said, call: chat, with: {user: one}}]\n",
	})
	state, id, err := m.run(t.Context(), dir, value.Value{})
	if err == nil || state.State != journal.RunFailed || state.Error.Kind != calls.Timeout {
		t.Fatalf("%+v, %v", state.Error, err)
	}
	children := m.children(id)
	for range m.service.Follow(t.Context(), anyone, children[0].ID, 0) { // until it is over
	}
	if info, err := m.service.Run(t.Context(), anyone, children[0].ID); err != nil || info.State != journal.RunCancelled {
		t.Errorf("the child run is %s, %v", info.State, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.starts[children[0].ID]; n != 2 || len(children) != 1 {
		t.Errorf("%d child runs, the first begun %d times", len(children), n)
	}
}

// TestIsOrphan: a part of a run that is over, or that was deleted, has nothing to begin for.
func TestIsOrphan(t *testing.T) {
	j := journalmemory.New(time.Now)
	s := service.New(service.Parts{Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil }})
	t.Cleanup(func() { _ = s.Close() })
	for state, ends := range map[journal.RunStatus]journal.EventType{
		journal.RunRunning: journal.FlowStarted, journal.RunWaiting: journal.FlowWaiting,
		journal.RunFinished: journal.FlowFinished, journal.RunFailed: journal.FlowFailed, journal.RunCancelled: journal.FlowCancelled,
	} {
		log, err := j.Begin(t.Context(), &journal.RunHeader{ID: string(state), Flow: "f", StartedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Append(t.Context(), &journal.Event{Run: string(state), Seq: 1, Type: ends, Time: time.Now(), Data: &journal.Data{}}); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for parent, want := range map[string]bool{"running": false, "waiting": false, "finished": true, "failed": true, "cancelled": true, "deleted": true, "": false} {
		child := &journal.RunInfo{ID: "child", Labels: map[string]string{journal.LabelChildOf: parent}}
		if got, err := s.IsOrphan(t.Context(), child); got != want || err != nil {
			t.Errorf("the part of a run that is %q: %v, %v", parent, got, err)
		}
	}
}

// TestResumeOfPart: a run that belongs to another one is not resumed alone, and the error names the run to resume,
// also for a part of a part.
func TestResumeOfPart(t *testing.T) {
	j := journalmemory.New(time.Now)
	s := service.New(service.Parts{
		Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil },
		Loader: func(service.Surroundings) (*flow.Loader, []service.Note, error) {
			registry, err := builtin.Registry()
			return &flow.Loader{Registry: registry}, nil, err
		},
		Executor: func(*flow.Flow, service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
			return &scheduler.StepExecutor{Env: calls.NewEnv()}, nil, nil
		},
		Languages: func() *flow.Languages { return &flow.Languages{Default: "en"} },
	})
	t.Cleanup(func() { _ = s.Close() })
	source := "steps: [{id: a, call: template, with: {template: hello}}]\n"
	for id, parent := range map[string]string{"root": "", "part": "root", "inner": "part", "lost": "deleted"} {
		header := &journal.RunHeader{ID: id, Flow: "f", File: "f.yaml", StartedAt: time.Now(), Labels: map[string]string{}}
		header.Text.Source = []byte(source)
		if parent != "" {
			header.Labels[journal.LabelChildOf], header.Labels[journal.LabelRunsOn] = parent, "temporal"
		}
		log, err := j.Begin(t.Context(), header)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for run, hint := range map[string]string{"part": "go on with: scheduler resume root", "inner": "go on with: scheduler resume root", "lost": ""} {
		_, _, err := s.ReopenSession(t.Context(), service.Principal{}, service.ResumeRequest{Run: run})
		if calls.KindOf(err) != calls.Invalid || calls.HintOf(err) != hint {
			t.Errorf("%s: %v (%s), want the hint %q", run, err, calls.HintOf(err), hint)
		}
	}
}
