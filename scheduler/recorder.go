package scheduler

import (
	"context"
	"sync"

	"github.com/callnode/scheduler/calls"
)

// recorder is a goroutine that hands the events of a run to its journal, all that
// have come up in the meantime at once, and then to the reader. What must not
// happen before an event is safe waits for it here. The lock is the stream's.
type recorder struct {
	stream *stream
	log    RunLog
	run    *run
	// unsaved have come up since the last write; writing is how many are on their
	// way.
	unsaved, spare []*Event
	writing        int
	arrived        sync.Cond
	// releases wait for the end of a step to be safe, in the order of seq.
	releases []release
	err      error
	done     chan struct{}
}

// release lets the steps begin that need a step which has ended.
type release struct {
	run  *run
	step int
	seq  int64
}

func newRecorder(r *run, log RunLog) *recorder {
	rec := &recorder{stream: r.stream, log: log, run: r, done: make(chan struct{})}
	rec.arrived.L = r.stream
	return rec
}

func (rec *recorder) backlog() int { return len(rec.unsaved) + rec.writing }

// add takes an event. The stream is locked.
func (rec *recorder) add(ev *Event) {
	if rec.unsaved = append(rec.unsaved, ev); len(rec.unsaved) == 1 {
		rec.arrived.Signal()
	}
}

// release lets the successors of a step begin once all events so far are safe. The
// stream is locked.
func (rec *recorder) release(r *run, step int) {
	r.unsafe++
	rec.releases = append(rec.releases, release{r, step, rec.stream.seq})
}

// work writes until the last event of the run.
func (rec *recorder) work(ctx context.Context) {
	defer close(rec.done)
	ctx = context.WithoutCancel(ctx) // the end of a cancelled run is recorded too
	s := rec.stream
	s.Lock()
	defer s.Unlock()
	for {
		for len(rec.unsaved) == 0 && !s.closed {
			rec.arrived.Wait()
		}
		if len(rec.unsaved) == 0 {
			s.end()
			return
		}
		batch := rec.unsaved
		rec.unsaved, rec.writing = rec.spare[:0], len(batch)
		if rec.err == nil {
			s.Unlock()
			err := rec.write(ctx, batch)
			s.Lock()
			if err != nil {
				rec.err = err
				rec.run.fail(rec.failure())
			}
		}
		rec.writing = 0
		rec.settle(batch[len(batch)-1].Seq)
		rec.deliver(batch)
		clear(batch)
		rec.spare = batch
		s.relieve()
	}
}

// write waits for the disk where a step or the run has come to its end. All else
// may be lost with the process: it happens again.
func (rec *recorder) write(ctx context.Context, batch []*Event) error {
	for _, ev := range batch {
		switch ev.Type {
		case StepReady, StepStarted, StepInput, StepDelta, StepRetrying, StepSkipped:
		default:
			return rec.log.Append(ctx, batch...)
		}
	}
	return rec.log.Enqueue(ctx, batch...)
}

// settle lets go on what waited for the events up to seq. The stream is locked.
func (rec *recorder) settle(seq int64) {
	n := 0
	for ; n < len(rec.releases) && rec.releases[n].seq <= seq; n++ {
		one := rec.releases[n]
		r := one.run
		r.unsafe--
		if r.ending || r.over {
			continue
		}
		if rec.err == nil {
			r.release(one.step, rec.stream.clock())
		}
		r.spawn()
	}
	rec.releases = append(rec.releases[:0], rec.releases[n:]...)
}

// deliver hands events to the reader. A run whose end is not recorded has failed.
// The stream is locked.
func (rec *recorder) deliver(batch []*Event) {
	if last := batch[len(batch)-1]; rec.err != nil && (last.Type == FlowFinished || last.Type == FlowWaiting) {
		n := newNote(FlowFailed)
		n.fault(&rec.failure().Info)
		n.event.Seq, n.event.Time, n.event.Run = last.Seq, last.Time, last.Run
		n.data.Usage = last.Data.Usage
		batch[len(batch)-1] = &n.event
	}
	rec.stream.deliver(batch...)
}

// failure is why the run cannot go on.
func (rec *recorder) failure() *Failure {
	err := calls.Errorf(calls.Internal, "recording the run: %w", rec.err)
	return &Failure{Info: ErrorInfo{Kind: calls.Internal, Message: err.Error(), Hint: calls.HintOf(err)}, Err: err}
}

// close waits until all is written, and lets go of the run.
func (rec *recorder) close() {
	<-rec.done
	if err := rec.log.Close(); err != nil {
		rec.run.env.Log.Warn("closing the journal of the run", "run", rec.run.vars.Run.ID, "error", err)
	}
}
