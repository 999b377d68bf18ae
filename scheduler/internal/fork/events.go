package fork

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Events returns the first events of the forked run, after flow.started. A kept step has everything on record,
// except its costs and the text that it streamed; a step that resumes at a later piece of its work has everything
// before that piece; a step with edited parameters has these parameters. Seq and Run of the events are not set.
func (plan *Plan) Events(now time.Time) ([]*journal.Event, error) {
	p := plan.planner
	w := writer{request: p.request, now: now}
	host, until := p.keptWork()
	for _, ev := range p.record.Events {
		step, ok := p.flow.Step(stepOf(ev.Step))
		if !ok {
			continue
		}
		isKept := !p.again[step.Index] && !p.given[step.Index]
		isPart := step.ID == host && p.isKeptPart(ev, until)
		if isKept || isPart {
			w.copyEvent(ev)
		}
	}
	for i, step := range p.flow.Steps {
		was := p.record.State.Step(step.ID)
		switch {
		case p.given[i]:
			w.addGiven(step, was, p.request.Outputs[step.ID])
		case p.hasEdit(step.ID):
			params, err := p.editedParams(step)
			if err != nil {
				return nil, err
			}
			w.addParams(step, was, params)
		}
	}
	return w.events, nil
}

// keptWork returns the step that keeps a part of its work, and the Seq at which that part ends; "" if none does.
func (p *planner) keptWork() (host string, until int64) {
	host, piece := p.splitAt()
	if piece == "" {
		return "", 0
	}
	return host, p.record.State.Step(piece).StartedSeq
}

// isKeptPart reports whether an event of a step that resumes at a later piece is kept: the step's beginning, and
// the pieces that finished before. Answers and approvals that people gave for the step itself, or for a later
// piece, applied to that use only and are dropped.
func (p *planner) isKeptPart(ev *journal.Event, until int64) bool {
	if ev.Seq >= until {
		return false
	}
	if ev.Step == stepOf(ev.Step) {
		return ev.Index == nil && (ev.Type == journal.StepStarted || ev.Type == journal.StepInput)
	}
	if p.finishedBefore == nil {
		p.finishedBefore = map[string]bool{}
		for _, other := range p.record.Events {
			if other.Type == journal.StepFinished && other.Seq < until {
				p.finishedBefore[journal.StepPath(other.Step, other.Index)] = true
			}
		}
	}
	return p.finishedBefore[journal.StepPath(ev.Step, ev.Index)]
}

// stepOf returns the step of the flow that an event belongs to: outer for outer/inner and outer[3]/inner.
func stepOf(id string) string {
	if i := strings.IndexAny(id, "/["); i >= 0 {
		return id[:i]
	}
	return id
}

// writer collects the events of a forked run.
type writer struct {
	request *Request
	now     time.Time
	events  []*journal.Event
}

// copyEvent adds an event of the other run, unless it only describes progress, for example a streamed delta.
func (w *writer) copyEvent(ev *journal.Event) {
	switch ev.Type { //nolint:exhaustive // the others are kept
	case journal.StepReady, journal.StepDelta, journal.StepRetrying, journal.StepChild:
		return
	}
	kept, data := *ev, journal.Data{}
	if ev.Data != nil {
		data = *ev.Data
	}
	data.Usage, data.LLM = nil, nil // they were paid in the other run
	if ev.Type == journal.StepFinished || ev.Type == journal.StepSkipped {
		data.FromRun = w.request.Run
	}
	kept.Data, kept.Time = &data, w.now
	w.events = append(w.events, &kept)
}

// add adds an event of a step.
func (w *writer) add(t journal.EventType, step string, data *journal.Data) {
	w.events = append(w.events, &journal.Event{Type: t, Step: step, Time: w.now, Data: data})
}

// addGiven adds a step with a given output; was is the step of the other run, nil if it did not begin.
func (w *writer) addGiven(step *flow.Step, was *journal.StepState, output value.Value) {
	w.add(journal.StepStarted, step.ID, &journal.Data{Call: step.Call, ToUser: step.ToUser})
	if was != nil && step.ForEach == nil && !was.Input.IsNull() {
		w.add(journal.StepInput, step.ID, &journal.Data{Params: &was.Params, Input: &was.Input, Names: &was.Names, Masked: was.MaskedParams, Spans: was.Spans})
	}
	w.add(journal.StepFinished, step.ID, &journal.Data{Output: &output, IsGiven: true})
}

// addParams adds a step that begins with edited parameters.
func (w *writer) addParams(step *flow.Step, was *journal.StepState, params value.Value) {
	w.add(journal.StepInput, step.ID, &journal.Data{Params: &params, Names: &was.Names})
}

func (p *planner) hasEdit(step string) bool {
	return slices.ContainsFunc(p.request.Params, func(edit ParamEdit) bool { return edit.Step == step })
}

// editedParams returns the parameters that a step had, with the edits.
func (p *planner) editedParams(step *flow.Step) (value.Value, error) {
	was := p.record.State.Step(step.ID)
	switch {
	case step.ForEach != nil:
		return value.Value{}, calls.Errorf(calls.Invalid, "the step %s has parameters for each of its items", step.ID).WithHint("edit the flow (--flow)")
	case was == nil || was.Params.IsNull():
		return value.Value{}, calls.Errorf(calls.Invalid, "the step %s had no parameters: it did not begin", step.ID).WithHint("edit the flow (--flow)")
	case len(was.MaskedParams) > 0:
		return value.Value{}, calls.Errorf(calls.Invalid, "the parameters of the step %s held a secret, which is not on record", step.ID).WithHint("edit the flow (--flow)")
	}
	params := was.Params
	for _, edit := range p.request.Params {
		if edit.Step != step.ID {
			continue
		}
		changed, ok := params.ReplaceAt(edit.Pointer, edit.Value)
		if !ok {
			return value.Value{}, calls.Errorf(calls.Invalid, "the parameters of the step %s have nothing at %q", step.ID, edit.Pointer).
				WithHint("use a JSON pointer into them, for example %q", "/"+firstKey(params))
		}
		params = changed
	}
	return params, nil
}

// firstKey returns the name of a parameter for an example.
func firstKey(params value.Value) string {
	if keys := params.Map().Keys(); len(keys) > 0 {
		return value.Escape(keys[0])
	}
	return "name"
}

// outputProblems returns each place at which a given output does not fit the schema of the step's output.
func outputProblems(step *flow.Step, output value.Value) (all []error) {
	if step.Output.IsNull() {
		return nil
	}
	s, err := schema.Parse(step.Output)
	if err != nil {
		return nil // the schema is the call's; the request cannot change it
	}
	for _, problem := range s.Check(output) {
		all = append(all, problem)
	}
	return all
}

// sortedKeys returns the steps with given outputs in a fixed order.
func sortedKeys(outputs map[string]value.Value) []string { return slices.Sorted(maps.Keys(outputs)) }
