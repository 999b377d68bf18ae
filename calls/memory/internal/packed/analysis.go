package packed

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
)

// CheckAnalysis refuses an index that another version of the analysis has made: memories
// would not be found, and deleted ones would stay in the index.
func CheckAnalysis(version int) error {
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
