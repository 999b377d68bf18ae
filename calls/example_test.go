package calls_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm/value"
)

// runCall runs a call as the engine does, without a flow around it.
func runCall(def calls.Definition, vars *calls.Vars, params ...any) {
	ctx, env := context.Background(), calls.NewEnv()
	env.Vars = vars
	call, err := def.New(value.OfMap(value.Pairs(params...)))
	if err != nil {
		panic(err)
	}
	input, err := call.Init(ctx, env.Vars)
	if err != nil {
		panic(err)
	}
	output, err := callstest.CollectOutput(call.Exec(ctx, env, input))
	if err != nil {
		panic(err)
	}
	fmt.Println(input, "->", output)
}

// A call that outputs one object.
func ExampleFunc() {
	type params struct {
		Text string `json:"text" doc:"What to shout."`
	}
	type output struct {
		Text string `json:"text" doc:"The text in capitals."`
	}
	shout := calls.Func("shout", calls.Text{En: "Say a text in capitals.", Zh: "把文本变成大写。"},
		func(_ context.Context, _ *calls.Env, p params) (output, error) {
			return output{strings.ToUpper(p.Text)}, nil
		}, calls.WithExample(calls.Example{With: "text: hello"}))

	runCall(shout, &calls.Vars{}, "text", "hello")
	// Output: {"text":"hello"} -> {"text":"HELLO"}
}

// A call that streams text.
func ExampleStream() {
	type params struct {
		Text  string `json:"text" doc:"What to say."`
		Times int    `json:"times" doc:"How often." default:"2"`
	}
	repeat := calls.Stream("repeat", calls.Text{En: "Say a text several times.", Zh: "把一句话说几遍。"},
		func(_ context.Context, _ *calls.Env, p params) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for range p.Times {
					if !yield(p.Text+" ", nil) {
						return
					}
				}
			}
		})

	runCall(repeat, &calls.Vars{}, "text", "hip", "times", 3)
	// Output: {"text":"hip","times":3} -> {"text":"hip hip hip "}
}

// greeting is a call whose input depends on the step's variables: the recorded input says who was greeted.
type greeting struct {
	Greeting string `json:"greeting" doc:"How to greet." default:"Hello"`
}

type greetingInput struct {
	Text string `json:"text"`
}

type greetingOutput struct {
	Text string `json:"text" doc:"The greeting."`
}

// Init computes the input; it does no I/O.
func (g greeting) Init(_ context.Context, vars *calls.Vars) (greetingInput, error) {
	return greetingInput{g.Greeting + ", " + vars.Scope.User}, nil
}

// Exec does the work.
func (greeting) Exec(_ context.Context, _ *calls.Env, in greetingInput) iter.Seq2[calls.Chunk, error] {
	return calls.Data(greetingOutput{in.Text + "!"})
}

// A call that computes its input.
func ExampleDefine() {
	greet := calls.Define[greeting, greetingInput, greetingOutput](calls.Info{
		Name:    "greet",
		Summary: calls.Text{En: "Greet the user.", Zh: "问候用户。"},
	})

	runCall(greet, &calls.Vars{Scope: calls.Scope{User: "Ann"}})
	// Output: {"text":"Hello, Ann"} -> {"text":"Hello, Ann!"}
}
