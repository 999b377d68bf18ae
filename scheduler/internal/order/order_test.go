package order_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/scheduler/internal/order"
)

// dag is a random flow, and the outcome of each step if it runs.
type dag struct {
	needs    [][]int
	implicit []bool
	ends     []order.Status // Finished, or Skipped by the step's own condition
}

func drawDAG(t *rapid.T) *dag {
	n := rapid.IntRange(1, 12).Draw(t, "steps")
	d := &dag{needs: make([][]int, n), implicit: make([]bool, n), ends: make([]order.Status, n)}
	for i := range n {
		d.ends[i] = rapid.SampledFrom([]order.Status{order.Finished, order.Finished, order.Skipped}).Draw(t, "end")
		if i == 0 {
			continue
		}
		if rapid.Bool().Draw(t, "implicit") {
			d.needs[i], d.implicit[i] = []int{i - 1}, true
			continue
		}
		for before := range i {
			if rapid.Bool().Draw(t, "needs") {
				d.needs[i] = append(d.needs[i], before)
			}
		}
	}
	return d
}

func (d *dag) steps() []order.Step {
	steps := make([]order.Step, len(d.needs))
	for i, needs := range d.needs {
		steps[i].Needs, steps[i].Implicit = len(needs), d.implicit[i]
		for _, need := range needs {
			steps[need].Next = append(steps[need].Next, i)
		}
	}
	return steps
}

// want is how the steps must end by the rule itself: a step is skipped when it needs
// something, all of that was skipped, and the flow wrote the needs.
func (d *dag) want() []order.Status {
	ends := slices.Clone(d.ends)
	for i, needs := range d.needs {
		allSkipped := !slices.ContainsFunc(needs, func(need int) bool { return ends[need] != order.Skipped })
		if len(needs) > 0 && !d.implicit[i] && allSkipped {
			ends[i] = order.Skipped
		}
	}
	return ends
}

// driver runs a machine, with releases that may come late, like releases that wait for a journal.
type driver struct {
	*dag
	t        *rapid.T
	m        *order.Machine
	over     map[int]bool // steps whose end was reported
	began    map[int]bool
	running  []int
	withheld []int // ended, not released
}

func (d *driver) note(changes []order.Change) {
	for _, c := range changes {
		for _, need := range d.needs[c.Step] {
			if !d.over[need] {
				d.t.Fatalf("step %d is %d before its need %d is over", c.Step, c.Status, need)
			}
		}
		if d.began[c.Step] {
			d.t.Fatalf("step %d begins twice", c.Step)
		}
		d.began[c.Step] = true
		if c.Status == order.Skipped {
			d.over[c.Step] = true
		}
	}
}

// play takes moves until nothing is left, or until it has taken most of them.
func (d *driver) play(most int) {
	for range most {
		var moves []string
		if d.m.HasNext() {
			moves = append(moves, "take")
		}
		if len(d.running) > 0 {
			moves = append(moves, "end")
		}
		if len(d.withheld) > 0 {
			moves = append(moves, "release")
		}
		if len(moves) == 0 {
			return
		}
		pick := func(list *[]int) int {
			at := rapid.IntRange(0, len(*list)-1).Draw(d.t, "which")
			step := (*list)[at]
			*list = slices.Delete(*list, at, at+1)
			return step
		}
		switch rapid.SampledFrom(moves).Draw(d.t, "move") {
		case "take":
			job := d.m.Next()
			if job.Item != -1 || d.m.Status(job.Step) != order.Running {
				d.t.Fatalf("took %+v", job)
			}
			d.running = append(d.running, job.Step)
		case "end":
			step := pick(&d.running)
			d.m.SetStatus(step, d.ends[step])
			d.withheld = append(d.withheld, step)
		case "release":
			step := pick(&d.withheld)
			d.over[step] = true
			d.note(d.m.Release(step))
		}
	}
}

func newDriver(t *rapid.T, d *dag) *driver {
	return &driver{dag: d, t: t, m: order.New(d.steps()), over: map[int]bool{}, began: map[int]bool{}}
}

// Every step begins once, after its needs, and ends as the rule says, in any order of the other ends.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, drawDAG(t))
		d.note(d.m.Start())
		d.play(1 << 20)
		d.check()
	})
}

func (d *driver) check() {
	d.t.Helper()
	got := make([]order.Status, len(d.needs))
	for i := range got {
		got[i] = d.m.Status(i)
	}
	if diff := cmp.Diff(d.want(), got); diff != "" {
		d.t.Fatalf("the steps end (-want +got):\n%s", diff)
	}
}

// A machine that is restored from the finished steps of another comes to the same end, and begins no finished
// step.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := newDriver(t, drawDAG(t))
		first.note(first.m.Start())
		first.play(rapid.IntRange(0, 30).Draw(t, "moves"))
		second := newDriver(t, first.dag)
		for step := range first.over {
			second.m.Restore(step, first.m.Status(step))
			second.over[step], second.began[step] = true, true
		}
		second.note(second.m.Start())
		second.play(1 << 20)
		second.check()
	})
}

// Every item that is not over comes once, in order, and no more than the limit are
// queued or at work.
func TestItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, limit := rapid.IntRange(1, 20).Draw(t, "items"), rapid.IntRange(0, 5).Draw(t, "limit")
		kept := rapid.SliceOfN(rapid.Bool(), items, items).Draw(t, "kept")
		var want []int
		for i, over := range kept {
			if !over {
				want = append(want, i)
			}
		}
		m := order.New([]order.Step{{}})
		m.Start()
		m.Next()
		if left := m.FanOut(0, items, limit, kept); left != (len(want) > 0) {
			t.Fatalf("%d items are left, and FanOut says %v", len(want), left)
		}
		var got []int
		atWork, last := 0, len(want) == 0
		for m.HasNext() || atWork > 0 {
			if m.HasNext() && (atWork == 0 || rapid.Bool().Draw(t, "take")) {
				got = append(got, m.Next().Item)
				atWork++
			} else {
				atWork--
				m.NextItem(0)
				last = m.ItemOver(0)
			}
			if limit > 0 && atWork > limit {
				t.Fatalf("%d items are at work", atWork)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !last || m.HasMoreItems(0) {
			t.Fatalf("the last was told: %v; the items (-want +got):\n%s", last, diff)
		}
	})
}
