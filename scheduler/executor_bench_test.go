package scheduler

import (
	"context"
	"fmt"
	"iter"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// noop is a call that does nothing, as an author would write it.
type noop struct{}

func (noop) Init(context.Context, *calls.Vars) (struct{}, error) { return struct{}{}, nil }

func (noop) Exec(context.Context, *calls.Env, struct{}) iter.Seq2[calls.Chunk, error] {
	return calls.Data(struct{}{})
}

func noopDefinition() calls.Definition {
	return calls.Define[noop, struct{}, struct{}](calls.Info{Name: "noop", Summary: calls.Text{En: "Does nothing."}})
}

// chain is a flow of n steps, one after the other.
func chain(n int) *flow.Flow {
	def := noopDefinition()
	f := &flow.Flow{File: "chain.yaml", Name: "chain", Steps: make([]*flow.Step, n)}
	for i := range f.Steps {
		s := &flow.Step{Index: i, ID: fmt.Sprint("s", i), Call: "noop", Def: def, Implicit: i > 0}
		if i > 0 {
			s.Needs = []int{i - 1}
			f.Steps[i-1].Next = []int{i}
		}
		f.Steps[i] = s
	}
	return f
}

// fan is a flow of n steps: one, then n-2 side by side, then one.
func fan(n int) *flow.Flow {
	f := chain(n)
	first, last := f.Steps[0], f.Steps[n-1]
	first.Next, last.Needs = nil, nil
	for i := 1; i < n-1; i++ {
		f.Steps[i].Needs, f.Steps[i].Next = []int{0}, []int{n - 1}
		first.Next = append(first.Next, i)
		last.Needs = append(last.Needs, i)
	}
	return f
}

func BenchmarkRun(b *testing.B) {
	for name, build := range map[string]func(int) *flow.Flow{"chain": chain, "fan": fan} {
		for _, n := range []int{10, 100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				flow, exec := build(n), &StepExecutor{}
				b.ReportAllocs()
				before := cpuTime()
				for b.Loop() {
					events := 0
					for _, err := range exec.Run(context.Background(), flow, value.Value{}) {
						if err != nil {
							b.Fatal(err)
						}
						events++
					}
					if events != 4*n+2 {
						b.Fatal(events)
					}
				}
				b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/float64(n), "cpu-ns/step")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
			})
		}
	}
}

// cpuTime is the CPU time of the process in nanoseconds, which other processes on the machine do not change.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
