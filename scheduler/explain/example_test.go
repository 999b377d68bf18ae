package explain_test

import (
	"context"
	"fmt"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Explain reads the events of a run and returns the source of each piece of a prompt.
func ExampleExplain() {
	registry, err := builtin.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &flow.Loader{Registry: registry}
	f, problems := loader.Parse("hello.yaml", []byte(`
inputs: {type: object, properties: {name: {type: string}}}
steps:
  - {id: answer, call: chat, with: {user: "Greet {{ inputs.name }}."}}
`))
	if f == nil {
		fmt.Println(problems)
		return
	}
	executor := &scheduler.StepExecutor{Loader: loader, Env: calls.NewEnv()}
	executor.Env.LLM = scripted.Texts("Hello, Mei!")
	state := journal.NewRunState()
	for event, err := range executor.Run(context.Background(), f, value.OfMap(value.Pairs("name", "Mei"))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		state.Add(event)
	}
	prompts, err := explain.Explain(context.Background(), f, state, "answer", executor.Env.Tokens)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, piece := range prompts[0].Messages[0].Pieces {
		fmt.Printf("%q from %s\n", piece.Text, piece.Way().En)
	}
	// Output:
	// "Greet " from hello.yaml:4:44
	// "Mei" from inputs.name (hello.yaml:4:53)
	// "." from hello.yaml:4:67
}
