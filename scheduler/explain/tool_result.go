package explain

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// toolSource returns the source of a tool's result, with the sources that the tool made it from.
func (x *explainer) toolSource(at site, o calls.Origin, hops int) Source {
	source := Source{Kind: SourceTool, Name: o.Name}
	agent, use := x.useOf(at, o)
	if use == nil || hops > maxHops {
		source.Possible = []Source{anywhere}
		return source
	}
	pieces := x.explainOnce(usedKey(agent, ofTools, use.ID), hops, func() []Piece { return x.explainUse(agent, use, hops+1) })
	return source.madeFrom(pieces)
}

// useOf returns the agent that a site is, or is inside, and the piece of its work in which a tool gave the result
// that an origin names; nil if it is not on record.
func (x *explainer) useOf(at site, o calls.Origin) (agent site, use *journal.StepState) {
	if o.Use == "" || at.step == nil {
		return at, nil
	}
	for got := at.got; got != nil; got = x.record.Step(journal.OuterPath(got.ID)) {
		use = x.record.Step(got.ID + "/" + o.Use)
		if use != nil {
			if name, _ := textAt(use.Params, "name"); name == o.Name {
				return site{at.frame, x.agentStep(at.step), got}, use
			}
		}
		if !journal.IsPseudoStep(got.ID) {
			break
		}
	}
	return at, nil
}

// explainUse explains the sources of a tool's result.
func (x *explainer) explainUse(agent site, use *journal.StepState, hops int) []Piece {
	model := Source{Kind: SourceModel}
	if notRun, _ := use.Output.Get("not_run"); value.Equal(notRun, value.OfBool(true)) { // the refusal quotes the model's words
		return withPossible(singlePiece("", Source{Kind: SourceFlow}), model)
	}
	failed, _ := textAt(use.Output, "error")
	inner := x.workOf(use)
	if inner == nil && failed != "" {
		return withPossible(singlePiece("", Source{Kind: SourceFlow}), model)
	}
	if inner == nil {
		return explainReading(use)
	}
	at, isKnown := x.siteInside(agent, inner)
	isOpaque := failed != "" && inner.Call == flow.CallFlow // a failure in it may quote anything
	if !isKnown || isOpaque {
		return withPossible(singlePiece("", sourceOfMaker(inner)), anywhere)
	}
	if failed != "" {
		pieces := withPossibleFrom(singlePiece("", sourceOfMaker(inner)), x.explainGivens(at, hops))
		for _, source := range outsideOf(at) {
			pieces = withPossible(pieces, source)
		}
		return pieces
	}
	pieces := singlePiece("", sourceOfMaker(inner))
	return append(pieces, x.explainLeaves(inner.Output, func(pointer, text string) []Piece {
		return namedFiles(x.explainText(at, ofOutput, pointer, text, hops))
	})...)
}

// namedFiles keeps the file of words of a flow as an origin of the piece: madeFrom drops sources of kind flow.
func namedFiles(pieces []Piece) []Piece {
	for i := range pieces {
		if len(pieces[i].Sources) == 0 || pieces[i].Sources[0].Kind != SourceFlow || pieces[i].Sources[0].File == "" {
			continue
		}
		first := pieces[i].Sources[0]
		file := Source{Kind: SourceFile, Name: first.File, Path: first.File}
		pieces[i] = withOrigins(pieces[i:i+1:i+1], []Piece{{Sources: []Source{{Kind: SourceFlow, Origins: []Source{file}}}}})[0]
	}
	return pieces
}

// workOf returns the call, or the flow, that a use of a tool has run; nil if it ran none.
func (x *explainer) workOf(use *journal.StepState) *journal.StepState {
	for _, got := range x.record.Steps {
		if rest, ok := strings.CutPrefix(got.ID, use.ID+"/"); ok && !strings.Contains(rest, "/") {
			return got
		}
	}
	return nil
}

// explainReading explains the result of a tool that has read a file for an agent: of the workspace, or of a skill.
func explainReading(use *journal.StepState) []Piece {
	file, isKnown := textAt(use.Output, "file")
	if !isKnown { // a journal of before it was kept
		return withPossible(singlePiece("", sourceOfMaker(use)), anywhere)
	}
	return singlePiece("", Source{Kind: SourceFile, Name: file, Path: file})
}
