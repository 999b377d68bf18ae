package temporal

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/scheduler/service"
)

// machine is a worker without a server: its use cases and its activities, over a journal in
// memory. secrets are those it has.
type machine struct {
	*activities
	t       *testing.T
	journal *abandonable
	secrets map[string]string
	program string
	stop    context.CancelCauseFunc
	drained chan struct{}
	// lacksCall: it does not have the call work.
	lacksCall bool
	// block makes the call wait until its context ends.
	block bool
	began chan struct{}
}

// abandonable is a journal with runs that can seem to be left by processes that died.
type abandonable struct {
	journal.Journal
	isAbandoned bool
	// isUnheeded: they had been asked to stop the runs.
	isUnheeded bool
	// isCancelled: the next run is cancelled in the moment before a process takes it.
	isCancelled bool
	// parents are the runs that others seem to be parts of, by the ids of these.
	parents map[string]string
}

func (j *abandonable) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	info, err := j.Journal.Run(ctx, id)
	if err == nil && j.isAbandoned {
		info.Abandoned = true
	}
	if err == nil && j.isUnheeded {
		info.CancelRequested = true
	}
	if err == nil && j.parents[id] != "" {
		info.Labels[journal.LabelChildOf] = j.parents[id]
	}
	return info, err
}

func (j *abandonable) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	if j.isCancelled {
		j.isCancelled = false
		if err := j.Cancel(ctx, id); err != nil {
			return nil, err
		}
	}
	return j.Journal.Reopen(ctx, id)
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{
		t: t, journal: &abandonable{Journal: journalmemory.New(time.Now)}, secrets: map[string]string{}, program: "v1.2.0",
		drained: make(chan struct{}), began: make(chan struct{}, 1),
	}
	handOver, stop := context.WithCancelCause(context.Background())
	m.stop = stop
	t.Cleanup(func() { stop(nil) })
	m.activities = &activities{watch: newWatcher(&WorkerOptions{}), drain: m.drained, handOver: handOver, quickTries: quickTries, giveUpAfter: 24 * time.Hour, service: service.New(service.Parts{
		Loader:   func(service.Surroundings) (*flow.Loader, []service.Note, error) { return m.loader(), nil, nil },
		Viewer:   func() (*flow.Loader, error) { return m.loader(), nil },
		Executor: m.executor,
		Journal:  func(context.Context, bool) (journal.Journal, error) { return m.journal, nil },
		Provider: func(string) (llm.Provider, error) { return scripted.Echo{}, nil },
		Languages: func() *flow.Languages {
			return &flow.Languages{Default: "en"}
		},
		Dir: t.TempDir(),
	})}
	return m
}

func (m *machine) loader() *flow.Loader {
	registry, err := builtin.Registry()
	if err != nil {
		m.t.Fatal(err)
	}
	work := schedulertest.Do("work", func(ctx context.Context, _ *calls.Env, params value.Value) (any, error) {
		if m.block {
			m.began <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return params, nil
	})
	if !m.lacksCall {
		if err := registry.AddCall(work); err != nil {
			m.t.Fatal(err)
		}
	}
	return &flow.Loader{Registry: registry, Secrets: []string{"KEY"}}
}

func (m *machine) executor(*flow.Flow, service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
	env := calls.NewEnv()
	env.LLM, env.Tokens = scripted.Echo{}, tokens.For("")
	return &scheduler.StepExecutor{Env: env, Loader: m.loader(), Program: m.program, Secrets: func(name string) (string, bool) {
		text, ok := m.secrets[name]
		return text, ok
	}}, nil, nil
}

// enqueue records a run of a flow that has not begun.
func (m *machine) enqueue(text string) (id string) {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	f, problems, _, err := m.service.Load(m.t.Context(), file)
	if err != nil || f == nil {
		m.t.Fatal(err, problems)
	}
	info, _, err := m.service.Enqueue(m.t.Context(), service.Principal{}, service.StartRequest{Flow: f, Inputs: value.OfMap(nil), On: "temporal"})
	if err != nil {
		m.t.Fatal(err)
	}
	return info.ID
}

// input returns the input of a stretch of a run.
func (m *machine) input(run string, after int64) stretchInput {
	store, err := m.service.StoreID(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return stretchInput{Run: run, Store: store, After: after, Since: after}
}

// doStretch carries a stretch out as Temporal would.
func (m *machine) doStretch(in stretchInput) (out Outcome, err error) {
	v, err := m.newActivityEnv().ExecuteActivity(Stretch, in)
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

// newActivityEnv returns an environment for activities, without a server.
func (m *machine) newActivityEnv() *testsuite.TestActivityEnvironment {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(m.stretch, activity.RegisterOptions{Name: Stretch})
	env.RegisterActivityWithOptions(m.answer, activity.RegisterOptions{Name: answerActivity})
	env.RegisterActivityWithOptions(m.cancel, activity.RegisterOptions{Name: cancelActivity})
	return env
}

// doAnswer puts answers on record as Temporal would; a request without a store gets the store of the machine.
func (m *machine) doAnswer(request answerRequest) (taken []answer, err error) {
	if request.Store == "" {
		request.Store = m.input(request.Run, 0).Store
	}
	v, err := m.newActivityEnv().ExecuteActivity(answerActivity, request)
	if err == nil {
		err = v.Get(&taken)
	}
	return taken, err
}

// doCancel cancels a run as Temporal would.
func (m *machine) doCancel(run string) (out Outcome, err error) {
	v, err := m.newActivityEnv().ExecuteActivity(cancelActivity, cancelRequest{Run: run, Store: m.input(run, 0).Store})
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

// wantType fails the test unless the error is Temporal's, of a type.
func wantType(t *testing.T, what string, err error, kind string, isFinal bool) {
	t.Helper()
	var own *temporal.ApplicationError
	if !errors.As(err, &own) || own.Type() != kind || own.NonRetryable() != isFinal {
		t.Errorf("%s: %v", what, err)
	}
}

const (
	workFlow = "steps: [{id: a, call: work, with: {x: 1}}]\noutputs: {x: \"{{ a.x }}\"}\n"
	askFlow  = `
steps:
  - {id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [n], properties: {n: {type: integer, minimum: 5}}}}}
  - {id: b, call: work, with: {n: "{{ ask.slot_data.n }}"}}
outputs: {n: "{{ b.n }}"}
`
)

func TestStretchEnds(t *testing.T) {
	m := newMachine(t)
	run := m.enqueue(workFlow)
	out, err := m.doStretch(m.input(run, 0))
	if err != nil || out.State != Finished || out.Flow != "flow" || out.Seq == 0 {
		t.Errorf("got %+v, %v", out, err)
	}
	again, err := m.doStretch(m.input(run, 0)) // the result of the first was lost
	if err != nil || again.State != out.State || again.Seq != out.Seq {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	run = m.enqueue("steps: [{id: bad, call: template, with: {template: \"{{ 1 / 0 }}\"}}]\n")
	out, err = m.doStretch(m.input(run, 0))
	if err != nil || out.State != Failed || out.Step != "bad" || out.Kind == "" {
		t.Errorf("a run that fails: %+v, %v", out, err)
	}
	out, err = m.doStretch(stretchInput{Run: run, Store: "another", After: 3})
	if err != nil || out.State != Unavailable || out.Seq != 3 || out.Missing != otherStore {
		t.Errorf("another store: %+v, %v", out, err)
	}
	_, err = m.doAnswer(answerRequest{Run: run, Store: "another", Answers: []answer{{Pointer: "/n", Value: "3"}}})
	wantType(t, "an answer for another store", err, typeUnavailable, false)
	_, err = m.doStretch(m.input("unknown", 0))
	wantType(t, "an unknown run", err, string(calls.NotFound), true)
}

// A run waits, refuses answers that do not fit, and goes on with an answer that is in the journal.
func TestStretchWaits(t *testing.T) {
	m := newMachine(t)
	run := m.enqueue(askFlow)
	out, err := m.doStretch(m.input(run, 0))
	if err != nil || out.State != Waiting || strings.Join(out.Waiting, " ") != "ask" {
		t.Fatalf("got %+v, %v", out, err)
	}
	idle, err := m.doStretch(m.input(run, out.Seq)) // woken without an answer
	if err != nil || idle.State != Waiting || idle.Seq != out.Seq || len(idle.Waiting) != 1 {
		t.Errorf("woken: %+v, %v", idle, err)
	}
	_, err = m.doAnswer(answerRequest{Run: run, Answers: []answer{{Pointer: "/n", Value: "3"}}})
	wantType(t, "an answer that does not fit", err, string(calls.Invalid), true)
	_, err = m.doAnswer(answerRequest{Run: run, Answers: []answer{{Pointer: "/n", Value: "{"}}})
	wantType(t, "an answer that is not JSON", err, string(calls.Invalid), true)
	for range 2 { // the update may come twice
		taken, err := m.doAnswer(answerRequest{Run: run, Answers: []answer{{Pointer: "/n", Value: "7"}}})
		if err != nil || len(taken) != 1 || taken[0].Value != "7" {
			t.Errorf("got %+v, %v", taken, err)
		}
	}
	out, err = m.doStretch(m.input(run, out.Seq))
	if err != nil || out.State != Finished {
		t.Errorf("got %+v, %v", out, err)
	}
	_, err = m.doAnswer(answerRequest{Run: run, Answers: []answer{{Pointer: "/n", Value: "8"}}})
	wantType(t, "a late answer", err, string(calls.Canceled), true)
	details, _, err := m.service.ShowRun(t.Context(), service.Principal{}, run)
	if err != nil || details.State.Outputs.JSON() != `{"n":7}` {
		t.Errorf("the outputs are %s, %v", details.State.Outputs.JSON(), err)
	}
}

// A run that waits is cancelled in the journal; its next stretch reports that to the workflow.
func TestStretchCancelled(t *testing.T) {
	m := newMachine(t)
	run := m.enqueue(askFlow)
	out, err := m.doStretch(m.input(run, 0))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cancelled, err := m.doCancel(run)
		if err != nil || cancelled.State != Cancelled {
			t.Errorf("got %+v, %v", cancelled, err)
		}
	}
	out, err = m.doStretch(m.input(run, out.Seq))
	if err != nil || out.State != Cancelled {
		t.Errorf("got %+v, %v", out, err)
	}
	out, err = m.doStretch(m.input(run, out.Seq)) // it was resumed
	if err != nil || out.State != Waiting {
		t.Errorf("resumed: %+v, %v", out, err)
	}
}

// A run does not go on if its worker died before it could heed a request to cancel it.
func TestStretchUnheeded(t *testing.T) {
	m := newMachine(t)
	run := m.enqueue(askFlow)
	m.journal.isUnheeded = true
	out, err := m.doStretch(m.input(run, 0))
	if err != nil || out.State != Cancelled {
		t.Errorf("got %+v, %v", out, err)
	}
}

// A run that is cancelled after a worker has looked at it, but before it has taken it, does not begin; one that is
// resumed after that does.
func TestStretchCancelledBefore(t *testing.T) {
	m := newMachine(t)
	run := m.enqueue(askFlow)
	m.journal.isCancelled = true
	for i, want := range []State{HandedOver, Cancelled} {
		out, err := m.doStretch(m.input(run, 0))
		if err != nil || out.State != want || out.Seq != int64(i) {
			t.Errorf("got %+v, %v, want %s", out, err, want)
		}
	}
	out, err := m.doStretch(m.input(run, 1))
	if err != nil || out.State != Waiting {
		t.Errorf("resumed: got %+v, %v", out, err)
	}
}

// A child run that was cancelled, and asked to begin again before its run around was cancelled too,
// does not begin.
func TestStretchOfOrphan(t *testing.T) {
	m := newMachine(t)
	parent, child := m.enqueue(askFlow), m.enqueue(askFlow)
	m.journal.parents = map[string]string{child: parent}
	out, err := m.doStretch(m.input(child, 0))
	if err != nil || out.State != Waiting {
		t.Fatalf("while its run around goes on: %+v, %v", out, err)
	}
	for _, run := range []string{child, parent} {
		out, err = m.doCancel(run)
		if err != nil || out.State != Cancelled {
			t.Fatalf("got %+v, %v", out, err)
		}
	}
	before, err := m.service.Run(t.Context(), service.Principal{}, child)
	if err != nil {
		t.Fatal(err)
	}
	out, err = m.doStretch(m.input(child, before.LastSeq)) // it was asked to begin again
	if err != nil || out.State != Cancelled || out.Seq != before.LastSeq {
		t.Errorf("got %+v, %v", out, err)
	}
	queued := m.enqueue(askFlow)
	m.journal.parents[queued] = parent
	out, err = m.doStretch(m.input(queued, 0))
	if err != nil || out.State != Cancelled {
		t.Errorf("one that has not begun: %+v, %v", out, err)
	}
}

// A machine that lets others carry out a flow with a queue needs none of its secrets and files.
func TestStretchNeedsNothingOfChildren(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner.yaml")
	text := "steps: [{id: a, call: work, with: {x: \"{{ secrets.KEY }}\"}}, {id: c, call: context, needs: [], with: {workspace: " + filepath.Join(dir, "ws") + "}}]\n"
	if err := os.WriteFile(inner, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for queue, isMissing := range map[string]bool{"queue: gpu, ": false, "": true} {
		run := m.enqueue("steps: [{id: a, call: flow, " + queue + "with: {path: " + inner + "}}]\n")
		session, _, err := m.service.ReopenSession(t.Context(), service.Principal{}, service.ResumeRequest{Run: run, OnWorker: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := session.CheckMachine(); (err != nil) != isMissing {
			t.Errorf("with %q: %v", queue, err)
		}
		if err := m.service.CheckWorker(session.Flow); (err != nil) != isMissing {
			t.Errorf("with %q, as a flow of the project: %v", queue, err)
		}
	}
}

// A machine that lacks a call, for example of a plugin, carries out runs if only their child runs need the call,
// and names it as missing for others.
func TestStretchWithoutCallOfChildren(t *testing.T) {
	inner := filepath.Join(t.TempDir(), "inner.yaml")
	for step, flowQueue := range map[string]string{"queue: gpu, ": "", "": "queue: gpu\n", " ": ""} {
		if err := os.WriteFile(inner, []byte(flowQueue+workFlow), 0o600); err != nil {
			t.Fatal(err)
		}
		m := newMachine(t)
		run := m.enqueue("steps: [{id: a, call: flow, " + step + "with: {path: " + inner + "}}]\noutputs: {x: \"{{ a.x }}\"}\n")
		m.lacksCall = true
		isQueued := step+flowQueue != " "
		session, _, err := m.service.ReopenSession(t.Context(), service.Principal{}, service.ResumeRequest{Run: run, OnWorker: true})
		if err == nil {
			err = session.CheckMachine()
		}
		var missing *service.MissingError
		if errors.As(service.AsMissing(err), &missing) == isQueued {
			t.Errorf("with %q in the step and %q in the flow: %v", step, flowQueue, err)
		}
		library := m.service.NewWorkerLibrary([]string{filepath.Dir(inner)})
		if one, err := library.Flow("inner"); err != nil || one.Flow != nil {
			t.Errorf("the flow itself, as one of the project: %v", err)
		}
		if queue := m.service.QueueOfFile(inner); (queue == "gpu") != (flowQueue != "") {
			t.Errorf("the flow itself has the queue %q", queue)
		}
	}
}

// The queue of a run is known even if its flow does not load, and a child run has its parent's queue.
func TestQueueOfRun(t *testing.T) {
	m := newMachine(t)
	run, child := m.enqueue("queue: gpu\n"+workFlow), m.enqueue(workFlow)
	log, err := m.journal.Reopen(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	data := &journal.Data{Child: &journal.ChildInfo{Run: child, Flow: "inner", Queue: "other"}}
	if err := log.Append(t.Context(), &journal.Event{Run: run, Seq: 1, Type: journal.StepChild, Step: "a", Time: time.Now(), Data: data}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	m.journal.parents = map[string]string{child: run}
	m.lacksCall = true
	for id, want := range map[string]string{run: "gpu", child: "other"} {
		info, err := m.service.Run(t.Context(), service.Principal{}, id)
		if err != nil {
			t.Fatal(err)
		}
		if queue, err := m.service.QueueOfRun(t.Context(), info); err != nil || queue != want {
			t.Errorf("the queue is %q, %v, want %q", queue, err, want)
		}
	}
}

// A machine names the things that it lacks, and nothing has happened to the run.
func TestStretchUnavailable(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	run := m.enqueue("steps: [{id: a, call: work, with: {x: \"{{ secrets.KEY }}\"}}, {id: c, call: context, needs: [], with: {workspace: " + filepath.Join(dir, "ws") + "}}]\n")
	in := m.input(run, 0)
	m.program = "v1.1.9"
	m.journal.Journal = &otherProgram{m.journal.Journal}
	_, err := m.doStretch(in)
	wantType(t, "the first try", err, typeUnavailable, false)
	var own *temporal.ApplicationError
	if !errors.As(err, &own) || own.NextRetryDelay() != quickDelay {
		t.Errorf("the run is not offered to other workers at once: %v", err)
	}
	m.quickTries = 1 // as in a later attempt
	out, err := m.doStretch(in)
	if err != nil || out.State != Unavailable {
		t.Fatalf("got %+v, %v", out, err)
	}
	for _, want := range []string{"KEY", "ws", "v1.2.0"} {
		if !strings.Contains(out.Missing, want) {
			t.Errorf("%q does not name %s", out.Missing, want)
		}
	}
	if info, err := m.service.Run(t.Context(), service.Principal{}, run); err != nil || !info.Queued() {
		t.Errorf("the run is %+v, %v", info, err)
	}
	spent := in
	spent.UnavailableFor = m.giveUpAfter
	out, err = m.doStretch(spent)
	if err != nil || out.State != Failed || out.Kind != string(calls.Internal) {
		t.Errorf("after a day it is %+v, %v", out, err)
	}
	details, _, err := m.service.ShowRun(t.Context(), service.Principal{}, run)
	if err != nil || details.State.State != journal.RunFailed || !strings.Contains(details.State.Error.Message, "the secret KEY") {
		t.Errorf("the journal does not tell why: %+v, %v", details, err)
	}
	in.After, in.Since = out.Seq, out.Seq
	m.secrets["KEY"], m.program = "s", "v1.3.0"
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err = m.doStretch(in)
	if err != nil || out.State == Unavailable {
		t.Errorf("with all that was missing: %+v, %v", out, err)
	}
}

// otherProgram is a journal with runs that the version 1.2.0 began.
type otherProgram struct{ journal.Journal }

func (j *otherProgram) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.Journal.Header(ctx, id)
	if err == nil {
		h.Program = "v1.2.0"
	}
	return h, err
}

// A worker that stops hands its runs over, at work or not yet begun.
func TestStretchHandsOver(t *testing.T) {
	m := newMachine(t)
	m.block = true
	run := m.enqueue(workFlow)
	go func() {
		<-m.began
		m.stop(scheduler.ErrHandOver)
	}()
	out, err := m.doStretch(m.input(run, 0))
	if err != nil || out.State != HandedOver || out.Seq == 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	close(m.drained)
	idle, err := m.doStretch(m.input(run, out.Seq))
	if err != nil || idle.State != HandedOver || idle.Seq != out.Seq {
		t.Errorf("while it stops: %+v, %v", idle, err)
	}
	info, err := m.service.Run(t.Context(), service.Principal{}, run)
	if err != nil || !info.Interrupted() {
		t.Errorf("the run is %+v, %v", info, err)
	}
}

// A run that another process has is asked for again; one that has brought down process after process pauses, and
// in the end fails, as the journal shows.
func TestStretchHeldAndStuck(t *testing.T) {
	m := newMachine(t)
	run := m.enqueue(workFlow)
	log, err := m.journal.Reopen(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.doStretch(m.input(run, 0))
	wantType(t, "a held run", err, typeHeld, false)
	_, err = m.doAnswer(answerRequest{Run: run, Answers: []answer{{Pointer: "/n", Value: "7"}}})
	wantType(t, "an answer for a held run", err, typeHeld, false)
	for i, kind := range []journal.EventType{journal.FlowStarted, journal.FlowResumed, journal.FlowResumed, journal.FlowResumed} {
		data := &journal.Data{Flow: "flow", Interrupted: kind == journal.FlowResumed}
		if kind == journal.FlowStarted {
			inputs := value.OfMap(nil)
			data.Inputs = &inputs
		}
		if err := log.Append(t.Context(), &journal.Event{Run: run, Seq: int64(i + 1), Type: kind, Time: time.Now(), Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	m.journal.isAbandoned = true
	out, err := m.doStretch(m.input(run, 0))
	if err != nil || out.State != Unavailable || out.Pause <= 0 || out.Pause > time.Minute || !strings.Contains(out.Missing, "3 workers") {
		t.Errorf("after three deaths: %+v, %v", out, err)
	}
	if info, err := m.journal.Run(t.Context(), run); err != nil || info.State != journal.RunRunning {
		t.Errorf("after three deaths the run is %+v, %v", info, err)
	}
	m.giveUpAfter = 0 // it has been tried for so long
	out, err = m.doStretch(m.input(run, 0))
	if err != nil || out.State != Failed || out.Kind != string(calls.Internal) || out.Seq != 5 {
		t.Errorf("got %+v, %v", out, err)
	}
	if info, err := m.journal.Run(t.Context(), run); err != nil || info.State != journal.RunFailed {
		t.Errorf("the journal does not tell that the run was given up: %+v, %v", info, err)
	}
	out, err = m.doStretch(m.input(run, 5)) // a user has resumed it since
	if err != nil || out.State != Finished {
		t.Errorf("resumed: %+v, %v", out, err)
	}
}
