// Package bench measures the engine beside a peer, in one process and on one
// machine, so that the ratio holds wherever it runs. It is a module of its own:
// the program does not depend on the peer. For example, both run the same graph of 100 steps.
package bench

import (
	"context"
	"fmt"
	"iter"

	"github.com/cloudwego/eino/compose"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
)

// runner runs a graph once, to its end.
type runner func(ctx context.Context) error

// noop is a call that does nothing, written as an author writes one.
type noop struct{}

func (noop) Init(context.Context, *calls.Vars) (struct{}, error) { return struct{}{}, nil }

func (noop) Exec(context.Context, *calls.Env, struct{}) iter.Seq2[calls.Chunk, error] {
	return calls.Data(struct{}{})
}

// edges are the successors of each of n nodes.
type edges [][]int

// chain returns a line of n nodes.
func chain(n int) edges {
	e := make(edges, n)
	for i := range n - 1 {
		e[i] = []int{i + 1}
	}
	return e
}

// fan returns one node, then n-2 side by side, then one that waits for them all.
func fan(n int) edges {
	e := make(edges, n)
	for i := 1; i < n-1; i++ {
		e[0] = append(e[0], i)
		e[i] = []int{n - 1}
	}
	return e
}

// ours returns the graph as a flow. A run reads every event.
func ours(e edges) runner {
	def := calls.Define[noop, struct{}, struct{}](calls.Info{Name: "noop"})
	f := &flow.Flow{File: "bench.yaml", Name: "bench", Steps: make([]*flow.Step, len(e))}
	for i := range e {
		f.Steps[i] = &flow.Step{Index: i, ID: fmt.Sprint("s", i), Call: "noop", Def: def, Next: e[i]}
	}
	for i := range e {
		for _, next := range e[i] {
			f.Steps[next].Needs = append(f.Steps[next].Needs, i)
		}
	}
	exec := &scheduler.StepExecutor{}
	want := 4*len(e) + 2 // four events a step, two of the flow
	return func(ctx context.Context) error {
		events := 0
		for _, err := range exec.Run(ctx, f, value.Value{}) {
			if err != nil {
				return err
			}
			events++
		}
		if events != want {
			return fmt.Errorf("%d events, want %d", events, want)
		}
		return nil
	}
}

// einos returns the graph as an Eino graph whose nodes pass a map on, the type that Eino merges when edges join.
func einos(ctx context.Context, e edges) (runner, error) {
	g := compose.NewGraph[map[string]any, map[string]any]()
	nothing := compose.InvokableLambda(func(context.Context, map[string]any) (map[string]any, error) {
		return map[string]any{}, nil
	})
	name := func(i int) string { return fmt.Sprint("s", i) }
	for i := range e {
		if err := g.AddLambdaNode(name(i), nothing); err != nil {
			return nil, err
		}
	}
	if err := g.AddEdge(compose.START, name(0)); err != nil {
		return nil, err
	}
	for i := range e {
		for _, next := range e[i] {
			if err := g.AddEdge(name(i), name(next)); err != nil {
				return nil, err
			}
		}
	}
	if err := g.AddEdge(name(len(e)-1), compose.END); err != nil {
		return nil, err
	}
	run, err := g.Compile(ctx, compose.WithNodeTriggerMode(compose.AllPredecessor))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := run.Invoke(ctx, map[string]any{})
		return err
	}, nil
}
