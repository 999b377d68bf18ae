package pyvalue

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// Run is the state that the values of one evaluation or rendering share: the count of their steps, the context
// that may end them, and the known origins. The evaluator has one; one goroutine uses it.
type Run struct {
	Ctx   context.Context
	steps int
	check int // the step at which the context is asked next

	Here int // offset of the filter or call that runs
	// Seeder and Source make the random numbers of a rendering: the same seed and text give the same ones. A Seeder
	// that has no method RandomSeed means the seed 0.
	Scope   Scope
	Source  *string
	random  *rand.Rand
	walking int  // generators inside each other
	Soft    bool // undefined names are empty text, false and an empty list

	// of traces
	Trace   bool
	Touched []*trace.Origin // the origins that the expression mentions
	Masked  bool            // secrets are masks: see package eval
	Decided []*trace.Origin // origins with secrets that decided that this is evaluated
}

// RandomIndex returns a random number from 0 to n-1.
func (m *Run) RandomIndex(n int) int {
	if m.random == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(*m.Source)) // it never fails
		seed := uint64(0)
		if s, ok := m.Scope.(interface{ RandomSeed() uint64 }); ok {
			seed = s.RandomSeed()
		}
		m.random = rand.New(rand.NewPCG(seed, h.Sum64()))
	}
	return m.random.IntN(n)
}

// Scope holds the values of names. The caller makes one for a rendering, which asks
// it for each name that the template reaches, at most once, from one goroutine.
type Scope interface {
	// Lookup returns the value of a name. ok is false for an undefined name; an
	// error ends the rendering.
	Lookup(name string) (v value.Value, ok bool, err error)
}

// checkEvery is the number of steps after which the context is asked again.
const checkEvery = 1024

// CountSteps counts n steps and ends the rendering at the bound or the deadline.
func (m *Run) CountSteps(n int) error {
	m.steps += n
	if m.steps < m.check {
		return nil
	}
	return m.checkSteps()
}

func (m *Run) checkSteps() error {
	if m.steps > fault.MaxSteps {
		return fault.Errorf(fault.Limit, "the template takes more than %d steps", fault.MaxSteps)
	}
	m.check = m.steps + checkEvery
	if err := m.Ctx.Err(); err != nil {
		e := fault.Errorf(fault.Limit, "the template was stopped: %v", err)
		if errors.Is(err, context.DeadlineExceeded) {
			fault.SetMessage(e, "the template takes too long")
		}
		e.Err = err
		return e
	}
	return nil
}

// CheckTextSize checks the size of a string before it is made.
func (m *Run) CheckTextSize(n int) error {
	if n < 0 || n > fault.MaxBytes {
		return fault.Errorf(fault.Limit, "a text of more than %d bytes", fault.MaxBytes)
	}
	return m.CountSteps(n >> 8)
}

// CheckListSize checks the size of a list before it is made.
func (m *Run) CheckListSize(n int) error {
	if n < 0 || n > fault.MaxItems {
		return fault.Errorf(fault.Limit, "a list of more than %d elements", fault.MaxItems)
	}
	return m.CountSteps(n)
}

func valueTooDeep() error {
	return fault.Errorf(fault.Limit, "a value nested deeper than %d", fault.MaxValue)
}
