// Package memory keeps a [journal.Journal] in memory, as long as its process lives, for example for tests.
package memory

import (
	"context"
	"crypto/rand"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Journal is a journal that lasts as long as its process, for tests and for runs
// that leave nothing behind. Its leases never run out: the process that holds a run
// is the one that has the journal. It is safe for concurrent use.
type Journal struct {
	clock func() time.Time
	self  stored.Process

	id string

	mu    sync.Mutex
	begun int // runs, including deleted ones
	runs  map[string]*run
	order []*run // the oldest first
	blobs stored.Blobs
}

var _ journal.Journal = (*Journal)(nil)

// run is a run; the lock of its journal guards it.
type run struct {
	number int // by which its journal orders it
	info   journal.RunInfo
	header journal.RunHeader
	inputs []byte // in stored form, as are the events
	// conversation is nil for none.
	conversation []byte
	events       [][]byte
	blobs        map[stored.Digest]struct{}
	heldSince    time.Time
	holder       *runLog
}

// New returns an empty journal. A nil clock is the machine's; it dates
// cancellations.
func New(clock func() time.Time) *Journal {
	if clock == nil {
		clock = time.Now
	}
	return &Journal{clock: clock, self: stored.ThisProcess(), id: rand.Text(), runs: map[string]*run{}, blobs: stored.Blobs{}}
}

// Begin records a new run.
func (m *Journal) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	if err := stored.CheckHeader(h); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.runs[h.ID] != nil {
		return nil, stored.ErrExists(h.ID)
	}
	m.begun++
	r := &run{number: m.begun, header: *h, blobs: map[stored.Digest]struct{}{}}
	r.header.Labels = maps.Clone(h.Labels)
	if r.header.Mode == "" {
		r.header.Mode = journal.Sync
	}
	r.info = journal.RunInfo{
		ID: h.ID, Flow: h.Flow, State: journal.RunRunning, Labels: r.header.Labels, Cursor: strconv.Itoa(r.number),
		StartedAt: h.StartedAt, UpdatedAt: h.StartedAt,
	}
	found := stored.Blobs{}
	r.inputs = found.Encode(h.Inputs)
	r.conversation = found.EncodeConversation(h.Conversation)
	r.header.Inputs, r.header.Conversation = value.Value{}, value.Value{}
	m.keepBlobsLocked(r, found)
	m.runs[h.ID] = r
	m.order = append(m.order, r)
	return m.holdRun(r), nil
}

// Reopen holds a run that exists.
func (m *Journal) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.findRunLocked(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.holder != nil {
		return nil, &journal.HeldError{Run: id, Holder: r.infoLocked().Holder}
	}
	r.info.CancelRequested = false
	return m.holdRun(r), nil
}

func (m *Journal) holdRun(r *run) *runLog {
	info := r.infoLocked()
	r.heldSince = m.clock()
	r.info.TouchedAt = r.heldSince
	r.holder = &runLog{journal: m, run: r, LogState: stored.NewLogState(&info)}
	return r.holder
}

// findRunLocked returns the run of that id. The journal is locked.
func (m *Journal) findRunLocked(ctx context.Context, id string) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r := m.runs[id]; r != nil {
		return r, nil
	}
	return nil, stored.ErrUnknown(id)
}

// keepBlobsLocked adds the payloads of a run. The journal is locked.
func (m *Journal) keepBlobsLocked(r *run, found stored.Blobs) {
	for d, one := range found {
		r.blobs[d] = struct{}{}
		if _, known := m.blobs[d]; !known {
			m.blobs[d] = one
		}
	}
}

// appendLocked adds events that were checked. The journal is locked.
func (m *Journal) appendLocked(r *run, events []*journal.Event) error {
	found := stored.Blobs{}
	stored := make([][]byte, len(events))
	for i, ev := range events {
		var err error
		stored[i], err = found.EncodeEvent(ev)
		if err != nil {
			return err
		}
	}
	m.keepBlobsLocked(r, found)
	r.info.TouchedAt = m.clock()
	r.events = append(r.events, stored...)
	for _, ev := range events {
		r.info.State, r.info.LastSeq, r.info.UpdatedAt = r.info.State.After(ev.Type), ev.Seq, ev.Time
		r.info.Summary = r.info.Summary.After(ev)
	}
	return nil
}

// infoLocked returns the state of the run. The journal is locked.
func (r *run) infoLocked() journal.RunInfo {
	info := r.info
	if r.holder != nil {
		self := &r.holder.journal.self
		info.Holder = &journal.Holder{PID: self.PID, Host: self.Host, Since: r.heldSince}
	}
	return info
}

// Run returns the state of a run.
func (m *Journal) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.findRunLocked(ctx, id)
	if err != nil {
		return nil, err
	}
	info := r.infoLocked()
	return &info, nil
}

// Header returns a run's header.
func (m *Journal) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	return m.readHeader(ctx, id, false)
}

func (m *Journal) readHeader(ctx context.Context, id string, clear bool) (*journal.RunHeader, error) {
	m.mu.Lock()
	r, err := m.findRunLocked(ctx, id)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	h, inputs, conversation := r.header, r.inputs, r.conversation
	m.mu.Unlock()
	h.Inputs, err = m.newDecoder(clear).Decode(inputs)
	if err == nil {
		h.Conversation, err = m.newDecoder(clear).DecodeConversation(conversation)
	}
	return &h, stored.WrapReadError(id, err)
}

func (m *Journal) newDecoder(clear bool) *stored.Decoder {
	return &stored.Decoder{WithMedia: clear, Get: func(d stored.Digest, secret bool) ([]byte, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.blobs.Get(d, secret)
	}}
}

// Runs lists runs.
func (m *Journal) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		infos, err := m.listRuns(filter)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, info := range infos {
			if !yield(&info, nil) {
				return
			}
		}
	}
}

func (m *Journal) listRuns(filter journal.RunFilter) (found []journal.RunInfo, err error) {
	after, downTo, err := stored.ParseCursors(&filter)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.newestFirst() {
		isWithin := int64(r.number) < after && int64(r.number) > downTo
		if !isWithin || !filter.Matches(&r.info) {
			continue
		}
		found = append(found, r.infoLocked())
		if len(found) == filter.Limit {
			break
		}
	}
	return found, nil
}

func (m *Journal) newestFirst() []*run {
	runs := slices.Clone(m.order)
	slices.Reverse(runs)
	return runs
}

// Events returns the events of a run.
func (m *Journal) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	return m.readEvents(ctx, id, from, false)
}

func (m *Journal) readEvents(ctx context.Context, id string, from int64, clear bool) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		m.mu.Lock()
		r, err := m.findRunLocked(ctx, id)
		var encoded [][]byte
		if err == nil {
			encoded = r.events[min(max(from-1, 0), int64(len(r.events))):]
		}
		m.mu.Unlock()
		if err != nil {
			yield(nil, err)
			return
		}
		decoder := m.newDecoder(clear)
		for _, one := range encoded {
			ev, err := decoder.DecodeEvent(one)
			if err != nil {
				yield(nil, stored.WrapReadError(id, err))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Subscribe returns nil: there are no other processes.
func (*Journal) Subscribe(string) (noticed <-chan struct{}, stop func()) { return nil, func() {} }

// Follow yields the events of a run, including future ones.
func (m *Journal) Follow(ctx context.Context, id string, after int64) iter.Seq2[*journal.Event, error] {
	return stored.Follow(ctx, m, id, after)
}

// ID names the journal.
func (m *Journal) ID(ctx context.Context) (string, error) { return m.id, ctx.Err() }

// CheckWritable reports no error: there is always room.
func (m *Journal) CheckWritable(ctx context.Context) error { return ctx.Err() }

// Cancel stops a run.
func (m *Journal) Cancel(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.findRunLocked(ctx, id)
	if err != nil {
		return err
	}
	if r.holder != nil {
		r.info.CancelRequested = true
		r.holder.Stop(journal.ErrCancelRequested)
		return nil
	}
	if err := stored.CheckCancel(&r.info); err != nil {
		return err
	}
	return m.appendCancelledLocked(r)
}

// appendCancelledLocked ends a run that no process holds. The journal is locked.
func (m *Journal) appendCancelledLocked(r *run) error {
	ev := stored.NewCancelledEvent(&r.info)
	ev.Time = m.clock()
	return m.appendLocked(r, []*journal.Event{ev})
}

// Release refuses to take a run from its holder, which is this process.
func (m *Journal) Release(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.findRunLocked(ctx, id)
	if err != nil || r.holder == nil {
		return err
	}
	return stored.ErrAlive(id, r.infoLocked().Holder)
}

// Prune deletes runs.
func (m *Journal) Prune(ctx context.Context, p journal.Prune) (*journal.Pruned, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	done := &journal.Pruned{Runs: []string{}}
	before := m.approximateSize()
	var all []*journal.RunInfo
	for _, r := range m.newestFirst() {
		info := r.infoLocked()
		all = append(all, &info)
	}
	for _, id := range p.Pick(all) {
		done.Runs = append(done.Runs, id)
		delete(m.runs, id)
	}
	m.order = slices.DeleteFunc(m.order, func(r *run) bool { return m.runs[r.info.ID] == nil })
	used := map[stored.Digest]struct{}{}
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
	done.Bytes = before - m.approximateSize()
	return done, nil
}

// approximateSize is about how much memory the runs take.
func (m *Journal) approximateSize() (n int64) {
	for _, one := range m.blobs {
		n += int64(len(one.Data))
	}
	for _, r := range m.order {
		for _, ev := range r.events {
			n += int64(len(ev))
		}
	}
	return n
}

// Close keeps the runs: another Journal may continue with them.
func (m *Journal) Close() error { return nil }

// runLog is a run that is held.
type runLog struct {
	*stored.LogState
	journal *Journal
	run     *run
}

// Append adds events.
func (l *runLog) Append(ctx context.Context, events ...*journal.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	l.Lock()
	defer l.Unlock()
	if err := l.CheckLocked(events); err != nil {
		l.ErrLocked = err
		return err
	}
	if err := l.journal.appendLocked(l.run, events); err != nil {
		l.ErrLocked = err
		return err
	}
	l.AcceptLocked(events)
	return nil
}

// Revise replaces the text of the flow.
func (l *runLog) Revise(ctx context.Context, text journal.FlowText) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	if err := l.Failed(); err != nil {
		return err
	}
	l.run.header.Text = text
	return nil
}

// Header returns the run's header.
func (l *runLog) Header(ctx context.Context) (*journal.RunHeader, error) {
	return l.journal.readHeader(ctx, l.Opened.ID, true)
}

// Events returns the events of the run.
func (l *runLog) Events(ctx context.Context, from int64) iter.Seq2[*journal.Event, error] {
	return l.journal.readEvents(ctx, l.Opened.ID, from, true)
}

// Close releases the run.
func (l *runLog) Close() error {
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	l.Fail(stored.ErrClosed(l.Opened.ID))
	if l.run.holder != l {
		return nil
	}
	l.run.holder = nil
	if l.run.info.CancelRequested && stored.CheckCancel(&l.run.info) == nil {
		return l.journal.appendCancelledLocked(l.run)
	}
	return nil
}
