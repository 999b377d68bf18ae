package explain

import (
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// toolSource returns the source of a result of a tool, with what the tool has made it of.
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

// useOf returns the agent that a site is, or is inside, and the piece of its work in which a tool gave what an origin names; nil where
// it is not on record.
func (x *explainer) useOf(at site, o calls.Origin) (agent site, use *journal.StepState) {
	if o.Use == "" || at.step == nil {
		return at, nil
	}
	for got := at.got; got != nil; got = x.record.Step(journal.OuterPath(got.ID)) {
		use = x.record.Step(got.ID + "/" + o.Use)
		if name, _ := textAt(useParams(use), "name"); use != nil && name == o.Name {
			return site{at.frame, x.agentStep(at.step), got}, use
		}
		if !journal.IsPseudoStep(got.ID) {
			break
		}
	}
	return at, nil
}

// useParams returns what a tool was used with.
func useParams(use *journal.StepState) value.Value {
	if use == nil {
		return value.Value{}
	}
	return use.Params
}

// explainUse explains what the result of a tool was made of.
func (x *explainer) explainUse(agent site, use *journal.StepState, hops int) []Piece {
	model := Source{Kind: SourceModel}
	if notRun, _ := use.Output.Get("not_run"); value.Equal(notRun, value.OfBool(true)) { // the refusal quotes what the model wrote
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
	isOpaque := failed != "" && inner.Call == flow.CallFlow // what failed in it may tell anything
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

// workOf returns the call, or the flow, that a use of a tool has run; nil for none.
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

// siteInside returns the site of a call, or of a flow, that a tool of an agent has run; ok is false where it is not known what that is.
func (x *explainer) siteInside(agent site, inner *journal.StepState) (at site, ok bool) {
	if known, isKnown := x.inside[inner]; isKnown {
		return site{agent.frame, known, inner}, true
	}
	step := *agent.step
	step.Call, step.Def, step.Sub, step.ForEach, step.EnableFilling = inner.Call, calls.Definition{}, nil, nil, false
	if inner.Call == flow.CallFlow {
		file, _ := textAt(inner.Params, "path")
		step.Sub = innerFlow(agent, file)
		ok = step.Sub != nil || inner.IsGiven
	} else {
		step.Def, ok = agent.definitionOf(inner)
	}
	if !ok {
		return site{}, false
	}
	x.inside[inner], x.agents[&step] = &step, agent.step
	return site{agent.frame, &step, inner}, true
}

// innerFlow returns the flow of a file that the tools of an agent name; nil where it was not read with the flow.
func innerFlow(agent site, file string) *flow.Flow {
	file = filepath.FromSlash(file)
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(agent.flow.File), file)
	}
	for _, inner := range agent.step.Inner {
		if filepath.Clean(inner.File) == filepath.Clean(file) {
			return inner
		}
	}
	return nil
}

// agentStep returns the step of the agent that ran what a step stands for, itself for any other.
func (x *explainer) agentStep(step *flow.Step) *flow.Step {
	if agent, ok := x.agents[step]; ok {
		return agent
	}
	return step
}

// flowOfTool returns the site of a flow that a tool of an agent has run, and the rest of an id below the agent; ok is false where the
// id is not that of a step in such a flow.
func (x *explainer) flowOfTool(agent site, id string) (at site, rest string, ok bool) {
	use, below, isInside := strings.Cut(id, "/")
	work, rest, hasRest := strings.Cut(below, "/")
	if agent.got == nil || agent.step.Sub != nil || !isInside || !hasRest {
		return site{}, "", false
	}
	inner := x.record.Step(agent.got.ID + "/" + use + "/" + work)
	if inner == nil || inner.Call != flow.CallFlow {
		return site{}, "", false
	}
	at, ok = x.siteInside(agent, inner)
	return at, rest, ok && at.step.Sub != nil
}
