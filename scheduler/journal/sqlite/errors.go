package sqlite

import (
	"errors"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

var errJournalClosed = wording.Errorf("the journal is closed")

// damagedHint is the remedy for a damaged file.
const damagedHint = "the file is damaged or not a journal; nothing was changed: move it away to begin a new one, or save what can be saved with: sqlite3 FILE .recover"

// isHeldError reports whether an error says who holds a run: it needs no file name.
func isHeldError(err error) bool {
	var held *journal.HeldError
	return errors.As(err, &held)
}

// newGapError returns the error for a missing event.
func newGapError(run string, seq int64) error {
	return wording.Errorf("event %d of the run %s is missing: it was deleted in the meantime, or the file is damaged", seq, run)
}
