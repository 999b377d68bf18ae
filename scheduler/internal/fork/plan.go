// Package fork makes the events of a run that begins at a step of another run, for example to repeat the last step
// with another input. Steps that need not run again keep their outputs and everything that is recorded of them;
// the others start empty. It is a function of the record and the request, without I/O.
//
// plan.go decides which steps run again, events.go makes the events of those that do not.
package fork

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Request describes a forked run. The caller makes it; it is only read.
type Request struct {
	// Run is the id of the run that is forked, which does not change.
	Run string
	// At is the first step that runs again: its id, or a piece of its work such as clerk/round-3. "" is the first step
	// that the changes touch, or that had not ended.
	At string
	// Inputs are the inputs that change, an object; null changes none.
	Inputs value.Value
	// Outputs are new outputs by step: these steps do not run.
	Outputs map[string]value.Value
	// Params are values in the parameters of steps, which run again with them.
	Params []ParamEdit
	// Flow is an edited flow; nil is the flow of the run.
	Flow *flow.Flow
}

// ParamEdit is a new value in the parameters that a step had.
type ParamEdit struct {
	Step    string
	Pointer string
	Value   value.Value
}

// Plan lists the effects of a fork, by the ids of the steps in file order.
type Plan struct {
	// Kept steps keep their outputs, or get the given ones. Again are the others.
	Kept  []string `json:"kept"`
	Again []string `json:"again"`
	// Repeated are the steps of Again that had begun in the other run and may act outside of it, for example send a
	// message: they may act a second time.
	Repeated []string `json:"repeated,omitempty"`

	planner *planner
}

// Record is a run that is forked.
type Record struct {
	State  *journal.RunState
	Events []*journal.Event
	// Before is the flow that it ran with.
	Before *flow.Flow
}

// Flow returns the flow that the forked run runs.
func (plan *Plan) Flow() *flow.Flow { return plan.planner.flow }

// planner finds the steps that run again.
type planner struct {
	request *Request
	record  *Record
	flow    *flow.Flow
	again   []bool // by step
	given   []bool // by step: its output is given
	wrong   []error
	// finishedBefore has the pieces of a step's work that had finished before the piece At began; nil before it is asked for.
	finishedBefore map[string]bool
}

// NewPlan returns which steps of a forked run are kept. The error is of kind Invalid and lists every problem of
// the request.
func NewPlan(record *Record, request *Request) (*Plan, error) {
	p := &planner{request: request, record: record, flow: cmp.Or(request.Flow, record.Before)}
	p.again, p.given = make([]bool, len(p.flow.Steps)), make([]bool, len(p.flow.Steps))
	p.addGiven()
	p.addEdited()
	p.addInputs()
	p.checkPiece()
	p.addChosen()
	p.addUnended()
	switch len(p.wrong) {
	case 0:
	case 1:
		return nil, p.wrong[0]
	default:
		return nil, calls.Errorf(calls.Invalid, "%w", errors.Join(p.wrong...))
	}
	plan := p.list()
	if len(plan.Again) == 0 && len(request.Outputs) == 0 {
		return nil, calls.Errorf(calls.Invalid, "the run %s has ended, and nothing is changed", request.Run).
			WithHint("say from which step it runs again (--at STEP), or change an input, an output, a parameter or the flow")
	}
	return plan, nil
}

// list returns the steps by their ids.
func (p *planner) list() *Plan {
	plan, acted := &Plan{Kept: []string{}, Again: []string{}, planner: p}, p.stepsThatActed()
	for i, step := range p.flow.Steps {
		if !p.again[i] {
			plan.Kept = append(plan.Kept, step.ID)
			continue
		}
		plan.Again = append(plan.Again, step.ID)
		if acted[step.ID] {
			plan.Repeated = append(plan.Repeated, step.ID)
		}
	}
	return plan
}

// stepsThatActed returns the steps that began in the other run, or in which a step or a call began, and that may have changed
// something outside of it.
func (p *planner) stepsThatActed() map[string]bool {
	acted := map[string]bool{}
	for _, was := range p.record.State.Steps {
		def, ok := p.flow.FindCall(was.Call)
		mayAct := ok && (!def.Info.IsContained || def.Info.UsesMemory && !def.Info.OnlyRecalls)
		if mayAct && was.Attempts > 0 {
			acted[stepOf(was.ID)] = true
		}
	}
	return acted
}

// runAgain lets a step run again, and all steps that depend on it. A step with a given output does not run.
func (p *planner) runAgain(step int) {
	todo := []int{step}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p.again[at] || p.given[at] {
			continue
		}
		p.again[at] = true
		todo = append(todo, p.flow.Steps[at].Next...)
	}
}

// findStep finds a step that the request names.
func (p *planner) findStep(id string) (*flow.Step, bool) {
	step, ok := p.flow.Step(id)
	if ok {
		return step, true
	}
	host, _, isInside := strings.Cut(strings.ReplaceAll(id, "[", "/"), "/")
	if _, ok := p.flow.Step(host); ok && isInside {
		p.refuse(calls.Errorf(calls.Invalid, "a run cannot be forked at %s, inside the step %s", id, host).WithHint("fork it at %s", host))
		return nil, false
	}
	ids := make([]string, len(p.flow.Steps))
	for i, s := range p.flow.Steps {
		ids[i] = s.ID
	}
	p.refuse(calls.Errorf(calls.Invalid, "the flow %s has no step %q", p.flow.Name, id).WithHint("%s", value.DidYouMeanOrList(id, ids)))
	return nil, false
}

func (p *planner) refuse(err error) { p.wrong = append(p.wrong, err) }

// addGiven keeps the steps with given outputs; the steps after them see other outputs.
func (p *planner) addGiven() {
	for _, id := range sortedKeys(p.request.Outputs) {
		step, ok := p.findStep(id)
		if !ok {
			continue
		}
		p.given[step.Index] = true
		for _, problem := range outputProblems(step, p.request.Outputs[id]) {
			p.refuse(calls.Errorf(calls.Invalid, "the output of %s: %w", id, problem))
		}
	}
	for i, isGiven := range p.given {
		if isGiven {
			for _, next := range p.flow.Steps[i].Next {
				p.runAgain(next)
			}
		}
	}
}

// addChosen lets the step At run again, and the steps with edited parameters.
func (p *planner) addChosen() {
	if at := p.request.At; at != "" {
		host, piece := p.splitAt()
		if step, ok := p.findStep(host); ok {
			p.runAgain(step.Index)
			if p.given[step.Index] {
				p.refuse(calls.Errorf(calls.Invalid, "the step %s cannot both run again and have a given output", host))
			}
			if piece != "" && p.record.State.Step(at) == nil {
				p.refuse(p.unknownPiece(host, at))
			}
		}
	}
	for _, edit := range p.request.Params {
		step, ok := p.findStep(edit.Step)
		if !ok {
			continue
		}
		p.runAgain(step.Index)
		if _, err := p.editedParams(step); err != nil {
			p.refuse(err)
		}
	}
}

// checkPiece refuses a piece of a step's work at which the step cannot resume, because it begins with something
// else.
func (p *planner) checkPiece() {
	host, piece := p.splitAt()
	step, ok := p.flow.Step(host)
	if isChanged := ok && piece != "" && p.again[step.Index]; isChanged {
		p.refuse(calls.Errorf(calls.Invalid, "a change touches the step %s, so that it cannot go on at %s", host, piece).WithHint("fork it at %s", host))
	}
}

// splitAt returns the step of At, and the piece of its work that At names; "" for none.
func (p *planner) splitAt() (host, piece string) {
	if at := p.request.At; journal.IsPseudoStep(at) && !strings.ContainsAny(journal.OuterPath(at), "/[") {
		return journal.OuterPath(at), at
	}
	return p.request.At, ""
}

// unknownPiece returns the error of a piece of work that is not on record.
func (p *planner) unknownPiece(host, at string) error {
	var known []string
	for _, st := range p.record.State.Steps {
		if journal.IsPseudoStep(st.ID) && journal.OuterPath(st.ID) == host {
			known = append(known, st.ID)
		}
	}
	err := calls.Errorf(calls.Invalid, "the run %s has no %s on record", p.request.Run, at)
	if len(known) == 0 {
		return err.WithHint("fork it at %s", host)
	}
	return err.WithHint("%s", value.DidYouMeanOrList(at, known))
}

// addEdited lets the steps run again that an edited flow has changed; all steps run again if the flow's user,
// session or language has changed.
func (p *planner) addEdited() {
	before, after := p.record.Before, p.request.Flow
	if after == nil {
		return
	}
	isOtherRun := !value.Equal(surroundingsOf(before), surroundingsOf(after))
	for i, step := range after.Steps {
		was, ok := before.Step(step.ID)
		isSame := ok && value.Equal(was.Canonical(before), step.Canonical(after)) && value.Equal(was.Sub.Canonical(), step.Sub.Canonical())
		if isOtherRun || !isSame {
			p.runAgain(i)
		}
	}
}

// surroundingsOf returns the settings of a flow that affect every step.
func surroundingsOf(f *flow.Flow) value.Value {
	return value.OfMap(value.Pairs("user", f.User.Canonical(), "session", f.Session.Canonical(), "all", f.AllSessions, "language", f.Language))
}

// addInputs lets the steps run again that see a changed input. Every step may see the question, and its memory may be
// named by an input; a call that is not contained, for example of a plugin, sees all inputs.
func (p *planner) addInputs() {
	changed := p.request.Inputs.Map()
	if changed.Len() == 0 {
		return
	}
	_, isQuestion := changed.Get("question")
	mentions := func(param *flow.Param) (yes bool) {
		param.EachRef(func(ref prompt.Ref) {
			if ref.Path[0] == "inputs" && (len(ref.Path) == 1 || slices.Contains(changed.Keys(), ref.Path[1])) {
				yes = true
			}
		})
		return yes
	}
	f := p.flow
	isOtherRun := isQuestion || mentions(f.User) || mentions(f.Session) || mentions(f.Timezone)
	for i, step := range f.Steps {
		if isOtherRun || mentions(step.When) || mentions(step.With) || mentions(step.ForEach) || !step.Def.Info.IsContained || step.Def.Info.ReadsInputs {
			p.runAgain(i)
		}
	}
}

// addUnended lets the steps run that have not ended.
func (p *planner) addUnended() {
	for i, step := range p.flow.Steps {
		was := p.record.State.Step(step.ID)
		hasEnded := was != nil && (was.State == journal.StepStatusFinished || was.State == journal.StepStatusSkipped)
		if !hasEnded {
			p.runAgain(i)
		}
	}
}
