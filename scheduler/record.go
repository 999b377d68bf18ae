package scheduler

import (
	"fmt"

	"github.com/callnode/scheduler/llm/value"
)

// Record is what the events of a run leave behind: the inputs, and what every
// step got and gave. [Explain] reads it.
type Record struct {
	Inputs value.Value
	steps  map[string]*StepRecord
	order  []string
}

// StepRecord is what is recorded of one step, or of one item of a for_each step.
type StepRecord struct {
	// ID is the step's id; an item is id[index].
	ID string
	// Params are the rendered parameters, Input is what Init made of them.
	Params, Input value.Value
	Output        value.Value
	Finished      bool
}

// NewRecord gives an empty record.
func NewRecord() *Record { return &Record{steps: map[string]*StepRecord{}} }

// Add takes the next event of the run.
func (r *Record) Add(e *Event) {
	if e.Type == FlowStarted && e.Data != nil && e.Data.Inputs != nil && r.Inputs.IsNull() {
		r.Inputs = *e.Data.Inputs
	}
	if e.Step == "" || e.Data == nil {
		return
	}
	id := e.Step
	if e.Index != nil {
		id = fmt.Sprintf("%s[%d]", e.Step, *e.Index)
	}
	s := r.steps[id]
	if s == nil {
		s = &StepRecord{ID: id}
		r.steps[id] = s
		r.order = append(r.order, id)
	}
	switch e.Type { //nolint:exhaustive // the others carry nothing to keep
	case StepInput:
		if e.Data.Params != nil {
			s.Params = *e.Data.Params
		}
		if e.Data.Input != nil {
			s.Input = *e.Data.Input
		}
	case StepFinished:
		if e.Data.Output != nil {
			s.Output, s.Finished = *e.Data.Output, true
		}
	}
}

// Step is what is recorded of the step or item of that id; nil where nothing is.
func (r *Record) Step(id string) *StepRecord { return r.steps[id] }
