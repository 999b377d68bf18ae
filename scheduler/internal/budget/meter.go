// Package budget counts a run's spending on models, and ends work that exceeds its budget. For example, an answer
// is cut when the tokens of its step are used up.
package budget

import (
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// Meter counts the spending of a step, a for_each or a flow. A step's spending counts for everything around it.
// Its zero value has no limit; it is safe for concurrent use once it is set up.
type Meter struct {
	outer *Meter
	limit int64 // in tokens; 0: none

	mu    sync.Mutex
	spent llm.Usage // guarded by mu
}

// SetOuter makes spending count for the meter around this one too.
func (m *Meter) SetOuter(outer *Meter) { m.outer = outer }

// SetLimit limits the spending, in tokens; 0 is no limit.
func (m *Meter) SetLimit(tokens int64) { m.limit = tokens }

// Preset adds the spending of earlier processes.
func (m *Meter) Preset(u llm.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = u
}

// Usage returns the spending so far.
func (m *Meter) Usage() llm.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// Left returns how many tokens the tightest budget around has left; 0 if there is none. The error is of kind
// Budget: one is used up.
func (m *Meter) Left() (tokens int, err error) {
	if err := m.checkLimit(1); err != nil {
		return 0, err
	}
	for ; m != nil; m = m.outer {
		if left := int(m.limit) - m.Usage().Total(); m.limit > 0 && (tokens == 0 || left < tokens) {
			tokens = left
		}
	}
	return tokens, nil
}

// Add counts spending, here and for everything around.
func (m *Meter) Add(u llm.Usage) {
	for ; m != nil; m = m.outer {
		m.mu.Lock()
		m.spent.Add(u)
		m.mu.Unlock()
	}
}

// checkLimit returns an error if extra more tokens do not fit into a budget around.
func (m *Meter) checkLimit(extra int64) error {
	for ; m != nil; m = m.outer {
		if m.limit > 0 && int64(m.Usage().Total())+extra > m.limit {
			return calls.Errorf(calls.Budget, "the budget of %d tokens is used up", m.limit).
				WithHint("raise budget.max_tokens of the flow, or make its prompts shorter")
		}
	}
	return nil
}

func (m *Meter) hasLimit() bool {
	for ; m != nil; m = m.outer {
		if m.limit > 0 {
			return true
		}
	}
	return false
}
