package scheduler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/callnode/scheduler/scheduler/flow"
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

// InFileOrder returns what waits sorted by its place in the flow, items by their index.
func InFileOrder(f *flow.Flow, waiting []journal.WaitingFor) []journal.WaitingFor {
	sorted := slices.Clone(waiting)
	slices.SortStableFunc(sorted, func(a, b journal.WaitingFor) int {
		return slices.Compare(stepPlaces(f, a.Step), stepPlaces(f, b.Step))
	})
	return sorted
}

// stepPlaces returns, for every level of outer[3]/inner, the place of the step in its flow
// and the index of the item, -1 for none.
func stepPlaces(f *flow.Flow, path string) (places []int) {
	for f != nil {
		segment, rest, isInside := strings.Cut(path, "/")
		name, index, _ := strings.Cut(segment, "[")
		n, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil {
			n = -1
		}
		step, ok := f.Step(name)
		if !ok {
			break
		}
		places = append(places, step.Index, n)
		if !isInside {
			break
		}
		f, path = step.Sub, rest
	}
	return places
}
