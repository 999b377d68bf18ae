package prompt

import (
	"context"
	"errors"
)

// Bounds of every template and rendering. They stop runaway templates long
// before memory or the stack run out, and are far above what a prompt needs.
const (
	maxSource    = 256 << 10 // bytes of a template
	maxNesting   = 300       // parentheses, operators and subscripts inside each other
	maxBlocks    = 100       // statements inside each other
	maxSteps     = 2_000_000 // loop iterations, elements walked, calls, and one per 256 bytes made
	maxCalls     = 100       // macros, callers and recursive loops inside each other
	maxBytes     = 16 << 20  // of the rendered text, and of any string made on the way
	maxItems     = 1_000_000 // of a list made on the way
	maxRange     = 100_000   // of a range, as in Jinja2's sandbox
	maxDigits    = 5000      // of an integer that is written or read
	maxValue     = 1200      // lists and objects inside each other
	maxArguments = 250       // of a call
	maxVars      = 1000      // of a frame or a namespace
	maxPad       = 1 << 20   // columns of a width, an indent or a precision
)

// checkEvery is the number of steps after which the context is asked again.
const checkEvery = 1024

// countSteps counts n steps and ends the rendering at the bound or the deadline.
func (m *evaluator) countSteps(n int) error {
	m.steps += n
	if m.steps < m.check {
		return nil
	}
	return m.checkSteps()
}

func (m *evaluator) checkSteps() error {
	if m.steps > maxSteps {
		return errorf(Limit, "the template takes more than %d steps", maxSteps)
	}
	m.check = m.steps + checkEvery
	if err := m.ctx.Err(); err != nil {
		e := errorf(Limit, "the template was stopped: %v", err)
		if errors.Is(err, context.DeadlineExceeded) {
			e.Msg = "the template takes too long"
		}
		e.Err = err
		return e
	}
	return nil
}

// checkTextSize checks the size of a string before it is made.
func (m *evaluator) checkTextSize(n int) error {
	if n < 0 || n > maxBytes {
		return errorf(Limit, "a text of more than %d bytes", maxBytes)
	}
	return m.countSteps(n >> 8)
}

// checkListSize checks the size of a list before it is made.
func (m *evaluator) checkListSize(n int) error {
	if n < 0 || n > maxItems {
		return errorf(Limit, "a list of more than %d elements", maxItems)
	}
	return m.countSteps(n)
}
