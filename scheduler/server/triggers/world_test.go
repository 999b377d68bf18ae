package triggers_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/server/triggers"
	"github.com/callnode/scheduler/scheduler/service"
)

// clock is a clock that does not advance until it is set. It is safe for concurrent use.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// project is a state directory with one flow, and the servers on it.
type project struct {
	t     *testing.T
	dir   string
	clock *clock
	// database is the URL of the store that the project shares with others; "" is its directory.
	database string
	// remote carries the runs out; nil: the servers do.
	remote *remote
	// isDown is true while no run can be looked up.
	isDown atomic.Bool
}

// fallible is a journal in which no run can be looked up while its project is down.
type fallible struct {
	journal.Journal
	project *project
}

func (f fallible) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	if f.project.isDown.Load() {
		return nil, errors.New("no connection")
	}
	return f.Journal.Run(ctx, id)
}

// remote is other machines, which do nothing. The first so many notices of a run fail.
type remote struct {
	service.Remote
	deaf    int
	started []string
	isTold  func() // called with each that is started; nil: nothing is
}

func (r *remote) Check(context.Context) error { return nil }

func (r *remote) Start(_ context.Context, run service.RemoteRun) error {
	if r.deaf > 0 {
		r.deaf--
		return errors.New("no connection")
	}
	r.started = append(r.started, run.ID)
	if r.isTold != nil {
		r.isTold()
	}
	return nil
}

// onOtherMachine returns the same flow in another directory, on the same database.
func (p *project) onOtherMachine() *project {
	p.t.Helper()
	other := &project{t: p.t, dir: p.t.TempDir(), clock: p.clock, database: p.database, remote: p.remote}
	if err := os.CopyFS(filepath.Join(other.dir, "flows"), os.DirFS(filepath.Join(p.dir, "flows"))); err != nil {
		p.t.Fatal(err)
	}
	return other
}

func (p *project) openJournal(ctx context.Context) (journal.Journal, error) {
	if p.database != "" {
		return sqljournal.OpenShared(ctx, sqljournal.SharedOptions{URL: p.database})
	}
	return sqljournal.OpenFile(ctx, p.dir, sqljournal.FileOptions{})
}

func (p *project) openStore(ctx context.Context) (*store.Store, error) {
	if p.database != "" {
		return store.OpenShared(ctx, p.database, p.clock.Now)
	}
	return store.Open(ctx, p.dir, p.clock.Now)
}

// newProject makes a project whose flow has the schedule; the text of its step is the schedule's time.
func newProject(t *testing.T, schedule, start string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), clock: &clock{}}
	p.clock.set(p.at(start))
	p.write(schedule, "{id: a, call: template, with: {template: '{{ t }}', values: {t: '{{ inputs.time }}'}}}")
	return p
}

func (p *project) write(schedule, step string) {
	p.t.Helper()
	text := "inputs: {type: object, required: [time], properties: {time: {type: string}}}\ntriggers: {schedules: [{id: s, " + schedule +
		", inputs: {time: '{{ schedule.time }}'}}]}\nsteps: [" + step + "]\n"
	if err := os.MkdirAll(filepath.Join(p.dir, "flows"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "flows", "f.yaml"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) at(text string) time.Time {
	p.t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.t.Fatal(err)
	}
	return at
}

// server is one process of a project, as far as triggers go.
type server struct {
	*triggers.Triggers
	t *testing.T
}

func (p *project) serve() *server {
	p.t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		p.t.Fatal(err)
	}
	loader := &flow.Loader{Registry: registry}
	s := service.New(service.Parts{
		Dir:    p.dir,
		Loader: func(service.Surroundings) (*flow.Loader, []service.Note, error) { return loader, nil, nil },
		Executor: func(*flow.Flow, service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
			env := calls.NewEnv()
			env.LLM = scripted.Echo{}
			return &scheduler.StepExecutor{Env: env, Loader: loader}, nil, nil
		},
		Journal: func(ctx context.Context, _ bool) (journal.Journal, error) {
			j, err := p.openJournal(ctx)
			return fallible{j, p}, err
		},
		Languages: func() *flow.Languages { return &flow.Languages{Default: "en"} },
		Remote:    func(context.Context, string) (service.Remote, error) { return p.remote, nil },
	})
	st, err := p.openStore(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	o := dispatch.Options{Limits: dispatch.Limits{Runs: 8, PerUser: 8, Queued: 100}, Recover: "own", Log: log}
	if p.remote != nil {
		o.On = "machines"
	}
	d := dispatch.New(s, o)
	p.t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		d.Close(ended)
		for _, c := range []io.Closer{s, st} {
			if err := c.Close(); err != nil {
				p.t.Error(err)
			}
		}
	})
	return &server{t: p.t, Triggers: triggers.New(triggers.Options{
		Service: s, Dispatcher: d, Library: s.NewLibrary([]string{filepath.Join(p.dir, "flows")}), Store: st, Log: log, Clock: p.clock.Now,
	})}
}

// tick makes the schedules check the time.
func (s *server) tick() {
	s.t.Helper()
	if err := s.Tick(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// waitOver waits until no run is at work.
func (s *server) waitOver() {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if active, queued := s.Dispatcher.Load(); active == 0 && queued == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatal("runs do not end")
}

// fires returns the fires from the oldest on: time and state.
func (s *server) fires() (all []string) {
	s.t.Helper()
	list, err := s.Store.LastFires(s.t.Context(), "f:s", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range slices.Backward(list) {
		text := f.At.Format("02T15:04") + " " + string(f.State)
		if f.Reason != "" {
			text += ": " + f.Reason
		}
		all = append(all, text)
	}
	return all
}

// times returns the times that the runs were started for, from the first run on.
func (s *server) times() (all []string) {
	s.t.Helper()
	for info, err := range s.Service.Runs(s.t.Context(), service.Principal{}, journal.RunFilter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		for e, err := range s.Service.Events(s.t.Context(), service.Principal{}, info.ID, 1) {
			if err != nil {
				s.t.Fatal(err)
			}
			if e.Type == journal.FlowStarted {
				at, _ := e.Data.Inputs.Get("time")
				text, _ := at.Str()
				all = append(all, text)
			}
		}
	}
	slices.Sort(all)
	return all
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}
