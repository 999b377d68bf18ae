package scheduler

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

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
