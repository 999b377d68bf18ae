package stored

import (
	"errors"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// ErrJournalClosed is the error of a journal that was closed.
var ErrJournalClosed = wording.Errorf("the journal is closed")

// IsHeld reports whether an error names the holder of a run: it needs no name of a file or a database.
func IsHeld(err error) bool {
	var held *journal.HeldError
	return errors.As(err, &held)
}

// LostRunError returns why nothing could be written to a run that a log holds: info and err are the result of
// reading the run, hasLease is true if the log's lease still holds it.
func LostRunError(run string, info *journal.RunInfo, hasLease bool, err error) error {
	switch {
	case calls.KindOf(err) == calls.NotFound:
		return &journal.HeldError{Run: run}
	case err != nil:
		return err
	case hasLease:
		return calls.Errorf(calls.Internal, "the run %s ends with event %d: an earlier write failed", run, info.LastSeq)
	}
	return &journal.HeldError{Run: run, Holder: info.Holder}
}
