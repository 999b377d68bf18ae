package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// explainUsed explains the sources of a name with members, for a text that was computed from it.
func (x *explainer) explainUsed(at site, members []string, hops int) []Piece {
	if hops > maxHops {
		return singlePiece("", Source{Kind: SourceFlow, Possible: []Source{anywhere}})
	}
	if at.got != nil {
		at.got = x.record.HostOf(at.got)
	}
	place := Source{Kind: SourceFlow}
	if at.step != nil {
		place = at.sourceOfPlace(at.step.Pos)
	}
	return x.explainOnce(usedKey(at, ofNames, pointerTo(members)), hops, func() []Piece {
		return x.explainReference(at, members, -1, " ", place, hops)
	})
}

// explainGivens explains everything that a step was given: its parameters as they were on record, or else the
// names in them.
func (x *explainer) explainGivens(at site, hops int) (all []Piece) {
	if at.step == nil || at.step.With == nil || hops > maxHops {
		return nil
	}
	return x.explainOnce(usedKey(at, ofParams, ""), hops, func() []Piece {
		if !at.got.Params.IsNull() {
			return x.explainLeaves(at.got.Params, func(pointer, text string) []Piece {
				return x.explainGiven(at, pointer, text, hops+1)
			})
		}
		for _, p := range []*flow.Param{at.step.With, at.step.ForEach} {
			p.EachRef(func(ref prompt.Ref) { all = append(all, x.explainUsed(at, ref.Path, hops+1)...) })
		}
		return all
	})
}

// makerOf returns the source of a text that a step made and whose call does not report its sources: a model, if
// the call asks one; else anything that the call was given may be in the text.
func (x *explainer) makerOf(at site, maker Source, of side, pointer string, hops int) Source {
	isOfStep := at.step != nil && (at.got.Call == at.step.Call || at.got.IsGiven)
	if of != ofOutput || !isOfStep {
		return maker
	}
	info := at.step.Def.Info
	asksModel := info.UsesLLM && (!info.LLMOptional || at.got.Usage.Total() > 0)
	text, isText := at.got.Output.At(pointer)
	isText = isText && text.Kind() == value.String
	isQuoted := isText && strings.HasPrefix(pointer, "/error/") // it may name the step's parameters
	switch {
	case at.got.IsGiven && at.step.Call == flow.CallFlow: // its steps have not run
		maker.Possible = []Source{{Kind: SourceStep, Call: callHTTP}, {Kind: SourceMemory}, {Kind: SourceModel}}
		isQuoted = true
	case asksModel:
		maker.Origins = []Source{{Kind: SourceModel}}
		isQuoted = isQuoted || at.got.IsGiven && pointer != "/text"
	case info.UsesMemory:
		maker.Origins = []Source{{Kind: SourceMemory}}
		isQuoted = isText
	case at.step.Call == flow.CallFlow:
		if at.step.Sub == nil || isQuoted { // a failure in it may quote anything
			maker.Possible = []Source{anywhere}
		}
	case isForeign(at.got.Call), isText:
		isQuoted = true
		if isOfServer(at.got.Call) {
			maker.Possible = append(maker.Possible, Source{Kind: SourceStep, Call: callHTTP})
		}
	}
	if info.UsesMemory {
		maker = x.withSaved(singlePiece("", maker), at, "", hops)[0].Sources[0]
	}
	if isQuoted {
		given := Source{}.madeFrom(x.explainGivens(at, hops))
		maker.Possible = slices.Concat(given.Origins, given.Possible, maker.Possible)
	}
	return maker
}

// outsideOf returns the sources of a site's call other than its parameters. Its error messages may quote them.
func outsideOf(at site) (sources []Source) {
	info := at.step.Def.Info
	if info.UsesLLM {
		sources = append(sources, Source{Kind: SourceModel})
	}
	if info.UsesMemory {
		sources = append(sources, Source{Kind: SourceMemory})
	}
	if isOfServer(at.got.Call) {
		sources = append(sources, Source{Kind: SourceStep, Call: callHTTP})
	}
	return sources
}
