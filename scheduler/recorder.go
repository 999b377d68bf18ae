package scheduler

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// recorder is a goroutine that hands the events of a run to its journal, all that
// have come up in the meantime at once, and then to the reader, who sees nothing that
// a crash could undo. What must not happen before an event is safe waits for it here.
// The lock is the stream's.
type recorder struct {
	stream *stream
	log    journal.RunLog
	run    *run
	// unsaved have come up since the last write; writing is how many are on their
	// way.
	unsaved, spare []*journal.Event
	writing        int
	// due: what is unsaved is to be written now; arrived tells of it. linger makes it
	// due where nothing else does.
	due     bool
	arrived sync.Cond
	linger  *time.Timer
	// saved is the Seq of the last event that was written; written tells of each write.
	saved   int64
	written sync.Cond
	// releases wait for the end of a step to be safe, in the order of seq.
	releases []release
	err      error
	done     chan struct{}
	// async: a write that returned is not safe yet.
	async bool

	texts sync.Mutex
	text  journal.FlowText // what the journal has
}

// release lets the steps begin that need a step which has ended, or the next item of
// one.
type release struct {
	run  *run
	step int
	seq  int64
	item bool
}

// newRecorder records into the log of a run that began with the header; text is
// what the journal has of its flow.
func newRecorder(r *run, log journal.RunLog, header *journal.RunHeader, text journal.FlowText) *recorder {
	rec := &recorder{
		stream: r.stream, log: log, run: r, done: make(chan struct{}), async: header.Mode == journal.Async, text: text,
	}
	rec.arrived.L, rec.written.L = r.stream, r.stream
	rec.linger = time.AfterFunc(time.Hour, func() {
		r.stream.Lock()
		defer r.stream.Unlock()
		rec.writeSoonLocked()
	})
	return rec
}

// lingering is how long events wait for company that no step waits for: a step that
// takes no longer costs one write. maxLingering is how many may.
const (
	lingering    = 30 * time.Millisecond
	maxLingering = 512
)

func (rec *recorder) unsavedCount() int { return len(rec.unsaved) + rec.writing }

// addLocked takes an event. The stream is locked.
func (rec *recorder) addLocked(ev *journal.Event) {
	rec.unsaved = append(rec.unsaved, ev)
	switch {
	case rec.async, !canLinger(ev.Type), len(rec.unsaved) == maxLingering:
		rec.writeSoonLocked()
	case len(rec.unsaved) == 1:
		rec.linger.Reset(lingering)
	}
}

// canLinger reports whether no step waits for an event of this type to be safe: lost with the
// process, it happens again.
func canLinger(t journal.EventType) bool {
	switch t { //nolint:exhaustive // the others are the end of something
	case journal.StepReady, journal.StepStarted, journal.StepInput, journal.StepDelta, journal.StepRetrying, journal.StepSkipped:
		return true
	}
	return false
}

// writeSoonLocked has what is unsaved written now. The stream is locked.
func (rec *recorder) writeSoonLocked() {
	if !rec.due && len(rec.unsaved) > 0 {
		rec.due = true
		rec.arrived.Signal()
	}
}

// releaseLaterLocked lets the successors of a step, or its next item, begin once all events so far
// are safe. false says that they are already. The stream is locked.
func (rec *recorder) releaseLaterLocked(r *run, step int, item bool) (later bool) {
	if rec.unsavedCount() == 0 {
		return false
	}
	r.unsafe++
	rec.releases = append(rec.releases, release{r, step, rec.stream.seq, item})
	return true
}

// waitLocked waits until all events so far are safe. The stream is locked.
func (rec *recorder) waitLocked() error {
	for seq := rec.stream.seq; rec.saved < seq && rec.err == nil; {
		rec.written.Wait()
	}
	if rec.err != nil {
		return rec.journalError(nil)
	}
	return nil
}

// runWriter writes until the last event of the run.
func (rec *recorder) runWriter(ctx context.Context) {
	defer close(rec.done)
	ctx = context.WithoutCancel(ctx) // the end of a cancelled run is recorded too
	s := rec.stream
	s.Lock()
	defer s.Unlock()
	defer rec.linger.Stop()
	for {
		for !rec.due && !s.closed {
			rec.arrived.Wait()
		}
		if len(rec.unsaved) == 0 {
			s.endLocked()
			return
		}
		batch, last := rec.unsaved, s.closed
		rec.unsaved, rec.writing, rec.due = rec.spare[:0], len(batch), false
		if rec.err == nil || last {
			before := rec.err
			s.Unlock()
			err := rec.writeBatch(ctx, batch, before, last)
			s.Lock()
			if err != nil && before == nil {
				rec.err = err
				rec.run.failLocked(rec.run.failureOf(rec.journalError(nil), flow.Position{}))
			}
		}
		rec.writing = 0
		rec.releaseSavedLocked(batch[len(batch)-1].Seq)
		if rec.err == nil { // else a resumed run may give their seq to other events
			s.deliverLocked(batch...)
		}
		clear(batch)
		rec.spare = batch
		s.wakeStepsLocked()
	}
}

// writeBatch hands a batch to the journal, unless a write has failed before. With the
// last one the journal lets go of the run: whoever sees its end can go on with it.
func (rec *recorder) writeBatch(ctx context.Context, batch []*journal.Event, failed error, last bool) error {
	if failed == nil {
		failed = rec.log.Append(ctx, batch...)
	}
	if !last {
		return failed
	}
	err := rec.log.Close()
	switch {
	case err == nil || failed != nil:
	case rec.async: // the end itself may not be safe
		failed = err
	default:
		rec.run.env.Log.Warn("letting go of the run", "run", rec.run.vars.Run.ID, "error", err)
	}
	return failed
}

// releaseSavedLocked lets go on what waited for the events up to seq. The stream is locked.
func (rec *recorder) releaseSavedLocked(seq int64) {
	rec.saved = seq
	rec.written.Broadcast()
	n := 0
	for ; n < len(rec.releases) && rec.releases[n].seq <= seq; n++ {
		one := rec.releases[n]
		r := one.run
		r.unsafe--
		if r.ending || r.over {
			continue
		}
		switch {
		case rec.err != nil:
		case one.item:
			r.order.NextItem(one.step)
		default:
			r.releaseLocked(one.step, rec.stream.clock())
		}
		r.startWorkerLocked()
	}
	rec.releases = append(rec.releases[:0], rec.releases[n:]...)
}

// journalError returns why the run cannot go on. failure is what it failed with besides.
func (rec *recorder) journalError(failure *Failure) error {
	err := &JournalError{Run: rec.run.vars.Run.ID, Err: calls.Errorf(calls.Internal, "recording the run: %w", rec.err)}
	if failure != nil && !errors.Is(failure, rec.err) {
		err.Failure = failure
	}
	return err
}

// loadFlow loads a flow whose path came up in the run: from the text that the journal
// has, so that an earlier process and this one run the same, else from its file, whose
// text the journal then gets.
func (rec *recorder) loadFlow(ctx context.Context, root *flow.Flow, file string) (*flow.Flow, error) {
	rec.texts.Lock()
	defer rec.texts.Unlock()
	file = flow.Absolute(file)
	exec := rec.run.exec
	name := recordedPath(exec.Root, file)
	if source, ok := rec.text.Files[name]; ok {
		_, files := LocalFiles(exec.Root, "", rec.text)
		flow, problems := exec.Loader.LoadText(file, source, files)
		return flow, problems.Err()
	}
	flow, err := exec.loadBeside(root, file)
	if err != nil {
		return nil, err
	}
	all, added := maps.Clone(rec.text.Files), recordedText(exec.Root, flow)
	if all == nil {
		all = map[string][]byte{}
	}
	all[name] = added.Source
	maps.Copy(all, added.Files)
	rec.text.Files = all
	return flow, rec.log.Revise(ctx, rec.text)
}
