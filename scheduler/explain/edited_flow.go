package explain

import (
	"bytes"
	"maps"
	"slices"

	"github.com/callnode/scheduler/scheduler/flow"
)

// EarlierFlow is a version of a flow that a run had before it was edited: it applies to the events up to the Seq
// Until. The caller of [Explain] makes them, the earliest first.
type EarlierFlow struct {
	Flow  *flow.Flow
	Until int64
}

// editedFiles returns the files that the prompt's sources name and that had another text in one of the earlier
// flows that steps ran with.
func (e *Explanation) editedFiles(now *flow.Flow, earlier map[*flow.Flow]bool) (edited []string) {
	if len(earlier) == 0 {
		return nil
	}
	texts := textsOf(now)
	isEdited := map[string]bool{}
	for before := range earlier {
		for file, text := range textsOf(before) {
			if other, ok := texts[file]; ok && !bytes.Equal(other, text) {
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
