package stored

import (
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Batch is a part of the events of a run that comes from another journal, in stored form.
// [EncodeRun] makes it.
type Batch struct {
	First  int64 // the seq of the first
	Bodies [][]byte
	Blobs  Blobs // the blobs that no earlier batch had
	// Summary is the run's summary after the batch, in stored form.
	Summary []byte
}

// batchBytes is the maximum size of a batch, without its last event.
const batchBytes = 1 << 20

// EncodeRun yields the stored form of the events of a run, in batches. They must be all that
// the run has, and lead to the state that it is in. known are payloads that are stored already.
func EncodeRun(run *journal.RunInfo, known Blobs, events iter.Seq2[*journal.Event, error]) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		log := NewLogState(&journal.RunInfo{ID: run.ID, State: journal.RunRunning})
		state := journal.RunRunning
		seen := map[Digest]struct{}{}
		for d := range known {
			seen[d] = struct{}{}
		}
		var summary journal.Summary
		batch, size := &Batch{First: 1, Blobs: Blobs{}}, 0
		for ev, err := range events {
			n := 0
			if err == nil {
				err = log.CheckLocked([]*journal.Event{ev})
			}
			if err == nil {
				n, err = batch.add(ev, seen)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			log.AcceptLocked([]*journal.Event{ev})
			state, summary = state.After(ev.Type), summary.After(ev)
			size += n
			if size < batchBytes {
				continue
			}
			batch.Summary = EncodeSummary(summary)
			if !yield(batch, nil) {
				return
			}
			batch, size = &Batch{First: ev.Seq + 1, Blobs: Blobs{}}, 0
		}
		if last := log.NextLocked - 1; last != run.LastSeq || state != run.State {
			yield(nil, calls.Errorf(calls.Internal, "the run %s ends with event %d and is %s, but its events end with %d, and it would be %s", run.ID, run.LastSeq, run.State, last, state))
			return
		}
		if len(batch.Bodies) > 0 {
			batch.Summary = EncodeSummary(summary)
			yield(batch, nil)
		}
	}
}

// add adds an event, and the payloads that are not in seen. It returns how many bytes that is.
func (b *Batch) add(ev *journal.Event, seen map[Digest]struct{}) (size int, err error) {
	found := Blobs{}
	body, err := found.EncodeEvent(ev)
	if err != nil {
		return 0, err
	}
	b.Bodies = append(b.Bodies, body)
	size = len(body)
	for d, one := range found {
		if _, ok := seen[d]; !ok {
			seen[d] = struct{}{}
			b.Blobs[d] = one
			size += len(one.Data)
		}
	}
	return size, nil
}
