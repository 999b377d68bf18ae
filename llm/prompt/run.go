package prompt

import (
	"context"
	"errors"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

// run is what the values of one evaluation or rendering share: the steps that they take and
// the context that may end them, and what is known of their origins. The evaluator has one; one
// goroutine uses it.
type run struct {
	ctx   context.Context
	steps int
	check int // the step at which the context is asked next

	here    int  // offset of the filter or call that runs
	walking int  // generators inside each other
	soft    bool // what is undefined is empty text, false and an empty list

	// of traces
	trace   bool
	touched []*trace.Origin // what the expression mentions
	masked  bool            // secrets are masks: see traceMasked
	decided []*trace.Origin // what is made of secrets and has decided that this is evaluated
}

// checkEvery is the number of steps after which the context is asked again.
const checkEvery = 1024

// countSteps counts n steps and ends the rendering at the bound or the deadline.
func (m *run) countSteps(n int) error {
	m.steps += n
	if m.steps < m.check {
		return nil
	}
	return m.checkSteps()
}

func (m *run) checkSteps() error {
	if m.steps > fault.MaxSteps {
		return fault.Errorf(fault.Limit, "the template takes more than %d steps", fault.MaxSteps)
	}
	m.check = m.steps + checkEvery
	if err := m.ctx.Err(); err != nil {
		e := fault.Errorf(fault.Limit, "the template was stopped: %v", err)
		if errors.Is(err, context.DeadlineExceeded) {
			fault.SetMessage(e, "the template takes too long")
		}
		e.Err = err
		return e
	}
	return nil
}

// checkTextSize checks the size of a string before it is made.
func (m *run) checkTextSize(n int) error {
	if n < 0 || n > fault.MaxBytes {
		return fault.Errorf(fault.Limit, "a text of more than %d bytes", fault.MaxBytes)
	}
	return m.countSteps(n >> 8)
}

// checkListSize checks the size of a list before it is made.
func (m *run) checkListSize(n int) error {
	if n < 0 || n > fault.MaxItems {
		return fault.Errorf(fault.Limit, "a list of more than %d elements", fault.MaxItems)
	}
	return m.countSteps(n)
}

// undefined returns the value of what is not there: in a chat template it is empty.
func (m *run) undefined(u *undefinedValue) val {
	u.soft = m.soft && u.class == fault.Undefined
	return ofPython(u)
}
