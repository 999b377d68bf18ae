package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/test/slow"
)

// talker is a model whose answer depends on the conversation alone: it uses the tool
// that plan has for a round, and says so; without one it is done. It counts the
// requests of each round by the first user message. Agents side by side may ask it at once; asked is
// read when they have ended.
type talker struct {
	plan func(ask string, round int) (tool, arguments string)
	err  func(key string, n int) error

	mu    sync.Mutex
	asked map[string]int
}

// count counts a request, and returns the number of such requests.
func (m *talker) count(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == nil {
		m.asked = map[string]int{}
	}
	m.asked[key]++
	return m.asked[key]
}

func (m *talker) Chat(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		round, ask := 1, ""
		var told []string
		for _, raw := range req.Messages {
			var message struct{ Role, Content string }
			if err := json.Unmarshal(raw, &message); err != nil {
				yield(llm.Delta{}, err)
				return
			}
			switch message.Role {
			case "assistant":
				round++
			case "user":
				ask = message.Content
			case "tool":
				told = append(told, message.Content)
			}
		}
		key := fmt.Sprint(ask, " ", round)
		n := m.count(key)
		if m.err != nil {
			if err := m.err(key, n); err != nil {
				yield(llm.Delta{}, err)
				return
			}
		}
		d := llm.Delta{Text: fmt.Sprintf("round %d; ", round), Usage: &llm.Usage{InputTokens: 8, OutputTokens: 2}}
		if name, arguments := m.plan(ask, round); name != "" {
			d.ToolCalls = []llm.ToolCallDelta{{ID: fmt.Sprint("c", round), Name: name, Arguments: arguments}}
		} else {
			d.Text += "told " + strings.Join(told, ", ")
		}
		yield(d, nil)
	}
}

// working is a flow with two agents side by side, as items, and one in a flow that
// one of them uses.
const working = `
name: working
steps:
  - {id: a, call: agent, for_each: [x, y], to_user: true, with: {prompt: "{{ item }}", workspace: desk, tools: {calls: [{call: work}, {call: fail}], flows: [{path: inner.yaml}]}}}
outputs: {a: "{{ a[0].text }}", b: "{{ a[1].text }}", usage: "{{ a[0].usage }}"}
-- inner.yaml --
inputs: {type: object, properties: {q: {type: string}}}
steps:
  - {id: deep, call: agent, with: {prompt: "{{ inputs.q }}", tools: {calls: [{call: work}]}}}
outputs: {text: "{{ deep.text }}"}
-- desk/note.txt --
pay the rent
`

func plans(ask string, round int) (tool, arguments string) {
	return []string{"work", "fail", "read_file", "inner", "nothing", ""}[round-1],
		[]string{`{"n":1}`, `{"message":"broken"}`, `{"path":"note.txt"}`, `{"q":"deep ` + ask + `"}`, `{`, ""}[round-1]
}

func deepPlans(ask string, round int) (tool, arguments string) {
	if !strings.HasPrefix(ask, "deep") {
		return plans(ask, round)
	}
	if round == 1 {
		return "work", `{"n":2}`
	}
	return "", ""
}

// worker is a tool that notes where it ran. Parallel agents may use it at once; ran is read when they have ended.
func worker(ran *[]string) calls.Definition {
	var mu sync.Mutex
	return schedulertest.Do("work", func(_ context.Context, env *calls.Env, params value.Value) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		*ran = append(*ran, env.Path)
		return params, nil
	})
}

const rounds = 16 // of working: 6 for each item, 2 for each of the agents inside

// TestAgentKilled kills a run with agents at every moment: no round and no tool that
// the journal has is paid or run again, and the run ends as if nothing had happened.
func TestAgentKilled(t *testing.T) {
	var ran []string
	model := &talker{plan: deepPlans}
	options := func(j journal.Journal) []schedulertest.Option {
		return []schedulertest.Option{
			schedulertest.With(agent.Definition(), flowcall.Definition(), worker(&ran)), schedulertest.LLM(model),
			schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal, e.MaxParallel = j, 1 }),
		}
	}
	store := newJournal(t, nil)
	want := schedulertest.Run(t, working, options(store)...)
	if want.Err != nil || len(ran) != 4 || len(model.asked) != rounds {
		t.Fatalf("%v, %v, %v", want.Err, ran, model.asked)
	}
	if want.Usage.Total() != 10*rounds {
		t.Errorf("%+v", want.Usage)
	}
	stride := 9
	if slow.Enabled() {
		stride = 1
	}
	for n := 1; n < len(want.Events); n += stride {
		store := newJournal(t, nil)
		mortal := &dying{store, n}
		ran, model.asked = nil, nil
		r := schedulertest.Run(t, working, options(mortal)...)
		if !errors.Is(r.Err, errDead) {
			t.Fatalf("after %d events: %v", n, r.Err)
		}
		had := finishedIn(t, store)
		paid := 10 * len(had.rounds)
		if got := had.state.Usage.Total(); got != paid {
			t.Fatalf("after %d events: the run has used %d tokens, want %d", n, got, paid)
		}
		mortal.left = 1 << 30
		ran, model.asked = nil, nil
		r = r.Resume(scheduler.Resumption{})
		if r.Err != nil || !value.Equal(r.Outputs, want.Outputs) {
			t.Fatalf("after %d events: %v\n%s\nwant\n%s", n, r.Err, r.Outputs, want.Outputs)
		}
		asked := 0
		for _, times := range model.asked {
			asked += times
		}
		if asked != rounds-len(had.rounds) {
			t.Errorf("after %d events: %d requests, of %d rounds %d were on record", n, asked, rounds, len(had.rounds))
		}
		for _, path := range ran {
			if slices.Contains(had.steps, path) {
				t.Errorf("after %d events: %s ran again", n, path)
			}
		}
		end := finishedIn(t, store)
		whole := end.state.Step("a").Usage.Total()
		if r.Usage.Total() != 10*rounds || end.state.Usage.Total() != 10*rounds || whole != 10*rounds {
			t.Errorf("after %d events: the run has used %d, %d, its step %d", n, r.Usage.Total(), end.state.Usage.Total(), whole)
		}
		if !sameText(r, want) && n < len(want.Events)-8 {
			t.Errorf("after %d events: the user hears\n%s\nwant\n%s", n, r.Log(), want.Log())
		}
		_ = store.Close() // of a database, its connections
	}
}

type finishedSteps struct {
	state         *journal.RunState
	steps, rounds []string
}

func finishedIn(t *testing.T, j journal.Journal) (f finishedSteps) {
	t.Helper()
	var err error
	f.state, err = journal.Fold(j.Events(t.Context(), "run-1", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range f.state.Steps {
		if st.State != journal.StepStatusFinished {
			continue
		}
		f.steps = append(f.steps, st.ID)
		if st.Call == "round" {
			f.rounds = append(f.rounds, st.ID)
		}
	}
	return f
}

// sameText reports whether the user gets the same text of the last item.
func sameText(got, want *schedulertest.Result) bool {
	var texts [2]string
	for i, r := range []*schedulertest.Result{got, want} {
		for _, ev := range r.Events {
			if ev.Type == journal.StepDelta && ev.Step == "a" && *ev.Index == 1 {
				texts[i] += ev.Data.Text
			}
		}
	}
	return texts[0] == texts[1]
}

// TestAgentTriedAgain: the next attempt has the rounds of the last, journal or not.
func TestAgentTriedAgain(t *testing.T) {
	for name, options := range map[string][]schedulertest.Option{"with a journal": {journaled(t)}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			model := &talker{plan: func(_ string, round int) (string, string) {
				return []string{"work", "work", ""}[round-1], `{"n":1}`
			}, err: func(key string, n int) error {
				if key == "x 2" && n <= 2 {
					return &llm.Error{Message: "busy", Temporary: true}
				}
				return nil
			}}
			r := schedulertest.Run(t, `steps: [{id: a, call: agent, to_user: true, retry: {max_attempts: 3}, with: {prompt: x, tools: {calls: [{call: work}]}}}]`,
				append(options, schedulertest.With(agent.Definition(), worker(&ran)), schedulertest.LLM(model))...)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(map[string]int{"x 1": 1, "x 2": 3, "x 3": 1}, model.asked); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"a/work-1/work-1", "a/work-2/work-1"}, ran); diff != "" {
				t.Error(diff)
			}
			if got := len(lines(r, `step.delta a "round 1; "`)); got != 3 {
				t.Errorf("each attempt begins anew for the user\n%s", r.Log())
			}
			if usage, _ := r.Outputs.At("/a/usage/input_tokens"); usage.JSON() != "24" || r.Usage.OutputTokens != 6 {
				t.Errorf("used %s, %+v", usage, r.Usage)
			}
		})
	}
}

// TestAgentWaits: an agent waits when its tools wait, and continues from there.
func TestAgentWaits(t *testing.T) {
	var ran []string
	model := &talker{plan: func(_ string, round int) (string, string) {
		return []string{"work", "book", ""}[round-1], []string{`{"n":1}`, `{"room":7}`, ""}[round-1]
	}}
	r := schedulertest.Run(t, `
steps:
  - {id: a, call: agent, for_each: [x, y], with: {prompt: "{{ item }}", tools: {calls: [{call: work}], flows: [{path: book.yaml}]}}}
  - {id: b, call: echo}
outputs: {x: "{{ a[0].text }}", y: "{{ a[1].text }}"}
-- book.yaml --
inputs: {type: object, properties: {room: {type: integer}}}
steps:
  - {id: look, call: work, with: {n: 3}}
  - {id: pick, call: slot, with: {stages: [], current_schema: {type: object, required: [day, name], properties: {day: {type: string}, name: {type: string}}}}}
outputs: {booked: "{{ inputs.room }} on {{ pick.slot_data.day }} for {{ pick.slot_data.name }}", sources: "{{ pick.sources }}"}
`, journaled(t), schedulertest.With(agent.Definition(), flowcall.Definition(), slot.Definition(), worker(&ran)), schedulertest.LLM(model))
	waits := func() (steps []string) {
		var w *scheduler.Waiting
		if !errors.As(r.Err, &w) {
			t.Fatalf("%v\n%s", r.Err, r.Log())
		}
		for _, one := range w.For {
			steps = append(steps, one.String())
		}
		slices.Sort(steps)
		return steps
	}
	if diff := cmp.Diff([]string{"a[0]/book-1/flow-1/pick for /day, /name", "a[1]/book-1/flow-1/pick for /day, /name"}, waits()); diff != "" {
		t.Error(diff)
	}
	if failed := lines(r, "step.failed"); len(failed) > 0 {
		t.Errorf("%q", failed)
	}
	state, err := journal.Fold(func(yield func(*journal.Event, error) bool) {
		for _, ev := range r.Events {
			if !yield(ev, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "a[0]", "a[1]/book-1", "a[1]/book-1/flow-1", "a[1]/book-1/flow-1/pick"} {
		if st := state.Step(id); st == nil || st.State != journal.StepStatusWaiting {
			t.Errorf("%s is %+v", id, st)
		}
	}

	r = r.Resume(scheduler.Resumption{}, "a[0]/book-1/flow-1/pick:/day=Monday", "a[0]/book-1/flow-1/pick:/name=Lin")
	if diff := cmp.Diff([]string{"a[1]/book-1/flow-1/pick for /day, /name"}, waits()); diff != "" {
		t.Error(diff)
	}
	r = r.Resume(scheduler.Resumption{}, "/day=Friday")
	if diff := cmp.Diff([]string{"a[1]/book-1/flow-1/pick for /name"}, waits()); diff != "" {
		t.Error(diff)
	}
	r = r.Resume(scheduler.Resumption{}, "/name=Bo")
	const want = `{"x":"round 3; told {\"n\":1}, {\"booked\":\"7 on Monday for Lin\",\"sources\":{\"/day\":\"user\",\"/name\":\"user\"}}",` +
		`"y":"round 3; told {\"n\":1}, {\"booked\":\"7 on Friday for Bo\",\"sources\":{\"/day\":\"user\",\"/name\":\"user\"}}"}`
	if r.Err != nil || r.Outputs.JSON() != want {
		t.Fatalf("%v\n%s\nwant\n%s", r.Err, r.Outputs, want)
	}
	if diff := cmp.Diff(map[string]int{"x 1": 1, "x 2": 1, "x 3": 1, "y 1": 1, "y 2": 1, "y 3": 1}, model.asked); diff != "" {
		t.Error(diff)
	}
	if len(ran) != 4 || r.Usage.Total() != 60 {
		t.Errorf("tools ran at %q, %+v", ran, r.Usage)
	}
}

// A tool that is refused is seen to fail, as one that fails is.
func TestAgentRefusesTool(t *testing.T) {
	var ran []string
	model := &talker{plan: func(_ string, round int) (string, string) {
		return []string{"work", "work", ""}[round-1], []string{`{"n":1}`, `{"n":1}`, ""}[round-1]
	}}
	r := schedulertest.Run(t, `
steps: [{id: a, call: agent, with: {prompt: x, max_repeats: 1, tools: {calls: [{call: work}]}}}]
`, schedulertest.With(agent.Definition(), worker(&ran)), schedulertest.LLM(model))
	if r.Err != nil || len(ran) != 1 {
		t.Fatalf("%v, the tool ran at %q", r.Err, ran)
	}
	second := lines(r, "step.finished a/work-2")
	if len(second) != 1 || !strings.Contains(second[0], `"not_run":true} invalid: not run: it was used with the same arguments`) {
		t.Errorf("the second use: %q\n%s", second, r.Log())
	}
}

// TestAgentBudget: recorded rounds count for the budget, and are not paid again when there is a larger one.
func TestAgentBudget(t *testing.T) {
	model := &talker{plan: func(_ string, round int) (string, string) {
		return []string{"work", "work", "work", ""}[round-1], fmt.Sprintf(`{"n":%d}`, round)
	}}
	var ran []string
	options := []schedulertest.Option{journaled(t), schedulertest.With(agent.Definition(), worker(&ran)), schedulertest.LLM(model)}
	const text = `
budget: {max_tokens: 60}
steps: [{id: a, call: agent, with: {prompt: x, tools: {calls: [{call: work}]}}}]
`
	r := schedulertest.Run(t, text, options...)
	before := model.asked["x 3"]
	if calls.KindOf(r.Err) != calls.Budget {
		t.Fatal(r.Err)
	}
	r = r.Resume(scheduler.Resumption{})
	if calls.KindOf(r.Err) != calls.Budget || model.asked["x 1"] != 1 || model.asked["x 3"] != before {
		t.Errorf("%v, %v", r.Err, model.asked)
	}
	larger := schedulertest.Load(t, strings.Replace(text, "60", "6000", 1), options...)
	r = r.Resume(scheduler.Resumption{Flow: larger})
	if r.Err != nil || r.Usage.Total() != 40 {
		t.Errorf("%v, %+v", r.Err, r.Usage)
	}
	if diff := cmp.Diff([]string{"a/work-1/work-1", "a/work-2/work-1", "a/work-3/work-1"}, ran); diff != "" {
		t.Error(diff)
	}
}
