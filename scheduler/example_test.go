package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
)

// A whole program that embeds the engine: it reads a flow, runs it with a model of scripted
// answers, and prints the reply as it comes. A real program takes a provider instead, such
// as llm/openai, and sets StepExecutor.Journal so that its runs can be resumed.
func Example() {
	const text = `
name: capital
inputs: {type: object, required: [country], properties: {country: {type: string}}}
steps:
  - id: answer
    call: chat
    with: {user: "What is the capital of {{ inputs.country }}?"}
    to_user: true
outputs: {reply: "{{ answer.text }}"}
`
	dir, err := os.MkdirTemp("", "capital")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "capital.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	registry, err := builtin.Registry() // everything that flows can name; add calls of your own
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &flow.Loader{Registry: registry}
	capital, problems := loader.Load(file)
	if problems.HasErrors() {
		fmt.Println(problems)
		return
	}
	env := calls.NewEnv()
	env.LLM = scripted.Texts("The capital of France is Paris.")
	executor := &scheduler.StepExecutor{Env: env, Loader: loader}
	inputs := value.OfMap(value.Pairs("country", "France"))
	for event, err := range executor.Run(context.Background(), capital, inputs) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if event.Data != nil {
			fmt.Print(event.Data.Text) // the text of step.delta
		}
	}
	// Output: The capital of France is Paris.
}
