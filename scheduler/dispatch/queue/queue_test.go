package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch/queue"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// place is a journal with runs, and the processes that are there.
type place struct {
	*testing.T
	journal journal.Journal
	parts   service.Parts
	service *service.Service
	workers []*fleet.Worker
	looks   int // how often the processes were listed
}

func newPlace(t *testing.T) *place {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t, journal: journalmemory.New(time.Now)}
	p.parts = service.Parts{
		Journal: func(context.Context, bool) (journal.Journal, error) { return p.journal, nil },
		Loader: func(service.Surroundings) (*flow.Loader, []service.Note, error) {
			return &flow.Loader{Registry: registry}, nil, nil
		},
	}
	p.service = service.New(p.parts)
	return p
}

func (p *place) watch() *queue.Watch {
	return queue.New(queue.Options{Service: p.service, Default: "usual", Workers: func(context.Context) ([]*fleet.Worker, error) {
		p.looks++
		return p.workers, nil
	}})
}

// begin records a run; the returned log holds it and can release it.
func (p *place) begin(id, text string, labels map[string]string, events ...*journal.Event) journal.RunLog {
	p.Helper()
	log, err := p.journal.Begin(p.Context(), &journal.RunHeader{
		ID: id, Flow: "f", File: "f.yaml", Text: journal.FlowText{Source: []byte(text)}, Labels: labels, StartedAt: time.Now(),
	})
	if err == nil && len(events) > 0 {
		err = log.Append(p.Context(), events...)
	}
	if err != nil {
		p.Fatal(err)
	}
	return log
}

func (p *place) leave(log journal.RunLog) {
	p.Helper()
	if err := log.Close(); err != nil {
		p.Fatal(err)
	}
}

const usualFlow = "steps: [{id: a, call: template, with: {template: x}}]\n"

var (
	onTemporal = map[string]string{journal.LabelRunsOn: "temporal"}
	byServer   = map[string]string{journal.LabelOrigin: service.StartedByAPI, journal.LabelOwner: "lin"}
	childOfP   = map[string]string{journal.LabelRunsOn: "temporal", journal.LabelChildOf: "p"}
)

// Each run that waits for a process has a reason and counts in its queue; others have none.
func TestWatch(t *testing.T) {
	p := newPlace(t)
	told := func(run string, types ...*journal.Event) (all []*journal.Event) {
		for i, e := range types {
			e.Run, e.Seq, e.Time = run, int64(i+1), time.Now()
			all = append(all, e)
		}
		return all
	}
	child := &journal.Event{Type: journal.StepChild, Step: "a", Data: &journal.Data{Child: &journal.ChildInfo{Run: "c", Flow: "f", Queue: "far"}}}
	held := p.begin("p", usualFlow, onTemporal, told("p", &journal.Event{Type: journal.FlowStarted}, child)...)
	defer p.leave(held)
	p.leave(p.begin("c", usualFlow, childOfP))
	p.leave(p.begin("gpu1", "queue: gpu\n"+usualFlow, onTemporal))
	p.leave(p.begin("gpu2", "queue: gpu\n"+usualFlow, onTemporal))
	p.leave(p.begin("usual", usualFlow, onTemporal))
	p.leave(p.begin("served", usualFlow, byServer))
	p.leave(p.begin("mine", usualFlow, map[string]string{journal.LabelOrigin: "cli"}, told("mine", &journal.Event{Type: journal.FlowStarted})...))
	p.leave(p.begin("over", usualFlow, byServer, told("over", &journal.Event{Type: journal.FlowStarted}, &journal.Event{Type: journal.FlowFinished})...))
	p.workers = []*fleet.Worker{
		{State: fleet.Working, Queues: []fleet.Queue{{Name: "gpu", Slots: 1, Used: 1}, {Name: "idle", Slots: 1}}},
		{Host: "b", PID: 7, State: fleet.Working, Queues: []fleet.Queue{{Name: "far", Slots: 1}}, Left: []fleet.Left{{Run: "c", Reason: wording.Same("it lacks x")}}},
	}
	w := p.watch()
	for _, tt := range []struct {
		run, queue string
		code       fleet.Code
	}{
		{run: "p"}, {run: "mine"}, {run: "over"}, // at work, a command line's, over
		{run: "c", queue: "far", code: fleet.Missing},
		{run: "gpu1", queue: "gpu", code: fleet.Busy},
		{run: "usual", queue: "usual", code: fleet.NoWorker},
		{run: "served", queue: fleet.LocalQueue, code: fleet.NoWorker},
	} {
		info, err := p.journal.Run(t.Context(), tt.run)
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Why(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			r = &fleet.Reason{}
		}
		if r.Code != tt.code || r.Queue != tt.queue {
			t.Errorf("%s: got %s for the queue %s: %s", tt.run, r.Code, r.Queue, r.Text)
		}
	}
	if p.looks != 1 {
		t.Errorf("the processes were listed %d times", p.looks)
	}
	waiting, seconds, running := w.Values()
	for name, want := range map[string][2]float64{"far": {1, 0}, "gpu": {2, 0}, "usual": {1, 1}, fleet.LocalQueue: {1, 0}, "idle": {0, 0}} {
		if waiting[name] != want[0] || running[name] != want[1] {
			t.Errorf("%s: %v wait and %v run", name, waiting[name], running[name])
		}
		if isOld := seconds[name] > 0; isOld != (want[0] > 0) {
			t.Errorf("%s: the oldest has waited for %v s", name, seconds[name])
		}
	}
	if len(waiting) != 5 {
		t.Errorf("the queues are %v", waiting)
	}
}

// A run of other machines is not about to be taken while the server that gives it to them is away.
func TestEngineAway(t *testing.T) {
	for _, tt := range []struct {
		name   string
		labels map[string]string
		opened error
		want   fleet.Code
		asked  int
	}{
		{name: "away", labels: onTemporal, opened: calls.Errorf(calls.Provider, "connecting"), want: fleet.Away, asked: 1},
		{name: "silent", labels: onTemporal, opened: context.DeadlineExceeded, want: fleet.Away, asked: 1},
		{name: "the program for it is not here", labels: onTemporal, opened: calls.Errorf(calls.Invalid, "no program"), want: fleet.Turn, asked: 1},
		{name: "a run of servers", labels: byServer, opened: calls.Errorf(calls.Provider, "connecting"), want: fleet.Turn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			asked := 0
			p.parts.Remote = func(ctx context.Context, _ string) (service.Remote, error) {
				asked++
				if errors.Is(tt.opened, context.DeadlineExceeded) {
					<-ctx.Done()
				}
				return nil, tt.opened
			}
			p.service = service.New(p.parts)
			p.leave(p.begin("r", usualFlow, tt.labels))
			p.workers = []*fleet.Worker{{State: fleet.Working, Queues: []fleet.Queue{{Name: "usual", Slots: 1}, {Name: fleet.LocalQueue, Slots: 1}}}}
			info, err := p.journal.Run(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			w := p.watch()
			for range 3 {
				r, err := w.Why(t.Context(), info)
				if err != nil || r == nil || r.Code != tt.want {
					t.Fatalf("got %+v, %v", r, err)
				}
				if told := r.ForUser().En; r.Code == fleet.Away && strings.Contains(told, "queue") {
					t.Errorf("a user reads %s", told)
				}
			}
			if asked != tt.asked {
				t.Errorf("the server was asked %d times", asked)
			}
		})
	}
}

// A run whose process has just died does not say that this process, whose record is still there, is about to take it.
func TestJustDied(t *testing.T) {
	for _, tt := range []struct {
		name string
		pid  int
		want fleet.Code
	}{
		{name: "the only worker", pid: 7, want: fleet.NoWorker},
		{name: "another one is there", pid: 8, want: fleet.Turn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			started := &journal.Event{Run: "r", Seq: 1, Time: time.Now(), Type: journal.FlowStarted, Data: &journal.Data{Worker: &journal.Process{Host: "b", PID: 7}}}
			p.leave(p.begin("r", usualFlow, onTemporal, started))
			p.workers = []*fleet.Worker{{Host: "b", PID: tt.pid, State: fleet.Working, LastBeat: time.Now(), Queues: []fleet.Queue{{Name: "usual", Slots: 1}}}}
			info, err := p.journal.Run(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			info.Abandoned = true
			r, err := p.watch().Why(t.Context(), info)
			if err != nil || r == nil || r.Code != tt.want {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// A run whose user has all the runs at work that one user may waits for these, although slots are free.
func TestUserBusy(t *testing.T) {
	p := newPlace(t)
	defer p.leave(p.begin("first", usualFlow, byServer))
	p.leave(p.begin("second", usualFlow, byServer))
	p.workers = []*fleet.Worker{{State: fleet.Working, PerUser: 1, Queues: []fleet.Queue{{Name: fleet.LocalQueue, Slots: 9, Used: 1}}}}
	info, err := p.journal.Run(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.watch().Why(t.Context(), info)
	if err != nil || r == nil || r.Code != fleet.UserBusy {
		t.Errorf("got %+v, %v", r, err)
	}
}
