package scheduler

import (
	"cmp"
	"slices"
	"sync"

	"github.com/callnode/scheduler/scheduler/journal"
)

// waitingSteps are the steps and items of a whole run, and of its sub-flows, that wait for
// values. It is safe for concurrent use.
type waitingSteps struct {
	mu    sync.Mutex
	steps []waitingStep // guarded by mu
}

type waitingStep struct {
	seq int64 // of its event
	journal.WaitingFor
}

func (w *waitingSteps) add(seq int64, step journal.WaitingFor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, waitingStep{seq, step})
}

// inOrder returns them in the order of their events.
func (w *waitingSteps) inOrder() []journal.WaitingFor {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.steps, func(a, b waitingStep) int { return cmp.Compare(a.seq, b.seq) })
	var list []journal.WaitingFor
	for _, step := range w.steps {
		list = append(list, step.WaitingFor)
	}
	return list
}
