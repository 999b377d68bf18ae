package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// machines carry runs out as workers on other machines do, in goroutines of the test.
type machines struct {
	t       *testing.T
	service *service.Service
	journal journal.Journal
	stop    context.CancelCauseFunc // hands all runs over
	ctx     context.Context

	mu      sync.Mutex
	atWork  map[string]chan struct{} // closed when the stretch is over; guarded by mu
	queues  []string                 // of the child runs that were started; guarded by mu
	starts  map[string]int           // guarded by mu
	delayed chan struct{}            // child runs begin once it is closed; nil: at once
	areBusy chan struct{}            // all runs begin once it is closed; nil: at once
	opened  int                      // how often the machines were reached; guarded by mu
	heldUp  int                      // which time of these the run is cancelled meanwhile; 0: none
	deaf    error                    // why they cannot be told of what has changed; nil: they can
}

// cancelFirst asks the first run to end, as another process does, and waits until it does.
func (m *machines) cancelFirst(ctx context.Context) error {
	for info, err := range m.journal.Runs(ctx, journal.RunFilter{}) {
		if err != nil {
			return err
		}
		if info.Labels[journal.LabelChildOf] != "" {
			continue
		}
		if err := m.journal.Cancel(ctx, info.ID); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func newMachines(t *testing.T, model llm.Provider) *machines {
	m := &machines{t: t, journal: journalmemory.New(time.Now), atWork: map[string]chan struct{}{}, starts: map[string]int{}}
	m.restart()
	m.service = newServiceOf(model, func(context.Context, bool) (journal.Journal, error) { return m.journal, nil }, func(p *service.Parts) {
		p.Remote = func(ctx context.Context, _ string) (service.Remote, error) {
			m.mu.Lock()
			m.opened++
			isHeldUp := m.opened == m.heldUp
			m.mu.Unlock()
			if isHeldUp {
				return nil, m.cancelFirst(ctx)
			}
			return m, nil
		}
	})
	t.Cleanup(func() {
		m.handOver()
		if err := m.service.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// restart lets machines take up runs.
func (m *machines) restart() { m.ctx, m.stop = context.WithCancelCause(context.Background()) }

// handOver stops all machines.
func (m *machines) handOver() {
	m.stop(scheduler.ErrHandOver)
	m.mu.Lock()
	var all []chan struct{}
	for _, over := range m.atWork {
		all = append(all, over)
	}
	m.mu.Unlock()
	for _, over := range all {
		<-over
	}
}

func (m *machines) Start(_ context.Context, run service.RemoteRun) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if run.IsChild {
		m.queues = append(m.queues, run.Queue)
	}
	m.starts[run.ID]++
	if over, ok := m.atWork[run.ID]; ok {
		select {
		case <-over:
		default:
			return nil
		}
	}
	over := make(chan struct{})
	m.atWork[run.ID] = over
	ctx, busy := m.ctx, m.areBusy
	go func() {
		defer close(over)
		if busy != nil {
			<-busy
		}
		if m.delayed != nil && run.IsChild {
			select {
			case <-m.delayed:
			case <-ctx.Done():
				return
			}
		}
		info, err := m.service.Run(ctx, anyone, run.ID)
		if err != nil {
			m.t.Error(err)
			return
		}
		if info.LastSeq > run.Seq && info.State == journal.RunCancelled {
			return // since it was asked for
		}
		session, _, err := m.service.ReopenSession(ctx, anyone, service.ResumeRequest{Run: run.ID, OnWorker: true})
		if err != nil {
			m.t.Error(err)
			return
		}
		for _, err := range session.Continue(ctx, scheduler.Resumption{}) {
			var failure *scheduler.Failure
			var waiting *scheduler.Waiting
			if err != nil && !errors.As(err, &failure) && !errors.As(err, &waiting) {
				m.t.Error(err)
			}
		}
	}()
	return nil
}

func (m *machines) Answer(ctx context.Context, run service.RemoteRun, answers []scheduler.Answer, more bool) ([]scheduler.Answer, error) {
	session, _, err := m.service.ReopenSession(ctx, anyone, service.ResumeRequest{Run: run.ID, OnWorker: true})
	if err != nil {
		return nil, err
	}
	taken, err := session.RecordAll(ctx, answers)
	if err != nil || more {
		return taken, err
	}
	return taken, m.Start(ctx, run)
}

func (m *machines) Wake(context.Context, string) error { return m.deaf }

func (m *machines) Wait(ctx context.Context, _ service.RemoteRun, hint func(wording.Text)) error {
	hint(wording.Say("no worker can carry the run out yet: %s", "a test"))
	<-ctx.Done()
	return nil
}

// flowsOf writes flows by their names and returns the folder.
func flowsOf(t *testing.T, flows map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range flows {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs the flow outer of the folder on the machines, and returns what is on record of it.
func (m *machines) run(ctx context.Context, dir string, inputs value.Value) (*journal.RunState, string, error) {
	m.t.Helper()
	f, problems, _, err := m.service.Load(filepath.Join(dir, "outer.yaml"))
	if err != nil || f == nil {
		m.t.Fatal(err, problems)
	}
	session, _, err := m.service.NewSession(ctx, service.Principal{User: "lin"}, service.StartRequest{
		Flow: f, Inputs: inputs, On: "machines", Labels: map[string]string{"team": "a"},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range session.Events() {
		err = e
	}
	return session.State, session.ID, err
}

// resume goes on with a run, with answers.
func (m *machines) resume(ctx context.Context, id string, answers ...scheduler.Answer) (*journal.RunState, error) {
	m.t.Helper()
	session, _, err := m.service.ReopenSession(ctx, service.Principal{}, service.ResumeRequest{Run: id})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range session.Continue(ctx, scheduler.Resumption{Answers: answers}) {
		err = e
	}
	return session.State, err
}

// children lists the runs that a run waits for.
func (m *machines) children(id string) (list []*journal.RunInfo) {
	m.t.Helper()
	filter := journal.RunFilter{Labels: map[string]string{journal.LabelChildOf: id}}
	for info, err := range m.service.Runs(m.t.Context(), anyone, filter) {
		if err != nil {
			m.t.Fatal(err)
		}
		list = append(list, info)
	}
	return list
}

// The items of a list spread: each is a run of its own on the queue, with the labels, the
// language and the memory of the run around.
func TestItemsAreRuns(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	dir := flowsOf(t, map[string]string{
		"outer": `
language: zh
memory: {user: ann, session: main}
steps: [{id: each, call: flow, queue: gpu, for_each: [1, 2, 3], with: {path: inner.yaml, inputs: {n: "{{ item }}"}}}]
outputs: {all: "{{ each }}"}
`,
		"inner": `
inputs: {type: object, properties: {n: {type: integer}}}
steps:
  - {id: said, call: chat, with: {user: "{{ inputs.n }} {{ run.user }}"}}
outputs: {text: "{{ said.text }}"}
`,
	})
	state, id, err := m.run(t.Context(), dir, value.Value{})
	if want := `{"all":[{"text":"1 lin"},{"text":"2 lin"},{"text":"3 lin"}]}`; err != nil || state.Outputs.JSON() != want {
		t.Fatalf("%s, %v", state.Outputs.JSON(), err)
	}
	children := m.children(id)
	if len(children) != 3 || strings.Join(m.queues, " ") != "gpu gpu gpu" {
		t.Errorf("%d child runs, on %q", len(children), m.queues)
	}
	spent := 0
	for _, child := range children {
		if child.Labels["team"] != "a" || child.Labels[journal.LabelOwner] != "lin" || child.State != journal.RunFinished {
			t.Errorf("a child run: %+v", child)
		}
		details, _, err := m.service.ShowRun(t.Context(), anyone, child.ID)
		if err != nil {
			t.Fatal(err)
		}
		spent += details.State.Usage.Total()
	}
	if state.Usage.Total() != spent || spent == 0 {
		t.Errorf("the run used %d tokens, its child runs %d", state.Usage.Total(), spent)
	}
	for i := range 3 {
		item := state.Step(journal.StepPath("each", &i))
		if info, err := m.service.Run(t.Context(), anyone, item.Child); err != nil || info.Flow != "inner" {
			t.Errorf("the item %d ran as %q: %v", i, item.Child, err)
		}
	}
	header, err := m.journal.Header(t.Context(), children[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if options := header.Options.JSON(); !strings.Contains(options, `"language":"zh"`) || !strings.Contains(options, `"user":"ann"`) {
		t.Errorf("the options of a child run: %s", options)
	}
	if _, _, err := m.service.ReopenSession(t.Context(), anyone, service.ResumeRequest{Run: children[0].ID}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a child run is resumed by itself: %v", err)
	}
}

// A child run has the files that its flow needs beside itself.
func TestChildFiles(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\noutputs: {got: \"{{ a.got }}\"}\n",
		"inner": `
steps:
  - {id: deep, call: flow, with: {path: deep.yaml}}
  - {id: said, call: chat, with: {user: !file said.yaml}}
outputs: {got: "{{ deep.got }}, {{ said.text }}"}
`,
		"deep": "steps: [{id: said, call: chat, with: {user: deep}}]\noutputs: {got: \"{{ said.text }}\"}\n",
		"said": "the text of a file",
	})
	state, _, err := m.run(t.Context(), dir, value.Value{})
	if want := `{"got":"deep, the text of a file"}`; err != nil || state.Outputs.JSON() != want {
		t.Errorf("%s, %v", state.Outputs.JSON(), err)
	}
}

// Who follows a run until it waits, once it was answered, gets what follows on the answer, although no machine has taken
// it up yet.
func TestFollowAnswered(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	d := m.service.NewDispatcher(service.DispatcherOptions{Limits: service.Limits{Runs: 1, PerUser: 1}, On: "machines", Recover: "own", Log: slog.New(slog.DiscardHandler)})
	defer d.Close(context.Background())
	id := service.NewRunID()
	follow := func(after int64) (last *service.Frame) {
		t.Helper()
		for batch, err := range d.Follow(t.Context(), id, service.FollowOptions{After: after, UntilWaiting: true}) {
			if err != nil {
				t.Fatal(err)
			}
			last = batch[len(batch)-1]
		}
		return last
	}
	if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, m.service, waitsForCity), Inputs: value.OfMap(nil)}, 0); err != nil {
		t.Fatal(err)
	}
	waits := follow(0)
	m.areBusy = make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() { close(m.areBusy) })
	if err := d.Resume(t.Context(), anyone, id, service.ResumeWith{Answers: answersFor("place", "/city", "Hangzhou"), Wait: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if last := follow(waits.Seq); waits.Type != journal.FlowWaiting || last.Type != journal.FlowFinished {
		t.Errorf("followed from %s to %s", waits.Type, last.Type)
	}
}

// A child run that waits makes the run wait; answers to it go to the child, once.
func TestChildWaits(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	dir := flowsOf(t, map[string]string{
		"outer": `
steps:
  - {id: a, call: flow, with: {path: inner.yaml, inputs: {n: 1}}, needs: []}
  - {id: b, call: flow, with: {path: inner.yaml, inputs: {n: 2}}, needs: []}
outputs: {a: "{{ a.got }}", b: "{{ b.got }}"}
`,
		"inner": `
queue: people
inputs: {type: object, properties: {n: {type: integer}}}
steps:
  - {id: said, call: chat, with: {user: "number {{ inputs.n }}"}}
  - {id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [x], properties: {x: {type: integer, minimum: 5}}}}}
outputs: {got: "{{ ask.slot_data.x }}"}
`,
	})
	state, id, err := m.run(t.Context(), dir, value.Value{})
	var waiting *scheduler.Waiting
	if !errors.As(err, &waiting) || len(state.Waiting) != 2 {
		t.Fatalf("the run waits for %+v, %v", state.Waiting, err)
	}
	spent := state.Usage.Total()
	if _, err := m.resume(t.Context(), id, scheduler.Answer{Step: "a/ask", Pointer: "/x", Value: value.Must(3)}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("an answer that does not fit: %v", err)
	}
	state, err = m.resume(t.Context(), id, scheduler.Answer{Step: "a/ask", Pointer: "/x", Value: value.Must(7)})
	if !errors.As(err, &waiting) || len(state.Waiting) != 1 || state.Waiting[0].Step != "b/ask" {
		t.Fatalf("the run waits for %+v, %v", state.Waiting, err)
	}
	if inner := state.Step("a/ask"); inner.State != journal.StepStatusFinished {
		t.Errorf("the step that was answered is %s", inner.State)
	}
	state, err = m.resume(t.Context(), id, scheduler.Answer{Step: "b/ask", Pointer: "/x", Value: value.Must(8)})
	if err != nil || state.Outputs.JSON() != `{"a":7,"b":8}` {
		t.Fatalf("%s, %v", state.Outputs.JSON(), err)
	}
	if state.Usage.Total() != spent || spent == 0 || state.Step("a").Usage.Total() == 0 {
		t.Errorf("%d tokens were used before the answers, %d in all; step a %d", spent, state.Usage.Total(), state.Step("a").Usage.Total())
	}
	if n := len(m.children(id)); n != 2 {
		t.Errorf("there are %d child runs", n)
	}
}

// A child run that failed is tried again when the run is resumed; what finished in it stays.
func TestChildFails(t *testing.T) {
	model := &flakyModel{fail: true}
	m := newMachines(t, model)
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\noutputs: {text: \"{{ a.text }}\"}\n",
		"inner": `
steps:
  - {id: first, call: chat, with: {user: one}}
  - {id: second, call: chat, with: {user: "two fails"}}
outputs: {text: "{{ first.text }} {{ second.text }}"}
`,
	})
	state, id, err := m.run(t.Context(), dir, value.Value{})
	if err == nil || state.State != journal.RunFailed || state.Error.Step != "a/second" || state.Error.Kind != calls.Provider {
		t.Fatalf("%+v, %v", state.Error, err)
	}
	model.setFailing(false)
	state, err = m.resume(t.Context(), id)
	if err != nil || state.Outputs.JSON() != `{"text":"one two fails"}` {
		t.Fatalf("%s, %v", state.Outputs.JSON(), err)
	}
	if n := model.count("one"); n != 1 {
		t.Errorf("a step that had finished was done %d times", n)
	}
}

// A worker that hands its run over leaves the child runs at work; the next one finds them.
func TestChildOutlivesHandOver(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	m.delayed = make(chan struct{})
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\noutputs: {text: \"{{ a.text }}\"}\n",
		"inner": "steps: [{id: said, call: chat, with: {user: one}}]\noutputs: {text: \"{{ said.text }}\"}\n",
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	var id string
	go func() {
		defer close(ended)
		_, id, _ = m.run(ctx, dir, value.Value{})
	}()
	child := m.awaitChild()
	m.handOver()
	cancel() // the reader leaves
	<-ended
	if info, err := m.service.Run(t.Context(), anyone, child); err != nil || !info.Queued() {
		t.Fatalf("the child run after the hand-over: %+v, %v", info, err)
	}
	m.restart()
	close(m.delayed)
	state, err := m.resume(t.Context(), id)
	if err != nil || state.Outputs.JSON() != `{"text":"one"}` || len(m.children(id)) != 1 {
		t.Fatalf("%s, %v", state.Outputs.JSON(), err)
	}
}

// awaitChild waits until a child run was started, and returns its id.
func (m *machines) awaitChild() string {
	for {
		for info, err := range m.service.Runs(m.t.Context(), anyone, journal.RunFilter{}) {
			if err != nil {
				m.t.Fatal(err)
			}
			m.mu.Lock()
			isStarted := info.Labels[journal.LabelChildOf] != "" && m.starts[info.ID] > 0
			m.mu.Unlock()
			if isStarted {
				return info.ID
			}
		}
		time.Sleep(time.Millisecond)
	}
}

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

// Where the machines cannot be told of it, the runs that a cancelled run waits for are cancelled all the same: a
// repeat of the request would find it cancelled.
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

// A child run that is on record, and that no machine was told of yet, is cancelled with the run
// around it.
func TestCancelUnopenedChild(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	m.heldUp = 2 // by the step; the first time is that of the run itself
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

// What is left of the budget bounds the child run.
func TestChildBudget(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	dir := flowsOf(t, map[string]string{
		"outer": fmt.Sprintf("budget: {max_tokens: 40}\nsteps:\n  - {id: before, call: chat, with: {user: %q}}\n  - {id: a, call: flow, queue: gpu, with: {path: inner.yaml}}\n", "a few words"),
		"inner": fmt.Sprintf("steps: [{id: said, call: chat, with: {user: %q}}]\n", strings.Repeat("word ", 100)),
	})
	state, _, err := m.run(t.Context(), dir, value.Value{})
	if err == nil || state.Error.Kind != calls.Budget || state.Error.Step != "a/said" {
		t.Fatalf("%+v, %v", state.Error, err)
	}
}

// Neither inputs nor outputs with a secret pass between a run and its child run: the journal has no
// secrets, and the other would see a mask.
func TestChildSecrets(t *testing.T) {
	for name, flows := range map[string]map[string]string{
		"the input /key": {
			"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml, inputs: {key: \"{{ secrets.KEY }}\"}}}]\n",
			"inner": "inputs: {type: object, properties: {key: {type: string}}}\nsteps: [{id: said, call: template, with: {template: x}}]\n",
		},
		"the output /key": {
			"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\n",
			"inner": "steps: [{id: said, call: template, with: {template: x}}]\noutputs: {key: \"{{ secrets.KEY }}\"}\n",
		},
	} {
		m := newMachines(t, scripted.Echo{})
		state, _, err := m.run(t.Context(), flowsOf(t, flows), value.Value{})
		if err == nil || state.Error == nil || state.Error.Step != "a" || !strings.Contains(state.Error.Message, name+" of inner holds a secret") {
			t.Errorf("%s: %+v, %v", name, state.Error, err)
		}
	}
}

// A flow that was edited is a new child run; the one that waited before is cancelled.
func TestEditedChild(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	const ask = "steps: [{id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [%s], properties: {%[1]s: {type: integer}}}}}]\n"
	dir := flowsOf(t, map[string]string{
		"outer": "steps: [{id: a, call: flow, queue: gpu, with: {path: inner.yaml}}]\n", "inner": fmt.Sprintf(ask, "x"),
	})
	_, id, err := m.run(t.Context(), dir, value.Value{})
	var waiting *scheduler.Waiting
	if !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	if _, err := m.service.Cancel(t.Context(), anyone, id); err != nil {
		t.Fatal(err)
	}
	first := m.children(id)[0].ID
	if err := os.WriteFile(filepath.Join(dir, "inner.yaml"), fmt.Appendf(nil, ask, "y"), 0o600); err != nil {
		t.Fatal(err)
	}
	edited, problems, _, err := m.service.Load(filepath.Join(dir, "outer.yaml"))
	if err != nil || edited == nil {
		t.Fatal(err, problems)
	}
	session, _, err := m.service.ReopenSession(t.Context(), anyone, service.ResumeRequest{Run: id, Flow: edited})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range session.Continue(t.Context(), scheduler.Resumption{Flow: edited}) {
		err = e
	}
	if !errors.As(err, &waiting) || strings.Join(waiting.For[0].Pointers(), " ") != "/y" {
		t.Fatal(err)
	}
	children := m.children(id)
	if len(children) != 2 || children[0].State != journal.RunWaiting || children[1].ID != first || children[1].State != journal.RunCancelled {
		t.Errorf("%+v", children)
	}
}

// flakyModel repeats what it is asked, and fails where that has the word fails.
type flakyModel struct {
	mu    sync.Mutex
	fail  bool
	asked map[string]int
}

func (f *flakyModel) setFailing(fail bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *flakyModel) count(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[text]
}

func (f *flakyModel) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	f.mu.Lock()
	defer f.mu.Unlock()
	var message struct{ Content string }
	_ = json.Unmarshal([]byte(req.Messages[len(req.Messages)-1]), &message) // other messages count as ""
	text := message.Content
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	f.asked[text]++
	if f.fail && strings.Contains(text, "fails") {
		return func(yield func(llm.Delta, error) bool) {
			yield(llm.Delta{}, &llm.Error{Status: 500, Err: errors.New("down")})
		}
	}
	return scripted.Echo{}.Chat(ctx, req)
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
