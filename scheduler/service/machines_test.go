package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
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
	"github.com/callnode/scheduler/scheduler/flow"
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
	refusal error                    // why they take no run; nil: they do
	deaf    error                    // why they cannot be notified of changes; nil: they can
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

// restart makes machines continue runs.
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

func (m *machines) Check(context.Context) error { return nil }

func (m *machines) Start(_ context.Context, run service.RemoteRun) error {
	if m.refusal != nil {
		return m.refusal
	}
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

// run runs the flow outer of the folder on the machines, and returns its record.
func (m *machines) run(ctx context.Context, dir string, inputs value.Value) (*journal.RunState, string, error) {
	m.t.Helper()
	f, problems, _, err := m.service.Load(ctx, filepath.Join(dir, "outer.yaml"))
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

// resume continues a run, with answers.
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

// flakyModel repeats its prompt, and fails if that has the word fails.
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

// A cassette is beside the flow, and other machines have none: a run there is neither recorded nor replayed.
func TestRecordsNotElsewhere(t *testing.T) {
	m := newMachines(t, scripted.Echo{})
	for _, mode := range []string{"record", "replay"} {
		_, _, err := m.service.NewSession(t.Context(), service.Principal{}, service.StartRequest{Flow: &flow.Flow{Name: "x"}, On: "machines", Mode: mode})
		if err == nil || !strings.Contains(err.Error(), "neither recorded nor replayed") || calls.KindOf(err) != calls.Invalid {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestRunIsRefused: a run that the other machines refuse does not wait for them: it is cancelled. One that they do
// not know, because they cannot be reached, waits until it is resumed.
func TestRunIsRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		refusal error
		want    journal.RunStatus
	}{
		{name: "refused", refusal: calls.Errorf(calls.Invalid, "the workers have another key"), want: journal.RunCancelled},
		{name: "not reached", refusal: errors.New("no connection"), want: journal.RunRunning},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachines(t, nil)
			m.refusal = test.refusal
			dir := flowsOf(t, map[string]string{"outer": "steps: [{id: a, call: template, with: {template: x}}]\n"})
			_, id, err := m.run(t.Context(), dir, value.Value{})
			if !errors.Is(err, test.refusal) {
				t.Errorf("the run ends with %v, want %v", err, test.refusal)
			}
			info, err := m.journal.Run(t.Context(), id)
			if err != nil || info.State != test.want {
				t.Errorf("the run is %+v, %v, want it %s", info, err, test.want)
			}
		})
	}
}

// heldModel answers when it is released.
type heldModel struct{ released chan struct{} }

func (m heldModel) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	select {
	case <-m.released:
		return scripted.Echo{}.Chat(ctx, req)
	case <-ctx.Done():
		return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, ctx.Err()) }
	}
}
