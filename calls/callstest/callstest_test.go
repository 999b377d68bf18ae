package callstest_test

import (
	"context"
	"iter"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
)

// greet is a whole call: a struct of parameters and two methods.
type greet struct {
	Name string `json:"name" doc:"Who is greeted."`
}

type greetInput struct {
	Name string `json:"name"`
}

type greetOutput struct {
	Text string `json:"text" doc:"The greeting."`
}

func (g greet) Init(context.Context, *calls.Vars) (greetInput, error) { return greetInput(g), nil }

func (g greet) Exec(_ context.Context, _ *calls.Env, in greetInput) iter.Seq2[calls.Chunk, error] {
	return calls.Data(greetOutput{Text: "Hello, " + in.Name})
}

func TestRun(t *testing.T) {
	callstest.Run(t, calls.Define[greet, greetInput, greetOutput](calls.Info{
		Name:     "greet",
		Summary:  calls.Text{En: "Greets somebody.", Zh: "问候某人。"},
		Examples: []calls.Example{{With: "name: Lin"}},
	}))
}
