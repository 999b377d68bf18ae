// Package fleet knows the processes that carry runs out: servers and workers. Each keeps a record of itself in the
// store that all of them share, so that any process can list them and say why a run waits. For example, a run of
// the queue gpu waits because the only worker of that queue was killed.
//
// The life of a record:
//
//  1. [Join] makes a [Member] when the process begins to take runs.
//  2. [Member.Keep] writes it to the [Registry], now and every [BeatInterval], as long as the process lives.
//  3. [Member.Stopping] marks a process that takes no more runs and waits for its current ones.
//  4. The stop of Keep removes it. The record of a process that was killed stays, and counts as [Lost] after
//     [LostAfter] without a beat, until the registry drops it after [ForgetAfter].
package fleet

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

const (
	// BeatInterval is how often a process reports that it is alive.
	BeatInterval = 5 * time.Second
	// LostAfter is how long a process may be silent before it counts as lost.
	LostAfter = 4 * BeatInterval
	// SilentAfter is how long a process may be silent before nothing is expected of it: runs do not say that it is about to take them.
	SilentAfter = 2 * BeatInterval
	// ForgetAfter is how long a lost process is listed.
	ForgetAfter = 24 * time.Hour
	// beatTimeout bounds how long a beat may take.
	beatTimeout = 10 * time.Second
)

// Kind is which program carries runs out.
type Kind string

// The kinds: scheduler serve, and scheduler worker.
const (
	Server    Kind = "server"
	RunWorker Kind = "worker"
)

// State is the state of a process.
type State string

// The states. A process in state Stopping takes no more runs.
const (
	Working  State = "working"
	Stopping State = "stopping"
	Lost     State = "lost"
)

// LocalQueue is the queue of runs that the servers of a store carry out themselves.
const LocalQueue = "local"

// Worker is the record of a process. A [Member] and a [Registry] make it; it is only data.
type Worker struct {
	ID      string `json:"id"`
	Kind    Kind   `json:"kind" enum:"server,worker"`
	Version string `json:"version"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	// On is the server that distributes its runs: temporal://HOST:PORT; "" for runs of this store's servers.
	On     string  `json:"on,omitempty"`
	State  State   `json:"state" enum:"working,stopping,lost"`
	Queues []Queue `json:"queues" nullable:"false"`
	// PerUser is how many runs of one user are at work at once; 0 is any number.
	PerUser  int       `json:"per_user,omitempty"`
	Since    time.Time `json:"since"`
	LastBeat time.Time `json:"last_beat"`
	// Left are runs that it has not taken, or not taken again.
	Left []Left `json:"-"`
}

// Queue is a queue that a process takes runs from.
type Queue struct {
	Name  string `json:"name"`
	Slots int    `json:"slots"`
	Used  int    `json:"used"`
	// Children are runs at work that other runs wait for: they have as many slots of their own.
	Children int `json:"children,omitempty"`
}

// Left is a run that a process has left alone.
type Left struct {
	Run    string       `json:"run"`
	Reason wording.Text `json:"reason"`
	At     time.Time    `json:"at"`
	// Until is when the process tries the run again; zero for a run that it left to others.
	Until time.Time `json:"until,omitzero"`
}

// Slots returns how many runs the process takes at once, and how many are at work.
func (w *Worker) Slots() (used, all int) {
	for _, q := range w.Queues {
		used, all = used+q.Used, all+q.Slots
	}
	return used, all
}

// Name returns the host and the process id.
func (w *Worker) Name() wording.Text {
	return wording.Say("process %d on %s", w.PID, wording.Of(w.Host))
}

// Versions returns the versions of the program that the processes have which are not lost, each once and sorted: one, unless an upgrade is
// under way or was left half done.
func Versions(workers []*Worker) (all []string) {
	for _, w := range workers {
		if w.State != Lost {
			all = append(all, w.Version)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Registry keeps the records that processes share. A store implements it; it is safe for concurrent use.
type Registry interface {
	// PutWorker writes a record. The time of its beat is taken from the registry's clock.
	PutWorker(ctx context.Context, w *Worker) error
	// RemoveWorker deletes a record. It is not an error if the record does not exist.
	RemoveWorker(ctx context.Context, id string) error
	// Workers lists the records by host, then by age. Those without a beat for [LostAfter] are [Lost].
	Workers(ctx context.Context) ([]*Worker, error)
}

// Member is the record of this process while it changes. [Join] makes one; it is safe for concurrent use.
type Member struct {
	fill func(*Worker)
	wake chan struct{}

	mu     sync.Mutex // guards the fields below
	worker Worker
	left   map[string]Left
}

const (
	// maxLeft bounds how many runs a record names that the process has left alone; keepLeft is for how long.
	maxLeft  = 100
	keepLeft = 5 * time.Minute
)

// Join returns the record of this process: w with an id, the host and the process id. fill, which may be nil, completes each
// record before it is written, for example with the slots that are used.
func Join(w Worker, fill func(*Worker)) *Member {
	w.ID, w.PID, w.State, w.Since = strings.ToLower(rand.Text()), os.Getpid(), Working, time.Now()
	w.Host, _ = os.Hostname() // "" if the machine has no name
	return &Member{fill: fill, wake: make(chan struct{}, 1), worker: w, left: map[string]Left{}}
}

// Enter counts a run at work. Call leave when it is not any more.
func (m *Member) Enter(queue string, isChild bool) (leave func()) {
	m.count(queue, isChild, 1)
	return sync.OnceFunc(func() { m.count(queue, isChild, -1) })
}

func (m *Member) count(queue string, isChild bool, n int) {
	defer m.Refresh()
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.worker.Queues, func(q Queue) bool { return q.Name == queue })
	switch {
	case i < 0:
	case isChild:
		m.worker.Queues[i].Children += n
	default:
		m.worker.Queues[i].Used += n
	}
}

// LeaveRun notes why a run was left alone; until is when it is tried again here, zero for never.
func (m *Member) LeaveRun(run string, reason wording.Text, until time.Time) {
	m.mu.Lock()
	m.left[run] = Left{Run: run, Reason: reason, At: time.Now(), Until: until}
	m.mu.Unlock()
	m.Refresh()
}

// TakeRun forgets why a run was left alone: it is at work.
func (m *Member) TakeRun(run string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.left, run)
}

// Refresh writes the record soon, because something about the process has changed, for example how many slots are used.
func (m *Member) Refresh() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Stopping marks that the process takes no more runs.
func (m *Member) Stopping() {
	m.mu.Lock()
	m.worker.State = Stopping
	m.mu.Unlock()
	m.Refresh()
}

// Record returns the record as it is now.
func (m *Member) Record() *Worker {
	m.mu.Lock()
	w := m.worker
	w.Queues = slices.Clone(w.Queues)
	maps.DeleteFunc(m.left, func(_ string, l Left) bool { return time.Since(later(l.At, l.Until)) > keepLeft })
	w.Left = slices.Collect(maps.Values(m.left))
	m.mu.Unlock()
	if m.fill != nil {
		m.fill(&w)
	}
	slices.SortFunc(w.Left, func(a, b Left) int { return b.At.Compare(a.At) })
	w.Left = w.Left[:min(len(w.Left), maxLeft)]
	return &w
}

// Load returns how many slots of each queue are used, and how many there are, as metrics have them.
func (m *Member) Load() (used, all map[string]float64) {
	used, all = map[string]float64{}, map[string]float64{}
	for _, q := range m.Record().Queues {
		used[q.Name], all[q.Name] = float64(q.Used), float64(q.Slots)
	}
	return used, all
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Keep writes the record now and every [BeatInterval], and logs failures of the registry. stop removes it.
func (m *Member) Keep(registry Registry, log *slog.Logger) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		m.beat(registry, log, quit)
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-done
		ctx, cancel := context.WithTimeout(context.Background(), beatTimeout)
		defer cancel()
		if err := registry.RemoveWorker(ctx, m.worker.ID); err != nil {
			log.Warn("this process stays in the list of workers", "error", err)
		}
	})
}

// beat writes the record until quit is closed. Changes in between are written after minBeat at the earliest.
func (m *Member) beat(registry Registry, log *slog.Logger, quit <-chan struct{}) {
	const minBeat = time.Second
	isSilent := false
	for {
		ctx, cancel := context.WithTimeout(context.Background(), beatTimeout)
		err := registry.PutWorker(ctx, m.Record())
		cancel()
		if err != nil && !isSilent {
			log.Warn("this process cannot tell that it is alive", "error", err)
		}
		isSilent = err != nil
		select {
		case <-quit:
			return
		case <-time.After(minBeat):
		}
		select {
		case <-quit:
			return
		case <-m.wake:
		case <-time.After(BeatInterval - minBeat):
		}
	}
}
