package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
)

// The versions of a fleet are the versions of its present processes.
func TestVersions(t *testing.T) {
	got := fleet.Versions([]*fleet.Worker{
		{Version: "v2", State: fleet.Working}, {Version: "v1", State: fleet.Stopping}, {Version: "v2", State: fleet.Working}, {Version: "v0", State: fleet.Lost},
	})
	if !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("got %q", got)
	}
}

// A run that waits has a reason, which depends on the processes of its queue alone.
func TestWhyWaiting(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local)
	worker := func(host, queue string, used int, state fleet.State, left ...fleet.Left) *fleet.Worker {
		w := &fleet.Worker{
			Host: host, PID: 7, State: state, Queues: []fleet.Queue{{Name: "other", Slots: 9}, {Name: queue, Slots: 2, Used: used}}, LastBeat: time.Now(), Left: left,
		}
		if state == fleet.Lost {
			w.LastBeat = at
		}
		return w
	}
	silent := worker("a", "gpu", 0, fleet.Working)
	silent.LastBeat = at
	lacks := fleet.Left{Run: "r", Reason: wording.Say("no worker is there for the queue %s", "x")}
	paused := fleet.Left{Run: "r", Reason: wording.Same("the store was away"), Until: at}
	stranger := fleet.Left{Run: "another", Reason: wording.Same("x")}
	busyUser := worker("a", "gpu", 1, fleet.Working)
	busyUser.PerUser = 1
	for _, tt := range []struct {
		name    string
		workers []*fleet.Worker
		queue   string
		byUser  int
		code    fleet.Code
		en, zh  string
	}{
		{name: "nobody", code: fleet.NoWorker, en: "no worker is there for the queue gpu", zh: "队列 gpu 没有 worker"},
		{name: "another queue", workers: []*fleet.Worker{worker("a", "cpu", 0, fleet.Working)}, code: fleet.NoWorker, en: "no worker is there for the queue gpu"},
		{name: "stopping", workers: []*fleet.Worker{worker("a", "gpu", 0, fleet.Stopping)}, code: fleet.NoWorker, en: "no worker is there for the queue gpu"},
		{name: "lost", workers: []*fleet.Worker{worker("a", "gpu", 0, fleet.Lost)}, code: fleet.NoWorker, en: "no worker is there for the queue gpu (process 7 on a was there until 2026-11-28 12:00:00)"},
		{name: "silent", workers: []*fleet.Worker{silent}, code: fleet.NoWorker, en: "no worker is there for the queue gpu (process 7 on a was there until 2026-11-28 12:00:00)"},
		{name: "one is silent", workers: []*fleet.Worker{silent, worker("b", "gpu", 2, fleet.Working)}, code: fleet.Busy, en: "all slots of the queue gpu are busy (2 of 2)"},
		{name: "no server", queue: fleet.LocalQueue, code: fleet.NoWorker, en: "no server runs that carries it out"},
		{name: "busy", workers: []*fleet.Worker{worker("a", "gpu", 2, fleet.Working), worker("b", "gpu", 2, fleet.Working)}, code: fleet.Busy, en: "all slots of the queue gpu are busy (4 of 4)", zh: "队列 gpu 的名额已全部占用（4/4）"},
		{name: "servers are busy", queue: fleet.LocalQueue, workers: []*fleet.Worker{worker("a", fleet.LocalQueue, 2, fleet.Working)}, code: fleet.Busy, en: "all slots of the servers are busy (2 of 2)", zh: "服务器的名额已全部占用（2/2）"},
		{name: "a server is free", queue: fleet.LocalQueue, workers: []*fleet.Worker{worker("a", fleet.LocalQueue, 1, fleet.Working)}, code: fleet.Turn, en: "a server is about to take it", zh: "服务器即将接手"},
		{name: "one is free", workers: []*fleet.Worker{worker("a", "gpu", 2, fleet.Working), worker("b", "gpu", 1, fleet.Working)}, code: fleet.Turn, en: "a worker of the queue gpu is about to take it"},
		{name: "its user is busy", workers: []*fleet.Worker{busyUser}, byUser: 1, code: fleet.UserBusy, en: "its user has as many runs at work as one user may (1)"},
		{name: "its user is not", workers: []*fleet.Worker{busyUser}, code: fleet.Turn, en: "a worker of the queue gpu is about to take it"},
		{name: "lacks", workers: []*fleet.Worker{worker("a", "gpu", 0, fleet.Working, lacks)}, code: fleet.Missing, en: "process 7 on a cannot carry it out: no worker is there for the queue x", zh: "a 上的进程 7 无法执行它：队列 x 没有 worker"},
		{name: "all lack", workers: []*fleet.Worker{worker("a", "gpu", 0, fleet.Working, lacks), worker("b", "gpu", 0, fleet.Working, stranger, lacks)}, code: fleet.Missing, en: "none of the 2 workers of the queue gpu can carry it out; process 7 on b: no worker is there for the queue x", zh: "队列 gpu 的 2 个 worker 都无法执行它；b 上的进程 7：队列 x 没有 worker"},
		{name: "one lacks", workers: []*fleet.Worker{worker("a", "gpu", 0, fleet.Working, lacks), worker("b", "gpu", 0, fleet.Working, stranger)}, code: fleet.Turn, en: "a worker of the queue gpu is about to take it"},
		{name: "paused", workers: []*fleet.Worker{worker("a", "gpu", 2, fleet.Working, paused)}, code: fleet.Paused, en: "it was taken up in vain, and is tried again at 2026-11-28 12:00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			queue := "gpu"
			if tt.queue != "" {
				queue = tt.queue
			}
			r := fleet.WhyWaiting("r", queue, tt.workers, tt.byUser)
			if r.Code != tt.code || r.Queue != queue || r.Text.En != tt.en {
				t.Errorf("got %s for %s: %s", r.Code, r.Queue, r.Text.En)
			}
			if tt.zh != "" && r.Text.Zh != tt.zh {
				t.Errorf("in Chinese: %s", r.Text.Zh)
			}
			if (r.Code == fleet.Paused) != r.Until.Equal(at) {
				t.Errorf("it is tried again at %s", r.Until)
			}
		})
	}
}

// registry remembers the last record that was put.
type registry struct {
	mu      sync.Mutex
	records map[string]*fleet.Worker
	puts    chan *fleet.Worker
	err     error
}

func (r *registry) PutWorker(_ context.Context, w *fleet.Worker) error {
	r.mu.Lock()
	r.records[w.ID] = w
	r.mu.Unlock()
	select {
	case r.puts <- w:
	default:
	}
	return r.err
}

func (r *registry) RemoveWorker(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.records, id)
	return nil
}

func (r *registry) Workers(context.Context) ([]*fleet.Worker, error) { return nil, nil }

// A member counts the runs at work, names those that it left alone, and is gone once it stops.
func TestMember(t *testing.T) {
	m := fleet.Join(fleet.Worker{Kind: fleet.RunWorker, Queues: []fleet.Queue{{Name: "a", Slots: 3}, {Name: "b", Slots: 3}}}, func(w *fleet.Worker) { w.Version = "v1" })
	leaveA, leaveChild := m.Enter("a", false), m.Enter("b", true)
	m.Enter("unknown", false)
	m.LeaveRun("r1", wording.Same("it lacks x"), time.Time{})
	m.LeaveRun("r2", wording.Same("it lacks y"), time.Time{})
	m.TakeRun("r1")
	w := m.Record()
	used, slots := w.Slots()
	if used != 1 || slots != 6 || w.Queues[1].Children != 1 || w.Version != "v1" || w.State != fleet.Working || w.ID == "" || w.PID == 0 {
		t.Errorf("got %+v", w)
	}
	if len(w.Left) != 1 || w.Left[0].Run != "r2" {
		t.Errorf("it left %+v", w.Left)
	}
	leaveA()
	leaveA() // counts once
	leaveChild()
	if used, _ := m.Record().Slots(); used != 0 || m.Record().Queues[1].Children != 0 {
		t.Errorf("got %+v", m.Record())
	}

	r := &registry{records: map[string]*fleet.Worker{}, puts: make(chan *fleet.Worker, 1)}
	stop := m.Keep(r, slog.New(slog.DiscardHandler))
	<-r.puts
	m.Stopping() // reports that soon
	for w = <-r.puts; w.State != fleet.Stopping; {
		w = <-r.puts
	}
	stop()
	stop()
	if len(r.records) != 0 {
		t.Errorf("the record stays: %+v", r.records)
	}
}

// A registry that cannot be reached is reported once.
func TestMemberWithoutRegistry(t *testing.T) {
	var log strings.Builder
	r := &registry{records: map[string]*fleet.Worker{}, puts: make(chan *fleet.Worker, 1), err: errors.New("away")}
	m := fleet.Join(fleet.Worker{}, nil)
	stop := m.Keep(r, slog.New(slog.NewTextHandler(&log, nil)))
	<-r.puts
	m.Stopping()
	<-r.puts
	stop()
	if n := strings.Count(log.String(), "away"); n != 1 {
		t.Errorf("told %d times: %s", n, log.String())
	}
}
