// Package queue finds the runs that wait for a process that carries them out: how many, for how long, and why. For
// example, a run of a flow with queue: gpu waits because no worker of that queue is there.
//
// A run waits when it should continue by itself and no process carries it out: it has not begun, its process died,
// or it was handed over. One that waits for values of a person, or that a command line left behind, is not in a
// queue.
package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// Options are the parts of a [Watch].
type Options struct {
	Service *service.Service
	// Workers lists the processes that carry runs out.
	Workers func(context.Context) ([]*fleet.Worker, error)
	// Default is the queue of runs of other machines whose flow names none.
	Default string
}

// Watch reads the runs that wait, and at the processes of a store. [New] makes one for the life of a process; it
// is safe for concurrent use.
type Watch struct {
	options Options

	mu      sync.Mutex        // guards the fields below
	names   map[string]string // the queues of runs, by their ids
	workers []*fleet.Worker
	listed  time.Time
	byUser  map[string]int // how many runs of each user the servers are at, as of listed
	counts  map[string]Count
	counted time.Time

	engines engineCheck
}

// engineCheck remembers which servers that give runs to workers, for example Temporal, could not be reached. Its zero
// value knows none; it is safe for concurrent use.
type engineCheck struct {
	mu    sync.Mutex // guards the fields below; held while one is asked, so that readers of many runs ask once
	away  map[string]bool
	asked map[string]time.Time
}

// isAway reports whether check fails for a server by its address, now or some seconds ago.
func (e *engineCheck) isAway(ctx context.Context, on string, check func(context.Context, string) error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if asked, ok := e.asked[on]; ok && time.Since(asked) < countsAge {
		return e.away[on]
	}
	limited, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err := check(limited, on)
	if ctx.Err() != nil {
		return false // the reader has left: the server is asked again for the next one
	}
	if e.asked == nil || len(e.asked) >= maxEngines {
		e.away, e.asked = map[string]bool{}, map[string]time.Time{}
	}
	// Other errors, for example that this machine lacks the program for it, say nothing about the server.
	e.away[on] = calls.KindOf(err) == calls.Provider || limited.Err() != nil
	e.asked[on] = time.Now()
	return e.away[on]
}

const (
	// workersAge and countsAge are how old the list of workers and the counts may be: to count, the journal is read.
	workersAge = time.Second
	countsAge  = 5 * time.Second
	// countTimeout limits the time that metrics wait for a store that is away, and readers for a server of runs.
	countTimeout = 2 * time.Second
	// maxNames bounds the runs whose queues are remembered, maxEngines the servers.
	maxNames   = 50000
	maxEngines = 100
)

// New returns a Watch.
func New(o Options) *Watch {
	return &Watch{options: o, names: map[string]string{}, byUser: map[string]int{}}
}

// Why returns why a run waits for a process; nil for a run that does not.
func (w *Watch) Why(ctx context.Context, info *journal.RunInfo) (*fleet.Reason, error) {
	isWaiting := info.State == journal.RunRunning && info.Holder == nil
	if !isWaiting {
		return nil, nil
	}
	name, ok, err := w.nameOf(ctx, info)
	if err != nil || !ok {
		return nil, err
	}
	until, died, err := dispatch.LookAfterDeath(ctx, w.options.Service, info)
	if err != nil {
		return nil, err
	}
	if until.After(time.Now()) {
		return fleet.PausedUntil(name, until), nil
	}
	workers, err := w.list(ctx)
	if err != nil {
		return nil, err
	}
	byUser, err := w.countOfUser(ctx, info, name)
	if err != nil {
		return nil, err
	}
	reason := fleet.WhyWaiting(info.ID, name, without(workers, died, info.UpdatedAt), byUser)
	on := info.Labels[journal.LabelRunsOn]
	if reason.Code == fleet.Turn && on != "" && w.engines.isAway(ctx, on, w.options.Service.CheckRemote) {
		return fleet.EngineAway(name), nil
	}
	return reason, nil
}

// without returns the processes with the one that died at a run marked as lost: its record may be some seconds older than its death. A
// process that began after the last event of the run is another one, for example in a container that was started again.
func without(workers []*fleet.Worker, died *journal.Process, lastEvent time.Time) []*fleet.Worker {
	i := slices.IndexFunc(workers, func(one *fleet.Worker) bool {
		return died != nil && one.Host == died.Host && one.PID == died.PID && !one.Since.After(lastEvent)
	})
	if i < 0 || workers[i].State == fleet.Lost {
		return workers
	}
	all := slices.Clone(workers)
	lost := *all[i]
	lost.State = fleet.Lost
	all[i] = &lost
	return all
}

// nameOf returns the queue of a run. ok is false for one that only continues when a person resumes it.
func (w *Watch) nameOf(ctx context.Context, info *journal.RunInfo) (name string, ok bool, err error) {
	if info.Labels[journal.LabelRunsOn] == "" {
		return fleet.LocalQueue, service.IsServerRun(info), nil
	}
	w.mu.Lock()
	name, ok = w.names[info.ID]
	w.mu.Unlock()
	if ok {
		return name, true, nil
	}
	found := map[string]string{}
	if parent := info.Labels[journal.LabelChildOf]; parent != "" { // the others of that run are asked for next
		found, err = w.options.Service.QueuesOfChildren(ctx, parent)
	} else {
		found[info.ID], err = w.options.Service.QueueOfRun(ctx, info)
	}
	if calls.KindOf(err) == calls.NotFound { // it was deleted meanwhile
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.names) >= maxNames {
		clear(w.names)
	}
	found[info.ID] = cmp.Or(found[info.ID], w.options.Default)
	for run, queue := range found {
		w.names[run] = cmp.Or(queue, w.options.Default)
	}
	return found[info.ID], true, nil
}

// list returns the processes that carry runs out, now or a moment ago.
func (w *Watch) list(ctx context.Context) ([]*fleet.Worker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.listed.IsZero() && time.Since(w.listed) < workersAge {
		return w.workers, nil
	}
	workers, err := w.options.Workers(ctx)
	if err != nil {
		return nil, err
	}
	w.workers, w.listed, w.byUser = workers, time.Now(), map[string]int{}
	return workers, nil
}

// countOfUser returns how many runs of a run's user the servers are at; only their queue has a limit for each user.
func (w *Watch) countOfUser(ctx context.Context, info *journal.RunInfo, queue string) (n int, err error) {
	owner, isOwned := info.Labels[journal.LabelOwner]
	if queue != fleet.LocalQueue || !isOwned {
		return 0, nil
	}
	w.mu.Lock()
	n, isKnown := w.byUser[owner]
	w.mu.Unlock()
	if isKnown {
		return n, nil
	}
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}, Labels: map[string]string{journal.LabelOwner: owner}}
	for other, err := range w.options.Service.Runs(ctx, service.Principal{}, filter) {
		if err != nil {
			return 0, err
		}
		if other.Holder != nil && other.Labels[journal.LabelRunsOn] == "" {
			n++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byUser[owner] = n
	return n, nil
}

// Count is the occupancy of a queue.
type Count struct {
	// Waiting runs have no process, Running ones have one. Oldest is since when the one that has waited longest has none; zero for none.
	Waiting, Running int
	Oldest           time.Time
}

// Counts returns how full each queue is, now or some seconds ago. Queues of processes that are there are listed when they are empty too.
func (w *Watch) Counts(ctx context.Context) (map[string]Count, error) {
	w.mu.Lock()
	counts, isFresh := w.counts, !w.counted.IsZero() && time.Since(w.counted) < countsAge
	w.mu.Unlock()
	if isFresh {
		return counts, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	counts, err := w.count(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts, w.counted = counts, time.Now()
	return counts, nil
}

func (w *Watch) count(ctx context.Context) (map[string]Count, error) {
	counts := map[string]Count{}
	workers, err := w.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, worker := range workers {
		for _, q := range worker.Queues {
			counts[q.Name] = Count{}
		}
	}
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}}
	for info, err := range w.options.Service.Runs(ctx, service.Principal{}, filter) {
		if err != nil {
			return nil, err
		}
		name, ok, err := w.nameOf(ctx, info)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		c := counts[name]
		c.add(info)
		counts[name] = c
	}
	return counts, nil
}

func (c *Count) add(info *journal.RunInfo) {
	if info.Holder != nil {
		c.Running++
		return
	}
	c.Waiting++
	since := info.TouchedAt
	if since.IsZero() {
		since = info.UpdatedAt
	}
	if c.Oldest.IsZero() || since.Before(c.Oldest) {
		c.Oldest = since
	}
}

// Values returns the numbers of each queue in the form of metrics: waiting runs, the seconds for which the oldest
// has waited, runs at work. They are empty while the store cannot be read, which readiness reports.
func (w *Watch) Values() (waiting, seconds, running map[string]float64) {
	counts, err := w.Counts(context.Background())
	if err != nil {
		return nil, nil, nil
	}
	waiting, seconds, running = map[string]float64{}, map[string]float64{}, map[string]float64{}
	for name, c := range counts {
		waiting[name], running[name], seconds[name] = float64(c.Waiting), float64(c.Running), 0
		if !c.Oldest.IsZero() {
			seconds[name] = max(0, time.Since(c.Oldest).Seconds())
		}
	}
	return waiting, seconds, running
}
