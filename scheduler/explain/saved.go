package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
)

// memoryPrefix begins the ids of memories; ids of snapshots, which are made of several, begin otherwise.
const memoryPrefix = "memory_"

// withSaved adds to the text of a memory, by its id, the parameters of the steps in this run that saved it. If ids
// cannot be compared, the parameters of all of these steps may be in the text.
func (x *explainer) withSaved(pieces []Piece, at site, id string, hops int) []Piece {
	if hops > maxHops {
		return withPossible(pieces, anywhere)
	}
	for _, got := range x.record.Steps {
		info := x.savingCall(got)
		if info == nil || got.Attempts == 0 || len(got.Items) > 0 {
			continue
		}
		saver := x.siteOf(got)
		if isAfter(saver, at) {
			continue
		}
		saved, _ := textAt(got.Output, info.SavedID)
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
		content, _ := got.Params.Get(info.SavedParam)
		pieces = withOrigins(pieces, x.explainLeaves(content, func(pointer, text string) []Piece {
			return x.explainGiven(saver, "/"+info.SavedParam+pointer, text, hops+1)
		}))
	}
	return pieces
}

// savingCall returns the description of the call that a step has run if it keeps a memory, else nil.
func (x *explainer) savingCall(got *journal.StepState) *calls.Info {
	def, isKnown := x.flow.FindCall(got.Call)
	if !isKnown || def.Info.SavedParam == "" {
		return nil
	}
	return def.Info
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

// explainVariable adds the sources of a built-in variable of the dialogue: earlier messages are in the memory, and
// the variable may also hold a message of this run.
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
