package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// forking runs flows of the call note, which puts out its text and notes that it ran.
type forking struct {
	t    testing.TB
	exec scheduler.StepExecutor
	ran  []string
	ids  int
}

func newForking(t testing.TB) *forking {
	f := &forking{t: t}
	f.exec.Loader = schedulertest.Loader(t, schedulertest.With(f.noteCall()))
	f.exec.Journal, f.exec.MaxParallel = newJournal(t, nil), 1
	f.exec.NewRunID = func() string {
		f.ids++
		return fmt.Sprint("run-", f.ids)
	}
	return f
}

// noteCall returns a call that depends on its parameters alone.
func (f *forking) noteCall() calls.Definition {
	note := schedulertest.Do("note", func(_ context.Context, env *calls.Env, params value.Value) (any, error) {
		f.ran = append(f.ran, env.Path)
		return params, nil
	})
	note.Info.IsContained = true
	return note
}

func (f *forking) load(text string) *flow.Flow {
	f.t.Helper()
	loaded, problems := f.exec.Loader.Parse(schedulertest.File, []byte(text))
	if problems.HasErrors() {
		f.t.Fatalf("%v\n%s", problems, text)
	}
	return loaded
}

// run runs a flow to its end, whatever that is, and returns the id of the run.
func (f *forking) run(text, inputs string) *scheduler.Result {
	f.t.Helper()
	given, err := value.ParseJSON([]byte(inputs))
	if err != nil {
		f.t.Fatal(err)
	}
	r, _ := scheduler.Collect(f.exec.Run(f.t.Context(), f.load(text), given))
	return r
}

// fork makes a run of another one and carries it out. It returns the steps that ran.
func (f *forking) fork(from *scheduler.Fork) (*scheduler.Result, *scheduler.ForkPlan, []string) {
	f.t.Helper()
	f.ran = nil
	id, plan, err := f.exec.Fork(f.t.Context(), from)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := scheduler.Collect(f.exec.Resume(f.t.Context(), id, scheduler.Resumption{}))
	if err != nil {
		f.t.Fatal(err)
	}
	return r, plan, f.ran
}

// drawNotes returns a random flow whose steps combine inputs and earlier outputs.
func drawNotes(t *rapid.T) (text string, inputs int) {
	inputs = rapid.IntRange(1, 3).Draw(t, "inputs")
	var b strings.Builder
	b.WriteString("name: notes\ninputs: {type: object}\nsteps:\n")
	for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
		needs := []int{}
		if i > 0 {
			needs = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID[int]).Draw(t, "needs")
		}
		said := fmt.Sprintf("%d", i)
		if rapid.Bool().Draw(t, "mentions") {
			said += fmt.Sprintf(" {{ inputs.x%d }}", rapid.IntRange(0, inputs-1).Draw(t, "input"))
		}
		names := make([]string, len(needs))
		for j, n := range needs {
			names[j] = fmt.Sprint("s", n)
			said += fmt.Sprintf(" ({{ s%d.text }})", n)
		}
		fmt.Fprintf(&b, "  - {id: s%d, call: note, needs: [%s], with: {text: '%s'}}\n", i, strings.Join(names, ", "), said)
	}
	return b.String(), inputs
}

// TestForksAreAsFreshRuns forks runs of random flows with changed inputs, from a random step: the outputs are the
// same as in a fresh run, and no step with unchanged parameters runs again, except those after the step.
func TestForksAreAsFreshRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newForking(t)
		text, inputs := drawNotes(rt)
		before, after := value.NewMap(inputs), value.NewMap(inputs)
		changed := value.NewMap(inputs)
		for i := range inputs {
			name := fmt.Sprint("x", i)
			before.Set(name, value.OfString("a"))
			after.Set(name, value.OfString("a"))
			if rapid.Bool().Draw(rt, "changed") {
				after.Set(name, value.OfString("b"))
				changed.Set(name, value.OfString("b"))
			}
		}
		first := f.run(text, value.OfMap(before).JSON())
		fresh := f.run(text, value.OfMap(after).JSON())
		steps := f.load(text).Steps
		at := steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "at")].ID
		got, plan, ran := f.fork(&scheduler.Fork{Run: first.Run, At: at, Inputs: value.OfMap(changed)})
		if got.Outputs.JSON() != fresh.Outputs.JSON() {
			rt.Fatalf("the fork puts out %s, a fresh run %s\n%s", got.Outputs, fresh.Outputs, text)
		}
		slices.Sort(ran)
		if want := slices.Sorted(slices.Values(plan.Again)); !slices.Equal(ran, want) {
			rt.Fatalf("ran %v, planned were %v\n%s", ran, want, text)
		}
		if len(plan.Kept)+len(plan.Again) != len(steps) || !slices.Contains(plan.Again, at) {
			rt.Fatalf("the plan is %+v\n%s", plan, text)
		}
		again, _ := f.load(text).Step(at)
		for _, id := range plan.Again {
			step, _ := f.load(text).Step(id)
			isAfter := step.Index == again.Index || slices.Contains(f.load(text).Ancestors(step.Index), again.Index)
			was, is := stateOf(f, first.Run).Step(id), stateOf(f, got.Run).Step(id)
			if !isAfter && value.Equal(was.Params, is.Params) {
				rt.Fatalf("%s ran again with the same parameters\n%s", id, text)
			}
		}
	})
}

func stateOf(f *forking, run string) *journal.RunState {
	f.t.Helper()
	s, err := journal.Fold(f.exec.Journal.Events(f.t.Context(), run, 1))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

const chain = `
name: chain
inputs: {type: object, properties: {city: {type: string}, user: {type: string}}}
steps:
  - {id: a, call: note, with: {text: "a"}}
  - {id: b, call: note, needs: [], with: {text: "b {{ inputs.city }}"}}
  - {id: c, call: note, needs: [a, b], with: {text: "c {{ a.text }} {{ b.text }}"}}
  - {id: d, call: note, when: "{{ c.text != '' }}", with: {text: "d {{ c.text }}"}}
outputs: {all: "{{ d.text }}"}
`

func TestFork(t *testing.T) {
	for _, c := range []struct {
		name    string
		flow    string // the flow of the run; chain if it is empty
		fork    scheduler.Fork
		edited  string
		ran     string
		outputs string
	}{
		{name: "at the last step", fork: scheduler.Fork{At: "d"}, ran: "d", outputs: `{"all":"d c a b Rome"}`},
		{name: "at a step beside others", fork: scheduler.Fork{At: "a"}, ran: "a c d", outputs: `{"all":"d c a b Rome"}`},
		{name: "with another input", fork: scheduler.Fork{Inputs: parseJSON(`{"city":"Oslo"}`)}, ran: "b c d", outputs: `{"all":"d c a b Oslo"}`},
		{name: "with an input that no step mentions", fork: scheduler.Fork{At: "d", Inputs: parseJSON(`{"user":"lin"}`)}, ran: "d", outputs: `{"all":"d c a b Rome"}`},
		{
			name: "with a given output", ran: "d", outputs: `{"all":"d given"}`,
			fork: scheduler.Fork{Outputs: map[string]value.Value{"c": parseJSON(`{"text":"given"}`)}},
		},
		{
			name: "with a given output behind a change", ran: "b d", outputs: `{"all":"d given"}`,
			fork: scheduler.Fork{Inputs: parseJSON(`{"city":"Oslo"}`), Outputs: map[string]value.Value{"c": parseJSON(`{"text":"given"}`)}},
		},
		{
			name: "with another parameter", ran: "c d", outputs: `{"all":"d new"}`,
			fork: scheduler.Fork{Params: []scheduler.ParamEdit{{Step: "c", Pointer: "/text", Value: value.OfString("new")}}},
		},
		{name: "with an edited flow", edited: strings.Replace(chain, `"c {{`, `"C {{`, 1), ran: "c d", outputs: `{"all":"d C a b Rome"}`},
		{
			name: "of a run that failed", flow: strings.Replace(chain, "{id: c, call: note", "{id: c, call: fail", 1),
			edited: chain, ran: "c d", outputs: `{"all":"d c a b Rome"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newForking(t)
			if c.flow == "" {
				c.flow = chain
			}
			first := f.run(c.flow, `{"city":"Rome"}`)
			before := len(first.Events)
			c.fork.Run = first.Run
			if c.edited != "" {
				c.fork.Flow = f.load(c.edited)
			}
			got, _, ran := f.fork(&c.fork)
			if slices.Sort(ran); strings.Join(ran, " ") != c.ran {
				t.Errorf("ran %v, want %s", ran, c.ran)
			}
			if got.Outputs.JSON() != c.outputs {
				t.Errorf("outputs %s, want %s", got.Outputs, c.outputs)
			}
			state := stateOf(f, got.Run)
			for _, st := range state.Steps {
				_, isGiven := c.fork.Outputs[st.ID]
				hasRun := slices.Contains(ran, st.ID)
				if isKept := st.FromRun == first.Run; isKept == (hasRun || isGiven) || st.IsGiven != isGiven {
					t.Errorf("%s: from %q, given %v", st.ID, st.FromRun, st.IsGiven)
				}
			}
			if n := int(stateOf(f, first.Run).LastSeq); n != before {
				t.Errorf("the run that was forked has %d events, had %d", n, before)
			}
		})
	}
}

func TestForkIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		fork scheduler.Fork
		want []string
	}{
		{name: "nothing is changed", want: []string{"has ended, and nothing is changed"}},
		{name: "several faults", fork: scheduler.Fork{At: "x", Outputs: map[string]value.Value{"y": {}}, Params: []scheduler.ParamEdit{{Step: "a", Pointer: "/no/such"}}}, want: []string{`no step "y"`, `no step "x"`, `have nothing at "/no/such"`}},
		{name: "inside a step", fork: scheduler.Fork{At: "a/inner"}, want: []string{"cannot be forked at a/inner"}},
		{name: "a round that is not on record", fork: scheduler.Fork{At: "a/round-3"}, want: []string{"has no a/round-3 on record"}},
		{name: "a step runs and has an output", fork: scheduler.Fork{At: "a", Outputs: map[string]value.Value{"a": parseJSON(`{}`)}}, want: []string{"cannot both run again and have a given output"}},
		{name: "a wrong input", fork: scheduler.Fork{Inputs: parseJSON(`{"city":7}`)}, want: []string{"city"}},
		{name: "an unknown run", fork: scheduler.Fork{Run: "run-77", At: "a"}, want: []string{"run-77"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newForking(t)
			first := f.run(chain, `{"city":"Rome"}`)
			if c.fork.Run == "" {
				c.fork.Run = first.Run
			}
			_, _, err := f.exec.Fork(t.Context(), &c.fork)
			if err == nil {
				t.Fatal("the fork was made")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q lacks %q", err, want)
				}
			}
			n := 0
			for range f.exec.Journal.Runs(t.Context(), journal.RunFilter{}) {
				n++
			}
			if n != 1 {
				t.Errorf("the journal has %d runs", n)
			}
		})
	}
}

// TestForkPaysNothingTwice forks a run behind a step that asked a model.
func TestForkPaysNothingTwice(t *testing.T) {
	f := newForking(t)
	f.exec.Env = calls.NewEnv()
	f.exec.Env.LLM = scripted.Texts("hello", "hello again")
	first := f.run("name: paid\nsteps:\n  - {id: said, call: ask, with: {prompt: hi}}\n  - {id: d, call: note, with: {text: '{{ said.text }}!'}}\n", `{}`)
	if first.Usage.Total() == 0 {
		t.Fatal("the model told no usage")
	}
	got, plan, _ := f.fork(&scheduler.Fork{Run: first.Run, At: "d"})
	if got.Usage.Total() != 0 || stateOf(f, got.Run).Usage.Total() != 0 {
		t.Errorf("the fork cost %d tokens", got.Usage.Total())
	}
	if len(plan.Repeated) != 0 {
		t.Errorf("%v act again", plan.Repeated)
	}
	if _, plan, _ := f.fork(&scheduler.Fork{Run: first.Run, At: "said"}); !slices.Equal(plan.Repeated, []string{"said"}) {
		t.Errorf("%v act again, want said: the call does not say that it is contained", plan.Repeated)
	}
}

func parseJSON(text string) value.Value {
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// TestForkAtARound forks a run inside a step that works in rounds: those before it are kept.
func TestForkAtARound(t *testing.T) {
	f := newForking(t)
	rounds := schedulertest.Do("rounds", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		total := 0
		for range 4 {
			n, err := calls.Once(ctx, env, "round", nil, func(_ context.Context, env *calls.Env) (int, error) {
				f.ran = append(f.ran, env.Path)
				return len(f.ran), nil
			})
			if err != nil {
				return nil, err
			}
			total = 10*total + n
		}
		return map[string]any{"total": total}, nil
	})
	f.exec.Loader = schedulertest.Loader(t, schedulertest.With(rounds, f.noteCall()))
	first := f.run("name: x\nsteps:\n  - {id: clerk, call: rounds}\n  - {id: d, call: note, with: {text: '{{ clerk.total }}'}}\n", `{}`)
	got, _, ran := f.fork(&scheduler.Fork{Run: first.Run, At: "clerk/round-3"})
	if want := []string{"clerk/round-3", "clerk/round-4", "d"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	if total, _ := stateOf(f, got.Run).Step("clerk").Output.Get("total"); total.JSON() != "1212" {
		t.Errorf("the rounds gave %s, want 1212: two kept, two new ones", total)
	}
}

// TestForkAsksAgain forks a run whose step a person approved, at a round of the step: the approval was for that use of it.
func TestForkAsksAgain(t *testing.T) {
	f := newForking(t)
	rounds := schedulertest.Do("rounds", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		for range 2 {
			if _, err := calls.Once(ctx, env, "round", nil, func(context.Context, *calls.Env) (int, error) { return 1, nil }); err != nil {
				return nil, err
			}
		}
		return map[string]any{}, nil
	})
	f.exec.Loader = schedulertest.Loader(t, schedulertest.With(rounds, f.noteCall()))
	first := f.run("name: x\nsteps:\n  - {id: clerk, call: rounds, approve: true}\n", `{}`)
	done, err := scheduler.Collect(f.exec.Resume(t.Context(), first.Run, decide(operator, "clerk", true)))
	if err != nil || done.Outputs.IsNull() {
		t.Fatalf("the approved run: %v", err)
	}
	for _, at := range []string{"clerk", "clerk/round-1", "clerk/round-2"} {
		id, _, err := f.exec.Fork(t.Context(), &scheduler.Fork{Run: first.Run, At: at})
		if err != nil {
			t.Fatal(err)
		}
		_, err = scheduler.Collect(f.exec.Resume(t.Context(), id, scheduler.Resumption{}))
		if waiting := new(*scheduler.Waiting); !errors.As(err, waiting) {
			t.Errorf("the fork at %s does not wait for an approval: %v", at, err)
		}
	}
}

// TestForkAtAChangedRound is refused: the rounds before were of other parameters.
func TestForkAtAChangedRound(t *testing.T) {
	f := newForking(t)
	text := "name: x\ninputs: {type: object}\nsteps:\n  - {id: look, call: note, with: {text: a}}\n  - {id: clerk, call: rounds, with: {text: '{{ inputs.q }} {{ look.text }}'}}\n"
	rounds := schedulertest.Do("rounds", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		return calls.Once(ctx, env, "round", nil, func(context.Context, *calls.Env) (map[string]int, error) { return map[string]int{}, nil })
	})
	f.exec.Loader = schedulertest.Loader(t, schedulertest.With(rounds, f.noteCall()))
	first := f.run(text, `{"q": "b"}`)
	for name, fork := range map[string]scheduler.Fork{
		"an input":       {Inputs: parseJSON(`{"q": "c"}`)},
		"an output":      {Outputs: map[string]value.Value{"look": parseJSON(`{"text": "x"}`)}},
		"an edited flow": {Flow: f.load(strings.Replace(text, "call: rounds", "call: rounds, approve: true", 1))},
	} {
		fork.Run, fork.At = first.Run, "clerk/round-1"
		if _, _, err := f.exec.Fork(t.Context(), &fork); err == nil || !strings.Contains(err.Error(), "a change touches the step clerk") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForkKeepsWorkOfItems forks a run behind a list of items: the record of the work inside them is kept, too.
func TestForkKeepsWorkOfItems(t *testing.T) {
	f := newForking(t)
	piece := schedulertest.Do("pieces", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		return calls.Once(ctx, env, "piece", nil, func(context.Context, *calls.Env) (map[string]int, error) { return map[string]int{}, nil })
	})
	f.exec.Loader = schedulertest.Loader(t, schedulertest.With(piece, f.noteCall()))
	first := f.run("name: x\nsteps:\n  - {id: each, call: pieces, for_each: [1, 2]}\n  - {id: d, call: note, with: {text: a}}\n", `{}`)
	got, _, ran := f.fork(&scheduler.Fork{Run: first.Run, At: "d"})
	if !slices.Equal(ran, []string{"d"}) {
		t.Errorf("ran %v, want d", ran)
	}
	for _, id := range []string{"each[0]", "each[1]", "each[0]/piece-1", "each[1]/piece-1"} {
		if stateOf(f, got.Run).Step(id) == nil {
			t.Errorf("the fork has nothing of %s", id)
		}
	}
}
