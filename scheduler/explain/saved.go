package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/journal"
)

// callSave is the call that keeps a memory.
const callSave = "memory-save"

// memoryPrefix is how the ids of memories begin; those of snapshots, which are made of several, begin otherwise.
const memoryPrefix = "memory_"

// withSaved adds to the text of a memory, by its id, what the steps of this run that have saved it were given. Where ids
// cannot be compared, what any of them was given may be in the text.
func (x *explainer) withSaved(pieces []Piece, at site, id string, hops int) []Piece {
	if hops > maxHops {
		return withPossible(pieces, anywhere)
	}
	for _, got := range x.record.Steps {
		if got.Call != callSave || got.Attempts == 0 || len(got.Items) > 0 {
			continue
		}
		saver := x.siteOf(got)
		if isAfter(saver, at) {
			continue
		}
		saved, _ := textAt(got.Output, "memory_id")
		isComparable := saved != "" && strings.HasPrefix(id, memoryPrefix)
		if isComparable && saved != id {
			continue
		}
		if saver.step == nil || journal.IsPseudoStep(got.ID) { // a tool has run it
			pieces = withPossible(pieces, anywhere)
			continue
		}
		if !isComparable {
			pieces = withPossibleFrom(pieces, x.explainGivens(saver, hops+1))
			continue
		}
		content, _ := got.Params.Get("content")
		pieces = withOrigins(pieces, x.explainLeaves(content, func(pointer, text string) []Piece {
			return x.explainGiven(saver, "/content"+pointer, text, hops+1)
		}))
	}
	return pieces
}

// isAfter reports whether a step can only have run after another one of the same flow.
func isAfter(later, earlier site) bool {
	if later.step == nil || earlier.step == nil || earlier.frame == nil {
		return false
	}
	isSameFlow := later.flow == earlier.flow && later.prefix == earlier.prefix
	if isSameFlow && later.step == earlier.step {
		return later.step.ForEach == nil
	}
	return isSameFlow && slices.Contains(later.flow.Ancestors(later.step.Index), earlier.step.Index)
}

// explainVariable adds what a built-in variable of the dialogue is: what was said before is in the memory, and may be what
// is said again in this run.
func (x *explainer) explainVariable(at site, path []string, pieces []Piece, hops int) []Piece {
	if len(path) < 2 {
		path = append(path, "")
	}
	said, possible := SourceUser, Source{Kind: SourceInput, Name: "inputs.question"}
	switch path[1] {
	case "last_user_message":
	case "last_assistant_message":
		said, possible = SourceModel, Source{Kind: SourceModel}
	default:
		return pieces
	}
	pieces = withOrigins(pieces, []Piece{{Sources: []Source{{Kind: said}}}, {Sources: []Source{{Kind: SourceMemory}}}})
	return x.withSaved(withPossible(pieces, possible), at, "", hops)
}
