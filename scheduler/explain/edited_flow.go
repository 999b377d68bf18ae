package explain

import (
	"bytes"
	"maps"
	"slices"

	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// EarlierFlow is a flow that a run had before it was edited: for the events up to that with the Seq Until. The caller of [Explain]
// makes them, the earliest first.
type EarlierFlow struct {
	Flow  *flow.Flow
	Until int64
}

// siteOf finds the step that a record is of, or that a pseudo-step ran in, in the flow that it ran with.
func (x *explainer) siteOf(got *journal.StepState) site {
	for _, e := range x.earlier {
		if got.StartedSeq > 0 && got.StartedSeq <= e.Until {
			x.usedEarlier[e.Flow] = true
			return x.findSite(e.Flow, got)
		}
	}
	return x.findSite(x.flow, got)
}

// untilOf returns the last event for which the run had a flow; 0 for the flow that it has now.
func (x *explainer) untilOf(f *flow.Flow) int64 {
	i := slices.IndexFunc(x.earlier, func(e EarlierFlow) bool { return e.Flow == f })
	if i < 0 || f == x.flow {
		return 0
	}
	return x.earlier[i].Until
}

// editedFilesOf returns the files that sources of a prompt name, and that have had another text in a flow that a step ran with.
func (x *explainer) editedFilesOf(e *Explanation) (edited []string) {
	if len(x.usedEarlier) == 0 {
		return nil
	}
	now := textsOf(x.flow)
	isEdited := map[string]bool{}
	for earlier := range x.usedEarlier {
		for file, text := range textsOf(earlier) {
			if other, ok := now[file]; ok && !bytes.Equal(other, text) {
				isEdited[file] = true
			}
		}
	}
	named := map[string]bool{}
	e.eachPiece(func(p *Piece) {
		for _, s := range p.Sources {
			for _, file := range []string{s.File, s.Path} {
				if isEdited[flow.Absolute(file)] {
					named[file] = true
				}
			}
		}
	})
	return slices.Sorted(maps.Keys(named))
}

// textsOf returns the texts of a flow and of its other files, by their absolute paths.
func textsOf(f *flow.Flow) map[string][]byte {
	texts := map[string][]byte{flow.Absolute(f.File): f.Source}
	for file, text := range f.Files {
		texts[flow.Absolute(file)] = text
	}
	return texts
}
