package triggers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/pgdb/pgdbtest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalpostgres "github.com/callnode/scheduler/scheduler/journal/postgres"
	journalsqlite "github.com/callnode/scheduler/scheduler/journal/sqlite"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/server/triggers"
	"github.com/callnode/scheduler/scheduler/service"
)

// clock is a clock that stands until it is set. It is safe for concurrent use.
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
}

// remote is other machines, which do nothing. The first so many times they cannot be told of a run.
type remote struct {
	service.Remote
	deaf    int
	started []string
}

func (r *remote) Start(_ context.Context, run service.RemoteRun) error {
	if r.deaf > 0 {
		r.deaf--
		return errors.New("no connection")
	}
	r.started = append(r.started, run.ID)
	return nil
}

// onOtherMachine returns the same flow in another directory, on the same database.
func (p *project) onOtherMachine() *project {
	p.t.Helper()
	other := *p
	other.dir = p.t.TempDir()
	if err := os.CopyFS(filepath.Join(other.dir, "flows"), os.DirFS(filepath.Join(p.dir, "flows"))); err != nil {
		p.t.Fatal(err)
	}
	return &other
}

func (p *project) openJournal(ctx context.Context) (journal.Journal, error) {
	if p.database != "" {
		return journalpostgres.Open(ctx, journalpostgres.Options{URL: p.database})
	}
	return journalsqlite.Open(ctx, p.dir, journalsqlite.Options{})
}

func (p *project) openStore(ctx context.Context) (*store.Store, error) {
	if p.database != "" {
		return store.OpenShared(ctx, p.database, p.clock.Now)
	}
	return store.Open(ctx, p.dir, p.clock.Now)
}

// newProject makes a project whose flow has the schedule; the text of its step is that of the
// schedule's time.
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
			return &scheduler.StepExecutor{Env: env, Loader: loader, Provider: func(string) (llm.Provider, error) { return scripted.Echo{}, nil }}, nil, nil
		},
		Journal:   func(ctx context.Context, _ bool) (journal.Journal, error) { return p.openJournal(ctx) },
		Languages: func() *flow.Languages { return &flow.Languages{Default: "en"} },
		Remote:    func(context.Context, string) (service.Remote, error) { return p.remote, nil },
	})
	st, err := p.openStore(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	o := service.DispatcherOptions{Limits: service.Limits{Runs: 8, PerUser: 8, Queued: 100}, Recover: "own", Log: log}
	if p.remote != nil {
		o.On = "machines"
	}
	d := s.NewDispatcher(o)
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

// tick lets the schedules look at the time.
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

// TestClockChanges passes the days on which the clocks change, second by second around the
// change, on two servers: each fire has one run.
func TestClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, start string
		hours           int
		want            []string
	}{
		"spring, a skipped time": {"cron: 30 2 * * *, timezone: America/New_York, overlap: parallel", "2026-03-08T05:00:00Z", 30, []string{
			"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00",
		}},
		"autumn, a repeated time": {"cron: 30 1 * * *, timezone: America/New_York, overlap: parallel", "2026-11-01T04:00:00Z", 27, []string{
			"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00",
		}},
		"autumn, every hour": {"cron: 30 * * * *, timezone: America/New_York, overlap: parallel", "2026-11-01T05:00:00Z", 3, []string{
			"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, c.schedule, c.start)
			a, b := p.serve(), p.serve()
			a.tick()
			for i := range c.hours * 60 {
				p.clock.set(p.at(c.start).Add(time.Duration(i) * time.Minute))
				if i%2 == 0 {
					a, b = b, a
				}
				a.tick()
				b.tick()
			}
			a.waitOver()
			b.waitOver()
			equal(t, "runs", a.times(), c.want...)
		})
	}
}

// Two servers look at the same time at once, again and again: on one state directory, and on
// two machines with one database.
func TestTwoServersFireOnce(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		p := newProject(t, everyMinute, "2026-11-23T07:00:30Z")
		testFireOnce(t, p, p.serve(), p.serve())
	})
	t.Run("database", func(t *testing.T) {
		url := pgdbtest.NewURL(t)
		p := newProject(t, everyMinute, "2026-11-23T07:00:30Z")
		p.database = url
		testFireOnce(t, p, p.serve(), p.onOtherMachine().serve())
	})
}

const everyMinute = "cron: '* * * * *', overlap: parallel"

func testFireOnce(t *testing.T, p *project, servers ...*server) {
	t.Helper()
	servers[0].tick()
	const minutes = 20
	for i := range minutes {
		p.clock.set(p.at("2026-11-23T07:01:00Z").Add(time.Duration(i) * time.Minute))
		var both sync.WaitGroup
		for _, s := range servers {
			both.Go(func() {
				if err := s.Tick(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	for _, s := range servers {
		s.waitOver()
	}
	var want []string
	for i := range minutes {
		want = append(want, fmt.Sprintf("2026-11-23T07:%02d:00Z", i+1))
	}
	equal(t, "runs", servers[0].times(), want...)
}

// TestCatchUp makes up for what no server has seen, as the schedule wants it.
func TestCatchUp(t *testing.T) {
	for name, c := range map[string]struct {
		catchUp string
		want    []string
		fires   []string
	}{
		"skip": {"skip", nil, []string{"23T10:00 skipped: no server was there (catch_up: skip, fires missed: 3)"}},
		"last": {"last", []string{"2026-11-23T10:00:00Z"}, []string{"23T10:00 started"}},
		"all":  {"all", []string{"2026-11-23T08:00:00Z", "2026-11-23T09:00:00Z", "2026-11-23T10:00:00Z"}, []string{"23T08:00 started", "23T09:00 started", "23T10:00 started"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, "cron: 0 * * * *, overlap: parallel, catch_up: "+c.catchUp, "2026-11-23T07:30:00Z")
			p.serve().tick()
			p.clock.set(p.at("2026-11-23T10:30:00Z"))
			s := p.serve() // the next process
			s.tick()
			s.tick()
			s.waitOver()
			equal(t, "runs", s.times(), c.want...)
			for i, text := range s.fires() { // whether a run is known to be over depends on its pace
				if want := c.fires[i]; strings.ReplaceAll(text, " over", " started") != want {
					t.Errorf("fire %d is %s, want %s", i, text, want)
				}
			}
		})
	}
}

// A paused schedule makes up for nothing.
func TestPause(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *, catch_up: all, overlap: parallel", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	if err := s.Store.PauseSchedule(t.Context(), "f:s", true); err != nil {
		t.Fatal(err)
	}
	p.clock.set(p.at("2026-11-23T09:30:00Z"))
	s.tick()
	if err := s.Store.PauseSchedule(t.Context(), "f:s", false); err != nil {
		t.Fatal(err)
	}
	s.tick()
	p.clock.set(p.at("2026-11-23T10:00:00Z"))
	s.tick()
	s.waitOver()
	equal(t, "fires", s.fires(), "23T10:00 started")
}

// waiting is a step that waits for a value, so that its run is not over.
const waiting = "{id: a, call: slot, with: {current_schema: {type: object, required: [x], properties: {x: {type: string}}}, stages: []}}"

// TestOverlap fires while the run before waits.
func TestOverlap(t *testing.T) {
	for overlap, want := range map[string][]string{
		"skip":     {"23T08:00 started", "23T09:00 skipped: the run FIRST is not over (overlap: skip)"},
		"queue":    {"23T08:00 started", "23T09:00 queued"},
		"parallel": {"23T08:00 started", "23T09:00 started"},
		"cancel":   {"23T08:00 started", "23T09:00 started"},
	} {
		t.Run(overlap, func(t *testing.T) {
			p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
			p.write("cron: 0 * * * *, overlap: "+overlap, waiting)
			s := p.serve()
			s.tick()
			for _, at := range []string{"2026-11-23T08:00:00Z", "2026-11-23T09:00:00Z"} {
				p.clock.set(p.at(at))
				s.tick()
				s.waitOver()
			}
			list, err := s.Store.LastFires(t.Context(), "f:s", 2)
			if err != nil {
				t.Fatal(err)
			}
			first, second := list[1], list[0]
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "FIRST", first.Run)
			}
			equal(t, "fires", s.fires(), want...)
			info, err := s.Service.Run(t.Context(), service.Principal{}, first.Run)
			if wantState := map[bool]journal.RunStatus{true: journal.RunCancelled, false: journal.RunWaiting}[overlap == "cancel"]; err != nil || info.State != wantState {
				t.Errorf("the first run is %v, %v, want %s", info, err, wantState)
			}
			if overlap != "queue" {
				return
			}
			if err := s.Dispatcher.Cancel(t.Context(), service.Principal{}, first.Run); err != nil {
				t.Fatal(err)
			}
			s.tick()
			s.waitOver()
			if info, err = s.Service.Run(t.Context(), service.Principal{}, second.Run); err != nil || info.State != journal.RunWaiting {
				t.Errorf("after the first run the queued one is %v, %v", info, err)
			}
			equal(t, "fires", s.fires(), "23T08:00 over", "23T09:00 started")
		})
	}
}

// TestCancelLateFire: with overlap cancel, a fire whose run has not begun yet, as the queue was full, gives way to
// the next one too.
func TestCancelLateFire(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T08:30:00Z")
	p.write("cron: 0 * * * *, overlap: cancel", waiting)
	s := p.serve()
	s.tick()
	late := &store.Fire{Schedule: "f:s", Key: "late", At: p.at("2026-11-23T08:00:00Z"), Run: service.NewRunID(), State: store.FireStarting}
	if added, err := s.Store.AddFire(t.Context(), late, true); err != nil || !added {
		t.Fatal(added, err)
	}
	p.clock.set(p.at("2026-11-23T09:00:00Z"))
	s.tick()
	s.waitOver()
	equal(t, "fires", s.fires(), "23T08:00 skipped: a later fire has come (overlap: cancel)", "23T09:00 started")
	equal(t, "runs", s.times(), "2026-11-23T09:00:00Z")
}

// TestCancelAfterCrash: with overlap cancel, who takes up a fire that a process has left cancels the run before too.
func TestCancelAfterCrash(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
	p.write("cron: 0 * * * *, overlap: cancel", waiting)
	s := p.serve()
	s.tick()
	p.clock.set(p.at("2026-11-23T08:00:00Z"))
	s.tick()
	s.waitOver()
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	p.clock.set(p.at("2026-11-23T09:00:05Z")) // the fire of 9 o'clock is late
	if _, err := s.FireNow(t.Context(), schedule); err != nil {
		t.Fatal(err)
	}
	s.waitOver()
	left := &store.Fire{Schedule: "f:s", Key: "left", At: p.at("2026-11-23T09:00:00Z"), Run: service.NewRunID(), State: store.FireStarting}
	if added, err := s.Store.AddFire(t.Context(), left, true); err != nil || !added {
		t.Fatal(added, err)
	}
	p.clock.set(p.at("2026-11-23T09:00:15Z"))
	s.tick()
	s.waitOver()
	list, err := s.Store.LastFires(t.Context(), "f:s", 9)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for _, f := range list {
		want := map[bool]journal.RunStatus{true: journal.RunWaiting, false: journal.RunCancelled}[f.Key == left.Key]
		if info, err := s.Service.Run(t.Context(), service.Principal{}, f.Run); err != nil || info.State != want {
			t.Errorf("the run of %s is %+v, %v", f.At, info, err)
		}
	}
}

// TestUntold: a run of a fire that other machines could not be told of is begun once they can.
func TestUntold(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
	p.remote = &remote{deaf: 2}
	s := p.serve()
	s.tick()
	p.clock.set(p.at("2026-11-23T08:00:00Z"))
	s.tick()
	equal(t, "fires", s.fires(), "23T08:00 starting")
	p.clock.set(p.at("2026-11-23T08:00:10Z"))
	if err := s.Tick(t.Context()); err == nil {
		t.Error("nothing tells that the machines are still not reached")
	}
	for range 2 {
		p.clock.set(p.clock.Now().Add(10 * time.Second))
		s.tick()
	}
	equal(t, "fires", s.fires(), "23T08:00 started")
	if len(p.remote.started) != 1 {
		t.Errorf("started are %v", p.remote.started)
	}
}

// TestCrash leaves fires as a process does that dies before the run, or between the run and
// the row that tells of it: another one begins the run, once.
func TestCrash(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *, overlap: parallel", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	add := func(run string) *store.Fire {
		t.Helper()
		f := &store.Fire{Schedule: "f:s", Key: run, At: p.at("2026-11-23T08:00:00Z"), Run: run, State: store.FireStarting}
		if added, err := s.Store.AddFire(t.Context(), f, true); err != nil || !added {
			t.Fatal(added, err)
		}
		return f
	}
	before := add(service.NewRunID())
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FireNow(t.Context(), schedule); err != nil {
		t.Fatal(err)
	}
	s.waitOver()
	list, err := s.Store.LastFires(t.Context(), "f:s", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list { // as if the row had not been written after the run of FireNow
		if !strings.HasPrefix(f.Key, "now ") {
			continue
		}
		if err := s.Store.SetFire(t.Context(), f, store.FireStarting, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.tick()
	s.waitOver()
	if _, err := s.Service.Run(t.Context(), service.Principal{}, before.Run); err == nil {
		t.Error("the run begins while the process that recorded it may still be at it")
	}
	p.clock.set(p.at("2026-11-23T07:30:20Z"))
	other := p.serve()
	other.tick()
	other.waitOver()
	other.tick()
	other.waitOver()
	info, err := other.Service.Run(t.Context(), service.Principal{}, before.Run)
	if err != nil || info.State != journal.RunFinished {
		t.Errorf("the run that had not begun is %v, %v", info, err)
	}
	if got := other.times(); len(got) != 2 {
		t.Errorf("the runs are %v", got)
	}
	for _, text := range other.fires() {
		if !strings.HasSuffix(text, "started") && !strings.HasSuffix(text, "over") {
			t.Errorf("a fire is %s", text)
		}
	}
}

// What cannot run is told, and does not come again.
func TestFailure(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	file := filepath.Join(p.dir, "flows", "f.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.ReplaceAll(string(text), "{type: string}", "{type: string, maxLength: 3}")
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.clock.set(p.clock.Now().Add(30 * time.Minute))
		s.tick()
	}
	got := s.fires()
	if len(got) != 2 || !strings.HasPrefix(got[0], "23T08:00 failed: the inputs do not fit the flow") {
		t.Errorf("the fires are %v", got)
	}
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FireNow(t.Context(), schedule); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a fire by hand: %v", err)
	}
}

// TestForeignFire leaves a fire of a schedule that this server does not have to another one,
// which has it; one that no server takes up is given up after a day.
func TestForeignFire(t *testing.T) {
	url := pgdbtest.NewURL(t)
	p := newProject(t, "cron: 0 * * * *, overlap: parallel", "2026-11-23T07:30:00Z")
	p.database = url
	other := p.onOtherMachine()
	if err := os.Remove(filepath.Join(other.dir, "flows", "f.yaml")); err != nil {
		t.Fatal(err)
	}
	has, lacks := p.serve(), other.serve()
	has.tick()
	add := func(schedule string) *store.Fire {
		t.Helper()
		f := &store.Fire{Schedule: schedule, Key: "k", At: p.clock.Now(), Run: service.NewRunID(), State: store.FireStarting}
		if added, err := has.Store.AddFire(t.Context(), f, true); err != nil || !added {
			t.Fatal(added, err)
		}
		return f
	}
	known := add("f:s")
	add("gone:s")
	p.clock.set(p.clock.Now().Add(time.Minute))
	for _, s := range []*server{lacks, has} {
		s.tick()
		s.waitOver()
	}
	if info, err := lacks.Service.Run(t.Context(), service.Principal{}, known.Run); err != nil || info.State != journal.RunFinished {
		t.Errorf("the run of the fire is %v, %v", info, err)
	}
	states := func() (states []store.FireState) {
		t.Helper()
		fires, err := lacks.Store.LastFires(t.Context(), "gone:s", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fires {
			states = append(states, f.State)
		}
		return states
	}
	if got := states(); !slices.Equal(got, []store.FireState{store.FireStarting}) {
		t.Errorf("the fire without a schedule is %v", got)
	}
	p.clock.set(p.clock.Now().Add(25 * time.Hour))
	lacks.tick()
	if got := states(); !slices.Equal(got, []store.FireState{store.FireFailed}) {
		t.Errorf("a day later the fire without a schedule is %v", got)
	}
}
