package sdk_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/sdk"
)

// Dose is the parameters of tea.brew.
type Dose struct {
	Cups int `json:"cups" doc:"How many cups" default:"1" min:"1"`
}

// Recipe is the output of tea.brew.
type Recipe struct {
	Grams int `json:"grams" doc:"Tea leaves in grams"`
}

// tea is a plugin with a function of every kind.
func tea() sdk.Plugin {
	return sdk.Plugin{Name: "tea", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Importance("is_short", sdk.Doc{En: "Includes what is short.", Zh: "选入短的内容。"},
			func(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
				return plugins.Verdict{Include: len(item.Text) < 10, Reason: fmt.Sprintf("%d bytes", len(item.Text))}, nil
			}),
		sdk.Variable("tea_time", sdk.Doc{En: "Whether it is time for tea.", Zh: "是否到了喝茶时间。"},
			func(_ context.Context, state plugins.State) (bool, error) { return state.Now.Hour() == 17, nil }),
		sdk.Call("brew", sdk.Doc{En: "Computes a recipe.", Zh: "计算配方。"},
			func(_ context.Context, d Dose) (Recipe, error) { return Recipe{Grams: 3 * d.Cups}, nil },
			sdk.Example("Two cups", "{cups: 2}")),
	}}
}

// The main of a plugin is one line. Tests use its functions inside their own process, as
// flows do in a program of its own.
func ExampleServe() {
	// func main() { sdk.Serve(tea()) }

	server, err := tea().Server()
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.InProcess(server, host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	registry, err := calls.NewRegistry()
	if err != nil {
		log.Fatal(err)
	}
	if err := h.Register(registry); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	importance, _ := registry.Importance("tea.is_short")
	verdicts, err := importance.Judge(ctx, plugins.State{}, []plugins.Item{{Name: "note", Text: "Earl Grey"}})
	fmt.Println(verdicts, err)

	resolver, _ := registry.Resolver("tea_time")
	values, err := resolver.Resolve(ctx, plugins.State{Now: time.Date(2026, 3, 5, 17, 0, 0, 0, time.UTC)}, []string{"tea_time"})
	fmt.Println(string(values["tea_time"]), err)

	brew, _ := registry.Call("tea.brew")
	call, err := brew.New(value.OfMap(value.Pairs("cups", 2)))
	if err != nil {
		log.Fatal(err)
	}
	env := calls.NewEnv()
	env.Vars = &calls.Vars{}
	input, err := call.Init(ctx, env.Vars)
	if err != nil {
		log.Fatal(err)
	}
	output, err := callstest.CollectOutput(call.Exec(ctx, env, input))
	fmt.Println(output, err)

	// Output:
	// [{true <nil> 9 bytes}] <nil>
	// true <nil>
	// {"grams":6} <nil>
}
