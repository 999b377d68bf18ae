package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// feed is the changes of the states of all runs, for clients that show lists. The server
// makes one; it is safe for concurrent use.
type feed struct {
	service *service.Service
	boot    string // part of the ids: another process's ids are unknown
	wake    chan struct{}

	// looking is held from reading the runs until the changes are published, so that the newer state comes last.
	looking sync.Mutex

	mu      sync.Mutex         // guards the fields below
	pending []string           // runs that have changed
	changes []*journal.RunInfo // runs after their state has changed, the newest last
	first   int64              // the number of changes[0]
	readers int
	arrived chan struct{} // closed when a change comes
	states  map[string]journal.RunStatus
	shown   []shownRun // the runs that may change, the last shown at the end
	turn    int        // the index of the shown run that is checked next
}

// shownRun is a run that a client has in a list, in that state.
type shownRun struct {
	id    string
	state journal.RunStatus
}

const (
	maxChanges = 1024
	// feedInterval is how often runs of other processes are read: the feedRuns newest, and of up to maxShown that
	// clients have in their lists shownAtOnce, in turns.
	feedInterval = 2 * time.Second
	feedRuns     = 100
	maxShown     = 200
	shownAtOnce  = 50
)

func newFeed(s *service.Service) *feed {
	return &feed{
		service: s, boot: strings.ToLower(rand.Text()[:8]), wake: make(chan struct{}, 1), first: 1,
		arrived: make(chan struct{}), states: map[string]journal.RunStatus{},
	}
}

// reportRun takes a run whose state may have changed. It does not block.
func (f *feed) reportRun(run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers == 0 { // it is missing in the list, so all ids until now are unknown
		f.first += int64(len(f.changes)) + 1
		f.changes = nil
		return
	}
	if slices.Contains(f.pending, run) {
		return
	}
	f.pending = append(f.pending, run)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// publishLoop publishes changes until ctx ends.
func (f *feed) publishLoop(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(feedInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			f.mu.Lock()
			runs := f.pending
			f.pending = nil
			f.mu.Unlock()
			for _, id := range runs {
				_ = f.lookAt(ctx, id, f.publishState) // the next read of all of them finds it
			}
		case <-ticker.C:
			if err := f.pollRuns(ctx); err != nil && ctx.Err() == nil {
				log.Warn("looking for changes of runs", "error", err)
			}
		}
	}
}

// watch takes runs that a client is shown in a list: their changes are found however old they are.
func (f *feed) watch(runs ...*journal.RunInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, info := range runs {
		f.unwatchLocked(info.ID)
		if info.State != journal.RunFinished { // that is for ever
			f.shown = append(f.shown, shownRun{info.ID, info.State})
		}
	}
	if n := len(f.shown) - maxShown; n > 0 {
		f.shown = slices.Delete(f.shown, 0, n)
	}
}

// findShownLocked returns the index of a run among those shown; -1 if it is not.
func (f *feed) findShownLocked(run string) int {
	return slices.IndexFunc(f.shown, func(s shownRun) bool { return s.id == run })
}

func (f *feed) unwatchLocked(run string) {
	if i := f.findShownLocked(run); i >= 0 {
		f.shown = slices.Delete(f.shown, i, i+1)
	}
}

// nextShown returns the runs that clients were shown whose turn it is.
func (f *feed) nextShown() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range min(len(f.shown), shownAtOnce) {
		f.turn = (f.turn + 1) % len(f.shown)
		ids = append(ids, f.shown[f.turn].id)
	}
	return ids
}

// pollRuns reads the newest runs and the runs shown to clients, if there are readers.
func (f *feed) pollRuns(ctx context.Context) error {
	f.mu.Lock()
	idle := f.readers == 0
	f.mu.Unlock()
	if idle {
		return nil
	}
	newest, err := f.lookAtNewest(ctx)
	for _, id := range f.nextShown() {
		if !newest[id] {
			err = errors.Join(err, f.lookAt(ctx, id, f.publishShown))
		}
	}
	return err
}

// lookAtNewest publishes the states of the newest runs, and returns which they are.
func (f *feed) lookAtNewest(ctx context.Context) (ids map[string]bool, err error) {
	f.looking.Lock()
	defer f.looking.Unlock()
	ids = map[string]bool{}
	var newest []*journal.RunInfo
	for info, err := range f.service.Runs(ctx, service.Principal{}, journal.RunFilter{Limit: feedRuns}) {
		if err != nil {
			return ids, err
		}
		newest, ids[info.ID] = append(newest, info), true
	}
	for _, info := range slices.Backward(newest) {
		f.publishState(info)
	}
	return ids, nil
}

// lookAt publishes the state of a run. A deleted one is not read again.
func (f *feed) lookAt(ctx context.Context, run string, publish func(*journal.RunInfo)) error {
	f.looking.Lock()
	defer f.looking.Unlock()
	info, err := f.service.Run(ctx, service.Principal{}, run)
	if calls.KindOf(err) == calls.NotFound {
		f.mu.Lock()
		f.unwatchLocked(run)
		f.mu.Unlock()
		return nil
	}
	if err == nil {
		publish(info)
	}
	return err
}

// publishShown adds a run that clients have in their lists if its state is another one than there.
func (f *feed) publishShown(info *journal.RunInfo) {
	f.mu.Lock()
	_, known := f.states[info.ID]
	isAsShown := slices.Contains(f.shown, shownRun{info.ID, info.State})
	if !known && isAsShown { // a run seen for the first time is as its readers were shown it
		f.rememberLocked(info)
	}
	f.mu.Unlock()
	f.publishState(info)
}

// rememberLocked keeps the state of a run, to see whether the next one differs.
func (f *feed) rememberLocked(info *journal.RunInfo) {
	if len(f.states) > 10*maxChanges {
		clear(f.states)
	}
	f.states[info.ID] = info.State
}

// publishState adds a run if its state is another one than before, or than in the lists of clients.
func (f *feed) publishState(info *journal.RunInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.findShownLocked(info.ID)
	isShownOtherwise := i >= 0 && f.shown[i].state != info.State
	switch {
	case i >= 0 && info.State == journal.RunFinished:
		f.shown = slices.Delete(f.shown, i, i+1)
	case i >= 0:
		f.shown[i].state = info.State
	}
	if old, known := f.states[info.ID]; known && old == info.State && !isShownOtherwise {
		return
	}
	f.rememberLocked(info)
	f.changes = append(f.changes, info)
	if n := len(f.changes) - maxChanges; n > 0 {
		f.changes = slices.Delete(f.changes, 0, n)
		f.first += int64(n)
	}
	close(f.arrived)
	f.arrived = make(chan struct{})
}

// addReader counts a reader. For the first one, changes of the time without readers are found.
func (f *feed) addReader(ctx context.Context) error {
	f.mu.Lock()
	f.readers++
	isFirst := f.readers == 1
	f.mu.Unlock()
	if !isFirst {
		return nil
	}
	if _, err := f.lookAtNewest(ctx); err != nil {
		f.removeReader()
		return err
	}
	return nil
}

// newestNumber returns the number of the newest change.
func (f *feed) newestNumber() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + int64(len(f.changes)) - 1
}

func (f *feed) removeReader() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
}

// changesAfter returns the changes after a number; known is false if some of them are gone.
func (f *feed) changesAfter(n int64) (changes []*journal.RunInfo, known bool, arrived <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := n + 1 - f.first
	if i < 0 || i > int64(len(f.changes)) {
		return nil, false, f.arrived
	}
	return slices.Clone(f.changes[i:]), true, f.arrived
}

// findPlace returns the number of the change after which a stream continues: the last one that its client knows by
// its id, or the newest. isReset is true for an id after which some changes are gone.
func (f *feed) findPlace(lastID string) (at int64, isReset bool) {
	if lastID == "" {
		return f.newestNumber(), false
	}
	n, isOwn := f.changeNumber(lastID)
	_, known, _ := f.changesAfter(n)
	if isOwn && known {
		return n, false
	}
	return f.newestNumber(), true
}

// changeID returns the id of a change.
func (f *feed) changeID(n int64) string { return f.boot + "." + strconv.FormatInt(n, 10) }

// changeNumber returns the number of an id; ok is false if it is not one of this process.
func (f *feed) changeNumber(id string) (n int64, ok bool) {
	boot, digits, _ := strings.Cut(id, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && boot == f.boot
}
