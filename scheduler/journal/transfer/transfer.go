// Package transfer copies runs from one journal to another, for example from a file to a database that
// several machines share, and back.
//
// A run is copied whole or not at all, with its labels, its state, when a process last wrote
// to it, and the bytes of its images, which the other journal encrypts with its own key. Then
// it is read from both and compared. The journal that it is copied from is not changed.
package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Store is a journal that runs leave and enter. It is safe for concurrent use.
type Store interface {
	// ID, Run and Runs are as in [journal.Journal].
	ID(ctx context.Context) (string, error)
	Run(ctx context.Context, id string) (*journal.RunInfo, error)
	Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error]
	// ExportHeader and ExportEvents return a run's data, with the bytes of images in place.
	ExportHeader(ctx context.Context, id string) (*journal.RunHeader, error)
	ExportEvents(ctx context.Context, id string) iter.Seq2[*journal.Event, error]
	// Import records a run of another journal with all of its events, or nothing. No process
	// holds it then. An id that exists is an error of kind Invalid. It may read the events
	// several times.
	Import(ctx context.Context, run *journal.RunInfo, header *journal.RunHeader, events iter.Seq2[*journal.Event, error]) error
}

// Report is the result of [Copy]. It belongs to the caller.
type Report struct {
	// Copied are the runs that are new in the other journal, Present the runs that it already had, equal to the last
	// byte.
	Copied, Present int
	// Events and Labels count the events and labels of the runs that are now in both.
	Events, Labels int64
	// Left are the runs that the other journal lacks or has in another form.
	Left []Left
}

// Left is a run that was not copied, and why.
type Left struct {
	Run string
	Err error
}

// Copy copies all runs that no process holds, the oldest first. It may be repeated: runs that already exist are
// only compared. progress receives the number of finished runs and of all runs; it may be nil. If the error is not
// nil, the report covers the work until then.
func Copy(ctx context.Context, from, to Store, progress func(done, all int)) (*Report, error) {
	report := &Report{}
	if err := checkDifferent(ctx, from, to); err != nil {
		return report, err
	}
	var runs []*journal.RunInfo
	for run, err := range from.Runs(ctx, journal.RunFilter{}) {
		if err != nil {
			return report, err
		}
		runs = append(runs, run)
	}
	slices.Reverse(runs) // the other journal lists them in the same order
	for i, run := range runs {
		err := report.copyRun(ctx, from, to, run)
		if err != nil && !isOfRun(err) {
			return report, err
		}
		if err != nil {
			report.Left = append(report.Left, Left{run.ID, err})
		}
		if progress != nil {
			progress(i+1, len(runs))
		}
	}
	return report, nil
}

// checkDifferent refuses to copy a journal to itself.
func checkDifferent(ctx context.Context, from, to Store) error {
	here, err := from.ID(ctx)
	if err != nil {
		return err
	}
	there, err := to.ID(ctx)
	if err != nil {
		return err
	}
	if here == there {
		return calls.Errorf(calls.Invalid, "both are the same journal: nothing was copied")
	}
	return nil
}

// isOfRun reports whether an error is about one run, so that others can be copied.
func isOfRun(err error) bool {
	var held *journal.HeldError
	return errors.As(err, &held) || slices.Contains([]calls.Kind{calls.Invalid, calls.NotFound}, calls.KindOf(err))
}

// copyRun copies a run, or compares it if it exists, and counts it.
func (r *Report) copyRun(ctx context.Context, from, to Store, run *journal.RunInfo) error {
	if run.Holder != nil {
		return &journal.HeldError{Run: run.ID, Holder: run.Holder}
	}
	before, err := to.Run(ctx, run.ID)
	isNew := calls.KindOf(err) == calls.NotFound
	if err != nil && !isNew {
		return err
	}
	if !isNew && before.Holder != nil {
		return &journal.HeldError{Run: run.ID, Holder: before.Holder}
	}
	if isNew {
		header, err := from.ExportHeader(ctx, run.ID)
		if err != nil {
			return err
		}
		if err := to.Import(ctx, run, header, exportRun(ctx, from, run)); err != nil {
			return err
		}
	}
	if err := compare(ctx, from, to, run); err != nil {
		return err
	}
	if isNew {
		r.Copied++
	} else {
		r.Present++
	}
	r.Events += run.LastSeq
	r.Labels += int64(len(run.Labels))
	return nil
}

// exportRun yields the current events of a run, and an error at their end if a process has taken it meanwhile.
func exportRun(ctx context.Context, from Store, run *journal.RunInfo) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		for ev, err := range from.ExportEvents(ctx, run.ID) {
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if err := checkUnchanged(ctx, from, run); err != nil {
			yield(nil, err)
		}
	}
}

// checkUnchanged returns an error if a run has changed.
func checkUnchanged(ctx context.Context, from Store, run *journal.RunInfo) error {
	now, err := from.Run(ctx, run.ID)
	if err != nil {
		return err
	}
	if now.Holder != nil {
		return &journal.HeldError{Run: run.ID, Holder: now.Holder}
	}
	if now.LastSeq != run.LastSeq || now.State != run.State {
		return calls.Errorf(calls.Invalid, "the run %s has changed meanwhile: copy again", run.ID)
	}
	return nil
}

// compare returns an error if a run is not the same in both journals.
func compare(ctx context.Context, from, to Store, run *journal.RunInfo) error {
	there, err := to.Run(ctx, run.ID)
	if err != nil {
		return err
	}
	here, err := fingerprint(ctx, from, run)
	if err != nil {
		return err
	}
	other, err := fingerprint(ctx, to, there)
	if err != nil {
		return err
	}
	if here == other {
		return nil
	}
	return calls.Errorf(calls.Invalid, "the other journal has a run %s that is not the same: it is %s with %d events there, %s with %d here", run.ID, there.State, there.LastSeq, run.State, run.LastSeq).
		WithHint("it went on in one of them; delete it where it is not wanted with runs prune %s, and copy again", run.ID)
}

// fingerprint returns the SHA-256 of all that a run is.
func fingerprint(ctx context.Context, store Store, run *journal.RunInfo) (sum [sha256.Size]byte, err error) {
	h, err := store.ExportHeader(ctx, run.ID)
	if err != nil {
		return sum, err
	}
	d := digest{sha256.New()}
	d.add(string(run.State), h.ID, h.Flow, h.File, h.Program, h.StartedAt.Format(time.RFC3339Nano), string(h.Mode), run.UpdatedAt.Format(time.RFC3339Nano))
	d.add(h.Inputs.JSON(), h.Conversation.JSON(), h.Options.JSON())
	for text := &h.Text; text != nil; text = text.Before {
		d.add(string(text.Source), text.File, strconv.FormatInt(text.Since, 10))
		for _, path := range slices.Sorted(maps.Keys(text.Files)) {
			d.add("file", path, string(text.Files[path]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(run.Labels)) {
		d.add("label", name, run.Labels[name])
	}
	last := int64(0)
	for ev, err := range store.ExportEvents(ctx, run.ID) {
		if err != nil {
			return sum, err
		}
		v, err := value.Of(ev)
		if err != nil {
			return sum, wording.Errorf("encoding event %d: %w", ev.Seq, err)
		}
		d.add("event", v.JSON())
		last = ev.Seq
	}
	if last != run.LastSeq {
		return sum, calls.Errorf(calls.Invalid, "the run %s has changed meanwhile: copy again", run.ID)
	}
	d.Sum(sum[:0])
	return sum, nil
}

// digest sums texts up so that no two lists of them have the same bytes.
type digest struct{ hash.Hash }

func (d digest) add(texts ...string) {
	for _, text := range texts {
		_, _ = d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // it never fails
		_, _ = d.Write([]byte(text))
	}
}
