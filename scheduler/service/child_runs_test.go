package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// The items of a list spread: each is a run of its own on the queue, with the labels, the
// language of the run around. The memory of the run around is not its own.
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
	if options := header.Options.JSON(); !strings.Contains(options, `"language":"zh"`) || strings.Contains(options, `"ann"`) {
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

// A reader that follows an answered run until it waits gets the events after the answer, although no machine has
// taken it up yet.
func TestFollowAnswered(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	d := dispatch.New(m.service, dispatch.Options{Limits: dispatch.Limits{Runs: 1, PerUser: 1}, On: "machines", Recover: "own", Log: slog.New(slog.DiscardHandler)})
	defer d.Close(context.Background())
	id := service.NewRunID()
	follow := func(after int64) (last *dispatch.Frame) {
		t.Helper()
		for batch, err := range d.Follow(t.Context(), id, dispatch.FollowOptions{After: after, UntilWaiting: true}) {
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

// A server gets each end of the runs that it gave other machines once.
func TestEndedElsewhere(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	ended := make(chan string, 9)
	d := dispatch.New(m.service, dispatch.Options{
		Limits: dispatch.Limits{Runs: 1, PerUser: 1}, On: "machines", Recover: "none", Log: slog.New(slog.DiscardHandler),
		EndedElsewhere: func(info *journal.RunInfo, e *journal.Event) { ended <- info.ID + " " + string(e.Type) },
	})
	defer d.Close(context.Background())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go d.FollowElsewhere(ctx)
	waits, over := service.NewRunID(), service.NewRunID()
	for id, text := range map[string]string{waits: waitsForCity, over: "steps: [{id: a, call: template, with: {template: x}}]\n"} {
		if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, m.service, text), Inputs: value.OfMap(nil)}, 0); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{waits + " flow.waiting": true, over + " flow.finished": true}
	for range 2 {
		if got := <-ended; !want[got] {
			t.Errorf("heard of %s", got)
		}
	}
	if err := d.Resume(t.Context(), anyone, waits, service.ResumeWith{Answers: answersFor("place", "/city", "Hangzhou")}); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != waits+" flow.finished" {
		t.Errorf("heard of %s", got)
	}
	if len(ended) > 0 {
		t.Errorf("heard of %s too", <-ended)
	}
}

// A reader that follows a run until it waits again gets the events after its answer, however late a machine
// continues it.
func TestFollowAnsweredLate(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	d := dispatch.New(m.service, dispatch.Options{Limits: dispatch.Limits{Runs: 1, PerUser: 1}, On: "machines", Recover: "own", Log: slog.New(slog.DiscardHandler)})
	defer d.Close(context.Background())
	id := service.NewRunID()
	if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, m.service, waitsForCity), Inputs: value.OfMap(nil)}, 0); err != nil {
		t.Fatal(err)
	}
	options := dispatch.FollowOptions{UntilWaiting: true}
	follow := func() (last *dispatch.Frame) {
		t.Helper()
		for batch, err := range d.Follow(t.Context(), id, options) {
			if err != nil {
				t.Fatal(err)
			}
			last = batch[len(batch)-1]
			if last.Type == journal.StepAnswered {
				close(m.areBusy)
			}
		}
		return last
	}
	options = dispatch.FollowOptions{After: follow().Seq, UntilWaitingAgain: true}
	m.areBusy = make(chan struct{})
	if err := d.Resume(t.Context(), anyone, id, service.ResumeWith{Answers: answersFor("place", "/city", "Hangzhou")}); err != nil {
		t.Fatal(err)
	}
	if last := follow(); last.Type != journal.FlowFinished {
		t.Errorf("followed to %s", last.Type)
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

// A child run that failed is tried again when the run is resumed; its finished steps stay.
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

// The rest of the budget is the child run's limit.
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
	edited, problems, _, err := m.service.Load(t.Context(), filepath.Join(dir, "outer.yaml"))
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

func answersFor(step, pointer, text string) []scheduler.Answer {
	return []scheduler.Answer{{Step: step, Pointer: pointer, Value: value.OfString(text)}}
}
