package sqlite

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Memory is a journal that lasts as long as its process, for tests and for runs
// that shall leave nothing behind. Its leases never run out: the process that
// holds a run is the one that has the journal.
type Memory struct {
	clock func() time.Time
	self  process

	mu    sync.Mutex
	runs  map[string]*memoryRun
	order []*memoryRun // the oldest first
	blobs blobs
}

var _ journal.Journal = (*Memory)(nil)

// memoryRun is a run; the lock of its journal guards it.
type memoryRun struct {
	info   journal.RunInfo
	header journal.RunHeader
	inputs []byte // in stored form, as are the events
	events [][]byte
	blobs  map[digest]struct{}
	holder *memoryLog
}

// NewMemory gives an empty journal. A nil clock is the machine's; it dates
// cancellations.
func NewMemory(clock func() time.Time) *Memory {
	if clock == nil {
		clock = time.Now
	}
	return &Memory{clock: clock, self: thisProcess(), runs: map[string]*memoryRun{}, blobs: blobs{}}
}

// Begin records a new run.
func (m *Memory) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	if err := checkHeader(h); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.runs[h.ID] != nil {
		return nil, errExists(h.ID)
	}
	r := &memoryRun{header: *h, blobs: map[digest]struct{}{}}
	if r.header.Mode == "" {
		r.header.Mode = journal.Sync
	}
	r.info = journal.RunInfo{
		ID: h.ID, Flow: h.Flow, State: journal.RunRunning,
		StartedAt: h.StartedAt, UpdatedAt: h.StartedAt,
	}
	found := blobs{}
	r.inputs = found.encode(h.Inputs)
	r.header.Inputs = value.Value{}
	m.keep(r, found)
	m.runs[h.ID] = r
	m.order = append(m.order, r)
	return m.hold(r), nil
}

// Reopen holds a run that exists.
func (m *Memory) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.holder != nil {
		return nil, &journal.HeldError{Run: id, Holder: r.stands().Holder}
	}
	r.info.CancelRequested = false
	return m.hold(r), nil
}

func (m *Memory) hold(r *memoryRun) *memoryLog {
	info := r.stands()
	r.info.TouchedAt = m.clock()
	r.holder = &memoryLog{journal: m, run: r, held: newHeld(&info)}
	return r.holder
}

// find is the run of that id. The journal is locked.
func (m *Memory) find(ctx context.Context, id string) (*memoryRun, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r := m.runs[id]; r != nil {
		return r, nil
	}
	return nil, errUnknown(id)
}

// keep adds the payloads of a run. The journal is locked.
func (m *Memory) keep(r *memoryRun, found blobs) {
	for d, one := range found {
		r.blobs[d] = struct{}{}
		if _, known := m.blobs[d]; !known {
			m.blobs[d] = one
		}
	}
}

// append adds events that were checked. The journal is locked.
func (m *Memory) append(r *memoryRun, events []*journal.Event) error {
	found := blobs{}
	stored := make([][]byte, len(events))
	for i, ev := range events {
		var err error
		if stored[i], err = found.encodeEvent(ev); err != nil {
			return err
		}
	}
	m.keep(r, found)
	r.info.TouchedAt = m.clock()
	r.events = append(r.events, stored...)
	for _, ev := range events {
		r.info.State, r.info.LastSeq, r.info.UpdatedAt = r.info.State.After(ev.Type), ev.Seq, ev.Time
	}
	return nil
}

// stands is how the run stands. The journal is locked.
func (r *memoryRun) stands() journal.RunInfo {
	info := r.info
	if r.holder != nil {
		self := &r.holder.journal.self
		info.Holder = &journal.Holder{PID: self.pid, Host: self.host}
	}
	return info
}

// Run is how a run stands.
func (m *Memory) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	info := r.stands()
	return &info, nil
}

// Header is what a run began with.
func (m *Memory) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	return m.header(ctx, id, false)
}

func (m *Memory) header(ctx context.Context, id string, clear bool) (*journal.RunHeader, error) {
	m.mu.Lock()
	r, err := m.find(ctx, id)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	h, inputs := r.header, r.inputs
	m.mu.Unlock()
	h.Inputs, err = m.decoder(clear).decode(inputs)
	return &h, reading(id, err)
}

func (m *Memory) decoder(clear bool) *decoder {
	return &decoder{clear: clear, get: func(d digest, secret bool) ([]byte, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.blobs.get(d, secret)
	}}
}

// Runs lists runs.
func (m *Memory) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		for _, info := range m.list(filter) {
			if !yield(&info, nil) {
				return
			}
		}
	}
}

func (m *Memory) list(filter journal.RunFilter) (found []journal.RunInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.newestFirst() {
		if len(filter.States) > 0 && !slices.Contains(filter.States, r.info.State) {
			continue
		}
		if found = append(found, r.stands()); len(found) == filter.Limit {
			break
		}
	}
	return found
}

func (m *Memory) newestFirst() []*memoryRun {
	runs := slices.Clone(m.order)
	slices.Reverse(runs)
	return runs
}

// Events are those of a run.
func (m *Memory) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	return m.events(ctx, id, from, false)
}

func (m *Memory) events(ctx context.Context, id string, from int64, clear bool) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		m.mu.Lock()
		r, err := m.find(ctx, id)
		var stored [][]byte
		if err == nil {
			stored = r.events[min(max(from-1, 0), int64(len(r.events))):]
		}
		m.mu.Unlock()
		if err != nil {
			yield(nil, err)
			return
		}
		decoder := m.decoder(clear)
		for _, one := range stored {
			ev, err := decoder.decodeEvent(one)
			if err != nil {
				yield(nil, reading(id, err))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Cancel stops a run.
func (m *Memory) Cancel(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(ctx, id)
	if err != nil {
		return err
	}
	if r.holder != nil {
		r.info.CancelRequested = true
		r.holder.stop(journal.ErrCancelRequested)
		return nil
	}
	if err := canCancel(&r.info); err != nil {
		return err
	}
	ev := cancelled(&r.info)
	ev.Time = m.clock()
	return m.append(r, []*journal.Event{ev})
}

// Prune deletes runs.
func (m *Memory) Prune(ctx context.Context, p journal.Prune) (*journal.Pruned, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	done := &journal.Pruned{Runs: []string{}}
	before := m.size()
	fit := 0
	for _, r := range m.newestFirst() {
		if info := r.stands(); !fits(&p, &info) {
			continue
		}
		if fit++; fit > p.Keep {
			done.Runs = append(done.Runs, r.info.ID)
			delete(m.runs, r.info.ID)
		}
	}
	m.order = slices.DeleteFunc(m.order, func(r *memoryRun) bool { return m.runs[r.info.ID] == nil })
	used := map[digest]struct{}{}
	for _, r := range m.order {
		for d := range r.blobs {
			used[d] = struct{}{}
		}
	}
	for d := range m.blobs {
		if _, ok := used[d]; !ok {
			delete(m.blobs, d)
		}
	}
	done.Bytes = before - m.size()
	return done, nil
}

// size is about how much memory the runs take.
func (m *Memory) size() (n int64) {
	for _, one := range m.blobs {
		n += int64(len(one.data))
	}
	for _, r := range m.order {
		for _, ev := range r.events {
			n += int64(len(ev))
		}
	}
	return n
}

// Close keeps what there is: another one may go on with it.
func (m *Memory) Close() error { return nil }

// memoryLog is a run that is held.
type memoryLog struct {
	*held
	journal *Memory
	run     *memoryRun
}

// Append adds events.
func (l *memoryLog) Append(ctx context.Context, events ...*journal.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(events); err != nil {
		l.err = err
		return err
	}
	if err := l.journal.append(l.run, events); err != nil {
		l.err = err
		return err
	}
	l.accept(events)
	return nil
}

// Revise replaces the text of the flow.
func (l *memoryLog) Revise(ctx context.Context, text journal.FlowText) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	if err := l.failed(); err != nil {
		return err
	}
	l.run.header.Text = text
	return nil
}

// Header is what the run began with.
func (l *memoryLog) Header(ctx context.Context) (*journal.RunHeader, error) {
	return l.journal.header(ctx, l.opened.ID, true)
}

// Events are those of the run.
func (l *memoryLog) Events(ctx context.Context, from int64) iter.Seq2[*journal.Event, error] {
	return l.journal.events(ctx, l.opened.ID, from, true)
}

// Close lets go of the run.
func (l *memoryLog) Close() error {
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	l.fail(errClosed(l.opened.ID))
	if l.run.holder == l {
		l.run.holder = nil
	}
	return nil
}
