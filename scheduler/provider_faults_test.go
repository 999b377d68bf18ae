package scheduler_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// faults are how a provider fails, as clients report it.
var faults = map[string]scripted.Answer{
	"refused":       {Error: &llm.Error{Unsent: true, Temporary: true, Message: "connection refused"}},
	"401":           {Error: &llm.Error{Status: http.StatusUnauthorized, Message: "wrong key"}},
	"429":           {Error: &llm.Error{Status: http.StatusTooManyRequests, Temporary: true}},
	"500":           {Error: &llm.Error{Status: http.StatusInternalServerError, Temporary: true}},
	"time":          {Error: &llm.Error{Temporary: true, Message: "no data from the server for 2m"}},
	"not recorded":  {Error: &llm.Error{Unsent: true, Message: "no recording of this request"}},
	"broken stream": {Deltas: []llm.Delta{{Text: "{"}}, Error: &llm.Error{Temporary: true, Message: "unexpected EOF"}},
}

const brokenStream = "broken stream"

type trip struct {
	City string `json:"city"`
}

// asking are steps that ask a model; before are the answers before the one that fails, good is one that helps.
var asking = map[string]struct {
	step   string
	before []scripted.Answer
	good   string
}{
	"chat":          {`call: chat, with: {user: hi}`, nil, "hello"},
	"slot":          {`call: slot, with: {stages: [llm], current_schema: {type: object, required: [city], properties: {city: {type: string}}}}`, nil, `{"/city": "Oslo"}`},
	"slot, stage 2": {`call: slot, with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}}`, []scripted.Answer{{Text: "{}"}}, `{"/city": "Oslo"}`},
	"filling":       {`call: visit, enable_filling: true`, nil, `{"/city": "Oslo"}`},
	"choice":        {`call: choice, with: {question: which, choices: [{branch: x}, {branch: y}, {branch: z, default: true}]}`, nil, `{"branch": "x", "reason": ""}`},
	"summary":       {`call: summary, with: {text: All is well.}`, nil, "All is well."},
	"facts":         {`call: facts, with: {text: All is well.}`, nil, `{"facts": [], "domain": []}`},
	"agent":         {`call: agent, with: {prompt: Go.}`, nil, "done"},
	"snapshot":      {`call: memory-snapshot`, nil, `{"key_points": ["She cycles."], "category": "life", "importance": 0.5}`},
}

// remembered returns a memory of user ann, in which her two-wheeler is found by its meaning.
func remembered(t *testing.T, embeddings *memory.Embeddings) *memory.SnapshotProcessor {
	t.Helper()
	store, err := sqlmemory.OpenTemporary(t.Context(), sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // it is in memory
	p := &memory.SnapshotProcessor{Store: store, Embeddings: embeddings, Memories: memory.MaxJob, Snapshots: memory.MaxJob, Log: slog.New(slog.DiscardHandler)}
	_, err = p.ProcessMemory(t.Context(), memory.BaseMemory{Content: "I take my two-wheeler every morning.", Context: memory.Context{UserID: "ann", SessionID: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// remembers lets a run work in a memory.
func remembers(p *memory.SnapshotProcessor) schedulertest.Option {
	return schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.Memory = p })
}

// TestProviderFaults: a model that fails, fails the step that asks it, in every call; a list of providers
// continues with the next one, even in the middle of an answer that no user reads while it arrives; no question is
// asked.
func TestProviderFaults(t *testing.T) {
	visit := calls.Func("visit", calls.Text{En: "Visits a city.", Zh: "前往城市。"}, func(_ context.Context, _ *calls.Env, p trip) (trip, error) { return p, nil })
	for call, asks := range asking {
		for name, fault := range faults {
			t.Run(call+"/"+name, func(t *testing.T) {
				t.Parallel()
				run := func(names string) (*schedulertest.Result, *scripted.Provider) {
					main := scripted.New(append(append([]scripted.Answer{}, asks.before...), fault, fault, fault, fault)...)
					flow := `{name: x, llm: ` + names + `, inputs: {type: object}, memory: {user: ann, session: s}, steps: [{id: a, ` + asks.step + `}]}`
					return schedulertest.Run(t, flow, schedulertest.With(append(builtin.Calls(), visit)...), schedulertest.Inputs(`{"question": "Where to?"}`),
						journaled(t), remembers(remembered(t, nil)), providers(map[string]llm.Provider{"main": main, "backup": scripted.Texts(slices.Repeat([]string{asks.good}, 4)...)})), main
				}
				alone, main := run("main")
				failsAsProvider(t, alone)
				if n := len(main.Requests()); n != len(asks.before)+1 {
					t.Errorf("the model that had failed was asked %d times", n)
				}
				listed, _ := run("[main, backup]")
				if listed.Err != nil {
					t.Errorf("with a second provider: %v", listed.Err)
				}
			})
		}
	}
}

// TestSnapshotAfterFault: a snapshot that a provider failed at is made by the next attempt of the step, and by a run that is resumed.
func TestSnapshotAfterFault(t *testing.T) {
	answers := slices.Repeat([]scripted.Answer{{Text: asking["snapshot"].good}}, 4)
	for _, tt := range []struct{ name, retry string }{{"resumed", ""}, {"tried again", ", retry: {max_attempts: 2, initial_interval: 1ms}"}} {
		t.Run(tt.name, func(t *testing.T) {
			main := scripted.New(append([]scripted.Answer{faults["500"]}, answers...)...)
			flow := `{name: x, memory: {user: ann, session: s}, steps: [{id: a, call: memory-snapshot` + tt.retry + `}], outputs: {made: "{{ a.snapshots | length }}"}}`
			r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), journaled(t), remembers(remembered(t, nil)), providers(map[string]llm.Provider{"usual": main}))
			if tt.retry == "" {
				failsAsProvider(t, r)
				r = r.Resume(scheduler.Resumption{})
			}
			if r.Err != nil || r.Outputs.JSON() != `{"made":1}` {
				t.Errorf("%v, %s", r.Err, r.Outputs)
			}
		})
	}
}

// failsAsProvider wants a run that failed, that can be resumed, and that waits for nothing.
func failsAsProvider(t *testing.T, r *schedulertest.Result) {
	t.Helper()
	var waiting *scheduler.Waiting
	if errors.As(r.Err, &waiting) || kindOf(t, r.Err) != calls.Provider {
		t.Fatalf("the run ends with %v", r.Err)
	}
	for _, ev := range r.Events {
		if ev.Type == journal.StepWaiting || ev.Type == journal.FlowWaiting {
			t.Errorf("%s of %s", ev.Type, ev.Step)
		}
	}
	if last := r.Events[len(r.Events)-1]; last.Type != journal.FlowFailed {
		t.Errorf("the last event is %s", last.Type)
	}
}

// TestJudgeFaults: a judge that fails is an error of the check, and a list of judges continues with the next one.
func TestJudgeFaults(t *testing.T) {
	const verdict = `{"criteria": [{"reason": "it does", "met": true}]}`
	for name, fault := range faults {
		ask := func(p llm.Provider) (*check.Ruling, error) {
			services := &check.Services{Provider: func(string) (llm.Provider, error) { return p, nil }}
			judging := &check.Judging{Criteria: []string{"It is polite."}}
			return judging.Ask(t.Context(), services, "en", check.Judged{Text: "Please."})
		}
		if _, err := ask(scripted.New(fault)); calls.KindOf(err) != calls.Provider {
			t.Errorf("%s: %v", name, err)
		}
		ruling, err := ask(&llm.Chain{Candidates: []llm.Candidate{{Name: "main", Provider: scripted.New(fault)}, {Name: "backup", Provider: scripted.Texts(verdict, verdict)}}})
		if isFinal := name == brokenStream; isFinal != (err != nil) || err == nil && !ruling.Passed {
			t.Errorf("%s, with a second judge: %v, %v", name, ruling, err)
		}
	}
}

// failing is a model for embeddings that fails.
type failing struct{ err error }

func (f failing) Model() string { return "one" }
func (f failing) Embed(context.Context, []string) ([][]float32, error) {
	return nil, f.err
}

// TestEmbeddingFaults: if the embeddings are not available, a search continues by words, and reports it: no other
// model is asked, whose vectors could not be compared.
func TestEmbeddingFaults(t *testing.T) {
	const search = `{name: x, memory: {user: ann, session: s}, steps: [{id: a, call: memory-retrieve, with: {current_query: "every morning, cycling", include: [content], min_relevance: 0}}],
		outputs: {found: "{{ a.relevant_memories[0].content }}"}}`
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := &memorytest.Embedder{Name: "one"}
			p := remembered(t, &memory.Embeddings{Embedder: good})
			if report, err := p.Run(t.Context(), memory.AllUsers(), false); err != nil || report.Embedded != 1 {
				t.Fatalf("%+v, %v", report, err)
			}
			asked := len(good.Asked())
			for isFailing, warnings := range map[bool]int{false: 0, true: 1} {
				if isFailing {
					p.Embeddings = &memory.Embeddings{Embedder: failing{err: fault.Error}}
				} else {
					p.Embeddings = &memory.Embeddings{Embedder: good}
				}
				r := schedulertest.Run(t, search, schedulertest.With(builtin.Calls()...), journaled(t), remembers(p))
				if r.Err != nil || !strings.Contains(r.Outputs.JSON(), "two-wheeler") {
					t.Fatalf("failing is %v: %v, %s", isFailing, r.Err, r.Outputs)
				}
				if got := strings.Count(r.Log(), "step.warning"); got != warnings {
					t.Errorf("failing is %v: %d warnings\n%s", isFailing, got, r.Log())
				}
			}
			if n := len(good.Asked()) - asked; n != 1 {
				t.Errorf("the model that does not fail was asked %d times", n)
			}
		})
	}
}

// TestModelErrorAsks: on_model_error: ask asks for the values that the model might have found.
func TestModelErrorAsks(t *testing.T) {
	for name, fault := range faults {
		r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: slot, with: {on_model_error: ask, current_schema: {type: object, required: [city]}}}]}`,
			schedulertest.With(builtin.Calls()...), journaled(t), schedulertest.LLM(scripted.New(fault, fault)))
		var waiting *scheduler.Waiting
		if !errors.As(r.Err, &waiting) || !strings.Contains(r.Log(), "step.warning") {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}
