package inchat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/plugins"
)

// judge includes entries with the word tea, and counts its requests.
type judge struct {
	requests []string
	fails    bool
}

func (j *judge) Judge(ctx context.Context, s plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	if j.fails {
		return nil, errors.New("it is tired")
	}
	names := make([]string, len(items))
	verdicts := make([]plugins.Verdict, len(items))
	found, err := s.Retrieve(ctx)
	for i, item := range items {
		names[i] = item.Name
		verdicts[i] = plugins.Verdict{Include: strings.Contains(item.Text, "tea"), Reason: fmt.Sprintf("%d memories, %d turns", len(found), len(s.History))}
	}
	j.requests = append(j.requests, fmt.Sprintf("%s: %s of %s", s.Input, strings.Join(names, " "), s.User))
	return verdicts, err
}

type memory struct {
	calls.Memory
	asked *[]string
}

func (m memory) Retrieve(_ context.Context, _ calls.Scope, query string, _ int) ([]plugins.Recalled, error) {
	*m.asked = append(*m.asked, query)
	return []plugins.Recalled{{Text: "x", Score: 1}}, nil
}

const importanceEntries = `
history: [{role: user, content: "What is there to drink?"}, {role: assistant, content: "What do you like?"}]
variables: {f: tests.other}
world_books:
  - {id: a, content: green tea, mode: conditional, condition: "<<importance:tests.about_tea>>"}
  - {id: b, content: coffee, mode: conditional, condition: "<<importance:tests.about_tea>>"}
  - {id: c, content: coffee, mode: conditional, condition: "{{keywords:drink}}"}
  - {id: d, content: black tea, mode: conditional, condition: "{{importance::tests.about_tea}}"}
  - {id: e, content: no tea, mode: conditional, condition: "{{importance:{{getvar:f}}}}"}
`

// A function is asked once about all entries that name it, memories are looked for
// once.
func TestImportance(t *testing.T) {
	run := func(j *judge) (trace, warnings []string, searched []string) {
		registry, err := calls.NewRegistry()
		if err == nil {
			err = errors.Join(registry.AddImportance("tests.about_tea", j), registry.AddImportance("tests.other", j))
		}
		if err != nil {
			t.Fatal(err)
		}
		env := calls.NewEnv()
		env.Registry, env.Memory = registry, memory{asked: &searched}
		env.Vars = &calls.Vars{Scope: calls.Scope{User: "u1"}}
		call, err := inchat.Definition().New(params(t, importanceEntries))
		if err != nil {
			t.Fatal(err)
		}
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		out, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := out.Get("trace")
		for _, part := range list.List() {
			included, _ := part.Get("included")
			reason, _ := part.Get("reason")
			text, _ := reason.Str()
			trace = append(trace, included.JSON()+" "+text)
		}
		list, _ = out.Get("warnings")
		for _, w := range list.List() {
			text, _ := w.Str()
			warnings = append(warnings, text)
		}
		return trace, warnings, searched
	}
	j := &judge{}
	trace, warnings, searched := run(j)
	if diff := cmp.Diff([]string{
		"true condition <<importance:tests.about_tea>> is true: tests.about_tea: 1 memories, 2 turns",
		"false condition <<importance:tests.about_tea>> is false: tests.about_tea: 1 memories, 2 turns",
		"true condition {{keywords:drink}} is true: found drink",
		"true condition {{importance::tests.about_tea}} is true: tests.about_tea: 1 memories, 2 turns",
		"true condition {{importance:{{getvar:f}}}} is true: tests.other: 1 memories, 2 turns",
	}, trace); diff != "" || warnings != nil {
		t.Errorf("%s\n%q", diff, warnings)
	}
	if diff := cmp.Diff([]string{
		"What is there to drink?: a b d e of u1", // e might ask it too
		"What is there to drink?: e of u1",
	}, j.requests); diff != "" {
		t.Error(diff)
	}
	if len(searched) != 1 || searched[0] != "What is there to drink?" {
		t.Errorf("memories were looked for: %q", searched)
	}
	trace, warnings, _ = run(&judge{fails: true})
	if want := `false condition <<importance:tests.about_tea>> is false: importance "tests.about_tea": it is tired`; trace[0] != want || len(warnings) == 0 ||
		warnings[0] != `the condition of world book "a": importance "tests.about_tea": it is tired` {
		t.Errorf("got %s, %q", trace[0], warnings)
	}
}

func TestLintImportance(t *testing.T) {
	registry, err := calls.NewRegistry()
	if err == nil {
		err = registry.AddImportance("tests.about_tee", &judge{})
	}
	if err != nil {
		t.Fatal(err)
	}
	problem := func() string {
		found := inchat.Definition().Lint(params(t, importanceEntries), calls.LintEnv{Registry: registry})
		if len(found) != 3 || found[0].Warning {
			t.Errorf("got %v", found)
		}
		return found[0].Error()
	}
	if got, want := problem(), `/world_books/0/condition: unknown importance function "tests.about_tea" (did you mean "tests.about_tee"?)`; got != want {
		t.Errorf("got %s", got)
	}
	registry.AddCheck(func(name string) error {
		return calls.Errorf(calls.Plugin, "no %s", name).WithHint("go on")
	})
	if got, want := problem(), `/world_books/0/condition: the importance function "tests.about_tea" cannot be used: no tests.about_tea (go on)`; got != want {
		t.Errorf("got %s", got)
	}
}

// slow is a function that takes longer than the step.
type slow struct{}

func (slow) Judge(ctx context.Context, _ plugins.State, _ []plugins.Item) ([]plugins.Verdict, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("plugin slow: %w", ctx.Err())
}

// If the time of the step is over while a function works, the error is the function's.
func TestStepTimesOut(t *testing.T) {
	registry, err := calls.NewRegistry()
	if err == nil {
		err = errors.Join(registry.AddImportance("tests.about_tea", slow{}), registry.AddImportance("tests.other", slow{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.Registry = registry
	env.Vars = &calls.Vars{}
	call, err := inchat.Definition().New(params(t, importanceEntries))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	in, err := call.Init(ctx, env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callstest.CollectOutput(call.Exec(ctx, env, in)); err == nil || err.Error() != "plugin slow: context deadline exceeded" {
		t.Errorf("got %v", err)
	}
}
