package scheduler

import (
	"regexp"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// A run that stops at a step runs only the steps before it, so that its record does not depend on the speed of
// parallel steps. The step itself is set aside when it asks its model, like a step that waits for values: all
// items of a list, and all matching steps in sub-flows, come that far.

// ErrUntil is the cause of a run's end at [StepExecutor] Until.
var ErrUntil error = calls.Errorf(calls.Canceled, "the run stopped where it was told to").
	WithHint("leave until out to run to the end")

// errAtUntil is the error of the step at which the run stops.
var errAtUntil error = calls.Errorf(calls.Canceled, "the run stops here, before the model is asked")

// stopPoint is the place at which one flow of a run stops.
type stopPoint struct {
	step int
	item int // -1: each
	// before has the steps before it.
	before map[int]bool
}

// findStopPoint finds the step of a flow at which a run that stops at until does so, or in which it does; prefix
// precedes the ids of its steps. It returns nil if until leads elsewhere.
func findStopPoint(until, prefix string, f *flow.Flow) (*stopPoint, error) {
	if until == "" {
		return nil, nil
	}
	rest := until
	for around := strings.TrimSuffix(prefix, "/"); around != ""; {
		segment, more, _ := strings.Cut(around, "/")
		wanted, after, isInside := strings.Cut(rest, "/")
		if !isInside || !meansSegment(wanted, segment) {
			return nil, nil
		}
		around, rest = more, after
	}
	segment, _, _ := strings.Cut(rest, "/")
	id, index := journal.SplitPath(segment)
	step, ok := f.Step(id)
	if !ok {
		ids := make([]string, len(f.Steps))
		for i, s := range f.Steps {
			ids[i] = s.ID
		}
		return nil, calls.Errorf(calls.Invalid, "the flow %s has no step %q to stop at", f.Name, id).WithHint("%s", value.DidYouMeanOrList(id, ids))
	}
	p := &stopPoint{step: step.Index, item: -1, before: map[int]bool{}}
	if index != nil {
		p.item = *index
	}
	for _, i := range f.Ancestors(step.Index) {
		p.before[i] = true
	}
	return p, nil
}

// meansSegment reports whether a segment of a path means a step or an item: without a number it means each.
func meansSegment(wanted, segment string) bool {
	if wanted == segment {
		return true
	}
	id, _, isItem := strings.Cut(segment, "[")
	return isItem && wanted == id
}

// substepNumber matches the end of the names of parts that a call runs inside its step.
var substepNumber = regexp.MustCompile(`-\d+$`)

// isUntil reports whether a run that stops at until does so at the step of this path, or at a part inside it.
func isUntil(until, path string) bool {
	wanted, segments := strings.Split(until, "/"), strings.Split(path, "/")
	if len(segments) < len(wanted) {
		return false
	}
	for i, segment := range wanted {
		if !meansSegment(segment, segments[i]) {
			return false
		}
	}
	for _, segment := range segments[len(wanted):] { // no step of a flow has a hyphen in its id
		if !substepNumber.MatchString(segment) {
			return false
		}
	}
	return true
}

// dropOthers drops the jobs at the head of the queue that are not needed to get to the step.
func (p *stopPoint) dropOthers(m *order.Machine) {
	for m.HasNext() {
		next := m.Peek()
		isOther := next.Step != p.step && !p.before[next.Step]
		isOtherItem := next.Step == p.step && next.Item >= 0 && p.item >= 0 && next.Item != p.item
		if !isOther && !isOtherItem {
			return
		}
		m.Next()
		if isOtherItem {
			m.NextItem(next.Step)
		}
	}
}
