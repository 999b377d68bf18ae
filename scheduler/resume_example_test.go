package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/memory"
)

// A run that failed is resumed: the step that finished is not run again.
func ExampleStepExecutor_Resume() {
	type output struct {
		Text string `json:"text" doc:"What was done."`
	}
	isReachable := false
	registry, err := calls.NewRegistry(
		calls.Func("order", calls.Text{En: "Order tea.", Zh: "下单买茶。"}, func(context.Context, *calls.Env, struct{}) (output, error) {
			fmt.Println("ordering")
			return output{"ordered"}, nil
		}),
		calls.Func("pay", calls.Text{En: "Pay for it.", Zh: "付款。"}, func(context.Context, *calls.Env, struct{}) (output, error) {
			if !isReachable {
				return output{}, errors.New("the bank cannot be reached")
			}
			return output{"paid"}, nil
		}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &flow.Loader{Registry: registry}
	tea, problems := loader.Parse("tea.yaml", []byte("name: tea\nsteps: [{id: first, call: order}, {id: then, call: pay}]\n"))
	if problems.HasErrors() {
		fmt.Println(problems)
		return
	}
	runs := memory.New(time.Now) // a real program opens journal/sqljournal
	executor := &scheduler.StepExecutor{Loader: loader, Journal: runs, NewRunID: func() string { return "run-1" }}

	ctx := context.Background()
	result, err := scheduler.Collect(executor.Run(ctx, tea, value.OfMap(nil)))
	fmt.Println(err)

	isReachable = true
	result, err = scheduler.Collect(executor.Resume(ctx, result.Run, scheduler.Resumption{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	last := result.Events[len(result.Events)-1]
	fmt.Println(last.Type == journal.FlowFinished, result.Outputs)
	// Output:
	// ordering
	// tea.yaml:2:35: step then: the bank cannot be reached
	// true {"then":{"text":"paid"}}
}
