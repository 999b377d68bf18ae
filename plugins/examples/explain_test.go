package examples

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/sdk"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// asker is the parameters of a call that asks the model about a topic.
type asker struct {
	Topic string `json:"topic"`
}

// about is its answer, with the sources of the words.
type about struct {
	Prompt string     `json:"prompt"`
	Parts  []sdk.Part `json:"parts"`
}

// Sources that a plugin reports for its prompts and outputs are used; else they are credited to its call.
func TestPartsOfPlugins(t *testing.T) {
	doc := sdk.Doc{En: "It asks.", Zh: "提问。"}
	ask := func(ctx context.Context, p asker, parts ...sdk.Part) (about, error) {
		text := "About " + p.Topic
		for _, err := range sdk.HostOf(ctx).ChatWithParts(ctx, &llm.Request{Messages: []llm.Message{llm.TextMessage("user", text)}}, parts...) {
			if err != nil {
				return about{}, err
			}
		}
		return about{Prompt: text, Parts: parts}, nil
	}
	server, err := sdk.Plugin{Name: "curious", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Call("tells", doc, func(ctx context.Context, p asker) (about, error) {
			topic := sdk.Origin{End: len(p.Topic), Pointer: "/topic"}
			return ask(ctx, p, sdk.Part{Start: len("About "), End: len("About " + p.Topic), Kind: "topic", Origins: []sdk.Origin{topic}})
		}, sdk.AsksModel()),
		sdk.Call("lies", doc, func(ctx context.Context, p asker) (about, error) {
			part := func(start, end int, o sdk.Origin) sdk.Part {
				o.End = max(end-start, 0)
				return sdk.Part{Start: start, End: end, Kind: "lie", Origins: []sdk.Origin{o}}
			}
			return ask(ctx, p,
				part(0, 5, sdk.Origin{Pointer: "/topic"}),            // other words
				part(0, 5, sdk.Origin{Pointer: "/gone"}),             // no parameter
				part(6, 7, sdk.Origin{Pointer: "/topic"}),            // half a letter
				part(6, 900, sdk.Origin{Pointer: "/topic"}),          // more than there is
				part(-1, 8, sdk.Origin{Pointer: "/topic"}),           // before the beginning
				part(6, 8, sdk.Origin{Pointer: "/topic", From: 1}),   // other bytes of the parameter
				part(8, 12, sdk.Origin{Pointer: "/topic", From: 2}),  // true
				part(9, 10, sdk.Origin{Pointer: "/topic", From: 3}),  // reported already
				part(12, 10, sdk.Origin{Pointer: "/topic", From: 6}), // back to front
			)
		}, sdk.AsksModel()),
		sdk.Call("says-nothing", doc, func(ctx context.Context, p asker) (about, error) { return ask(ctx, p) }, sdk.AsksModel()),
	}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.InProcess(server, host.Options{}, "llm")
	r := registered(t, h, err)
	loader := &flow.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	f, problems := loader.Parse("flow.yaml", []byte(`
inputs: {type: object}
steps:
  - {id: one, call: curious.tells, with: {topic: "{{ inputs.x }}"}}
  - {id: two, call: curious.says-nothing, with: {topic: "{{ inputs.x }}"}}
  - {id: three, call: curious.lies, with: {topic: "é{{ inputs.x }}"}}
  - {id: four, call: curious.tells, with: {topic: "{{ one.prompt }}"}}
`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	env := calls.NewEnv()
	env.LLM = scripted.Texts("yes", "yes", "yes", "yes")
	exec := scheduler.StepExecutor{Env: env, Loader: loader}
	state := journal.NewRunState()
	for event, err := range exec.Run(t.Context(), f, value.OfMap(value.Pairs("x", "rivers"))) {
		if err != nil {
			t.Fatal(err)
		}
		state.Add(event)
	}
	var got []string
	for _, step := range []string{"one", "two", "three", "four"} {
		prompts, err := explain.Explain(t.Context(), f, state, step, env.Tokens)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range prompts {
			for _, p := range e.Messages[0].Pieces {
				got = append(got, strings.Join([]string{e.Step, p.Text, p.Way().En}, " | "))
			}
		}
	}
	want := []string{
		"one | About  | one (curious.tells)",
		"one | rivers | inputs.x (flow.yaml:4:54) > one (curious.tells): topic",
		"two | About rivers | two (curious.says-nothing)",
		"three | About é | three (curious.lies)",
		"three | rive | inputs.x (flow.yaml:6:56) > three (curious.lies): lie",
		"three | rs | three (curious.lies)",
		"four | About  | four (curious.tells)",
		"four | About  | one (curious.tells) > four (curious.tells): topic",
		"four | rivers | inputs.x (flow.yaml:4:54) > one: topic > four (curious.tells): topic",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
