package explain

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// frame is one flow of the run: the outermost, or one that a step runs.
type frame struct {
	flow   *flow.Flow
	inputs value.Value
	prefix string // of its steps in the record: outer[1]/
	until  int64  // [EarlierFlow] Until of the outermost flow; 0 for the current one
	// around is the step that runs the flow; its frame is nil for the outermost.
	around site
}

// frameKey identifies a frame: a flow and the step that runs it, nil for the outermost.
type frameKey struct {
	flow *flow.Flow
	got  *journal.StepState
}

// site is a step of a frame as it ran: the step itself, an item of it, or a call that it ran inside itself. A nil
// step means the outputs of the flow, or, if frame is nil as well, a step whose flow is not known.
type site struct {
	*frame
	step *flow.Step
	got  *journal.StepState
}

// side is the part of a step's record that has a text: its input or its output.
type side string

const (
	ofInput  side = "/input"
	ofOutput side = "/output"
	// ofParams are the rendered parameters.
	ofParams side = "/params"
	// ofTools are the results of tools.
	ofTools side = "/tools"
	// ofNames are the values that the names of templates have.
	ofNames side = "/names"
)

// item returns the index of the item that a site runs for.
func (at site) item() (index string, ok bool) {
	if at.step == nil || at.step.ForEach == nil || at.got == nil {
		return "", false
	}
	rest, found := strings.CutPrefix(at.got.ID, at.prefix+at.step.ID+"[")
	index, _, closed := strings.Cut(rest, "]")
	return index, found && closed
}

// record returns one side of the step's record.
func (at site) record(of side) value.Value {
	if of == ofInput {
		return at.got.Input
	}
	return at.got.Output
}

// isInside reports whether a site is another call which its step has run inside itself.
func (at site) isInside() bool {
	return journal.IsPseudoStep(at.got.ID) && at.got.Call != at.step.Call
}

// definitionOf returns the definition of the call that the step of a site, or a call inside it, has run; ok is
// false if the flow has no such call, or had another one then.
func (at site) definitionOf(got *journal.StepState) (def calls.Definition, ok bool) {
	if got.Call == at.step.Call {
		return at.step.Def, true
	}
	if !journal.IsPseudoStep(got.ID) {
		return calls.Definition{}, false
	}
	return at.flow.FindCall(got.Call)
}

// placed returns the source with a place in the flow of a site.
func (at site) placed(s Source, pos flow.Position) Source {
	s.File, s.Line, s.Col = pos.File, pos.Line, pos.Col
	if at.frame != nil {
		s.Seq = at.until
	}
	return s
}

// sourceOfPlace returns the source of words in the flow of a site.
func (at site) sourceOfPlace(pos flow.Position) Source {
	return at.placed(Source{Kind: SourceFlow}, pos)
}
