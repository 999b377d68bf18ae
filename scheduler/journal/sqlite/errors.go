package sqlite

import "github.com/callnode/scheduler/llm/value/wording"

// damagedHint is the remedy for a damaged file.
const damagedHint = "the file is damaged or not a journal; nothing was changed: move it away to begin a new one, or save what can be saved with: sqlite3 FILE .recover"

// newGapError returns the error for a missing event.
func newGapError(run string, seq int64) error {
	return wording.Errorf("event %d of the run %s is missing: it was deleted in the meantime, or the file is damaged", seq, run)
}
