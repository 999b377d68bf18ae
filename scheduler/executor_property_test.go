package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// dagStep is a step of a random flow.
type dagStep struct {
	needs    []int
	implicit bool
	when     bool
	fails    bool
	goesOn   bool // on_error: continue
	items    int  // -1: no for_each
}

func drawDAG(t *rapid.T) []dagStep {
	steps := make([]dagStep, rapid.IntRange(1, 12).Draw(t, "steps"))
	for i := range steps {
		s := &steps[i]
		s.implicit = rapid.Bool().Draw(t, "implicit")
		s.when = rapid.IntRange(0, 3).Draw(t, "when") > 0
		s.fails = rapid.IntRange(0, 5).Draw(t, "fails") == 0
		s.goesOn = rapid.Bool().Draw(t, "on_error")
		s.items = rapid.IntRange(-3, 3).Draw(t, "items")
		switch {
		case s.implicit && i > 0:
			s.needs = []int{i - 1}
		case i > 0:
			s.needs = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID[int]).Draw(t, "needs")
		}
	}
	return steps
}

func dagYAML(steps []dagStep) string {
	var b strings.Builder
	b.WriteString("name: random\nsteps:\n")
	for i, s := range steps {
		call := "echo"
		if s.fails {
			call = "fail"
		}
		fmt.Fprintf(&b, "  - {id: s%d, call: %s, when: '{{ %t }}'", i, call, s.when)
		if !s.implicit {
			needs := make([]string, len(s.needs))
			for j, n := range s.needs {
				needs[j] = fmt.Sprint("s", n)
			}
			fmt.Fprintf(&b, ", needs: [%s]", strings.Join(needs, ", "))
		}
		if s.goesOn {
			b.WriteString(", on_error: continue")
		}
		if s.items >= 0 {
			fmt.Fprintf(&b, ", for_each: [%s]", strings.TrimSuffix(strings.Repeat("0, ", s.items), ", "))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// model says how each step ends when no failure ends the run before.
func model(steps []dagStep) []journal.EventType {
	ends := make([]journal.EventType, len(steps))
	for i, s := range steps {
		ran, failed := len(s.needs) == 0 || s.implicit, false
		for _, n := range s.needs {
			ran = ran || ends[n] == journal.StepFinished
			failed = failed || ends[n] == journal.StepFailed || ends[n] == ""
		}
		switch {
		case failed: // never starts
		case !ran || !s.when:
			ends[i] = journal.StepSkipped
		case s.fails && !s.goesOn && s.items != 0:
			ends[i] = journal.StepFailed
		default:
			ends[i] = journal.StepFinished
		}
	}
	return ends
}

// TestRandomFlows holds random flows to the rules of order, joins, conditions and
// failures.
func TestRandomFlows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := drawDAG(rt)
		parallel := rapid.IntRange(1, 4).Draw(rt, "parallel")
		text := dagYAML(steps)
		flow := schedulertest.Load(t, text)
		r, err := scheduler.Collect((&scheduler.StepExecutor{MaxParallel: parallel}).Run(t.Context(), flow, value.Value{}))
		want := model(steps)
		failures := 0
		for _, end := range want {
			if end == journal.StepFailed {
				failures++
			}
		}
		if (err != nil) != (failures > 0) {
			rt.Fatalf("%d steps fail, the run ends with %v\n%s", failures, err, text)
		}
		checkOrder(rt, flow, r.Events)
		for i, end := range ends(flow, r.Events) {
			switch {
			case end == want[i], failures > 0 && end == "":
			case failures > 0 && end == journal.StepFailed && want[i] == journal.StepFinished: // cancelled
			default:
				rt.Fatalf("step %d ends with %q, want %q\n%s", i, end, want[i], text)
			}
		}
	})
}

// ends returns the end of each step; "" for one that did not.
func ends(flow *flow.Flow, events []*journal.Event) []journal.EventType {
	found := make([]journal.EventType, len(flow.Steps))
	for _, ev := range events {
		if ev.Step == "" || ev.Index != nil {
			continue
		}
		step, _ := flow.Step(ev.Step)
		switch ev.Type { //nolint:exhaustive // only ends
		case journal.StepFinished, journal.StepFailed, journal.StepSkipped:
			found[step.Index] = ev.Type
		}
	}
	return found
}

// checkOrder checks the guarantees for the events of any run: no gaps, nothing twice, no step ready before its
// needs are over.
func checkOrder(t *rapid.T, flow *flow.Flow, events []*journal.Event) {
	seen := map[string]bool{}
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Seq)
		}
		key := schedulertest.Line(&journal.Event{Type: ev.Type, Step: ev.Step, Index: ev.Index})
		if seen[key] {
			t.Fatalf("%s happens twice", key)
		}
		seen[key] = true
		if ev.Type != journal.StepReady {
			continue
		}
		step, _ := flow.Step(ev.Step)
		for _, n := range step.Needs {
			id := flow.Steps[n].ID
			if !seen["step.finished "+id] && !seen["step.skipped "+id] {
				t.Fatalf("%s is ready before %s is over", ev.Step, id)
			}
		}
	}
}
