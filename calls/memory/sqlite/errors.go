package sqlite

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// storeName is what users call the store.
const storeName = "memory store"

// damagedHint says what to do with a damaged file.
const damagedHint = "the file is damaged: save what can be read with `scheduler memory export --salvage DIR`, move the file away, and import DIR"

// errIndex means that the index contradicts itself or the memories.
var errIndex = wording.Errorf("%w: its index is wrong", sqlitefile.ErrDamaged)

// checkAnalysis refuses an index that another version of the analysis has made: memories
// would not be found, and deleted ones would stay in the index.
func checkAnalysis(version int) error {
	if version == rank.AnalysisVersion {
		return nil
	}
	if version > rank.AnalysisVersion {
		return calls.Errorf(calls.Invalid, "the memories were indexed by a newer version of the program (analysis %d; this one has %d)", version, rank.AnalysisVersion).
			WithHint("use that version")
	}
	return calls.Errorf(calls.Invalid, "an older version of the program uses the memories at the same time (analysis %d; this one has %d)", version, rank.AnalysisVersion).
		WithHint("end that program and try again")
}
