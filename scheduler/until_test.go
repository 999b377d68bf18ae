package scheduler_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/calls/chat"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/template"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// until returns options for a run that stops at a step, and whose model must not be asked more
// often than it has answers.
func until(step string, answers ...string) []schedulertest.Option {
	return []schedulertest.Option{
		schedulertest.With(chat.Definition(), template.Definition(), flowcall.Definition(), agent.Definition()),
		schedulertest.LLM(scripted.Texts(answers...)),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Until = step }),
	}
}

const stops = `
name: stops
steps:
  - {id: first, call: template, needs: [], with: {template: !raw "one"}}
  - {id: aside, call: chat, needs: [], with: {user: not needed}}
  - id: answer
    call: chat
    needs: [first]
    with: {system: "Say {{ first.text }}.", user: hello}
    retry: {max_attempts: 3}
  - {id: after, call: template, with: {template: !raw "two"}}
outputs: {reply: "{{ answer.text }}"}
`

func TestUntilAModelStep(t *testing.T) {
	r := schedulertest.Run(t, stops, until("answer")...)
	if !errors.Is(r.Err, scheduler.ErrUntil) {
		t.Fatalf("the run ended with %v", r.Err)
	}
	state := r.State()
	if state.State != journal.RunCancelled || state.Error != nil || state.Usage.Total() != 0 {
		t.Errorf("the run is %s, failed with %v and cost %v", state.State, state.Error, state.Usage)
	}
	for step, want := range map[string]journal.StepStatus{"first": journal.StepStatusFinished, "answer": journal.StepStatusCancelled} {
		if got := state.Step(step); got == nil || got.State != want {
			t.Errorf("%s is %+v, want %s", step, got, want)
		}
	}
	if got := state.Step("aside"); got != nil && got.Attempts > 0 {
		t.Errorf("a step that is not before the one to stop at has run: %+v", got)
	}
	if state.Step("answer").Attempts != 1 {
		t.Errorf("%d attempts", state.Step("answer").Attempts)
	}
	prompt := promptText(t, r, "answer")
	if prompt != "system: Say one.\nuser: hello\n" {
		t.Errorf("the prompt is %q", prompt)
	}
}

// promptText returns the last prompt of a step.
func promptText(t *testing.T, r *schedulertest.Result, step string) string {
	t.Helper()
	prompts, err := explain.Explain(context.Background(), r.Flow, r.State(), step, tokens.For(""))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, m := range prompts[len(prompts)-1].Messages {
		text.WriteString(m.Role + ": ")
		for _, p := range m.Pieces {
			text.WriteString(p.Text)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func TestUntilAStepWithoutAModel(t *testing.T) {
	r := schedulertest.Run(t, stops, until("first")...)
	if !errors.Is(r.Err, scheduler.ErrUntil) {
		t.Fatalf("the run ended with %v", r.Err)
	}
	if got := r.State().Step("first"); got.State != journal.StepStatusFinished {
		t.Errorf("first is %s", got.State)
	}
	if got := r.State().Step("answer"); got != nil && got.Attempts > 0 {
		t.Errorf("answer has run: %+v", got)
	}
}

func TestUntilItemsAndSubflows(t *testing.T) {
	const flow = `
name: items
steps:
  - {id: list, call: template, with: {template: !raw "ab"}}
  - id: each
    call: flow
    for_each: [a, b, c]
    max_parallel: 1
    with: {path: inner.yaml, inputs: {x: "{{ item }}"}}
-- inner.yaml --
name: inner
inputs: {type: object, properties: {x: {type: string}}}
steps:
  - {id: say, call: chat, with: {user: "{{ inputs.x }}"}}
  - {id: end, call: template, with: {template: !raw "x"}}
`
	for _, test := range []struct {
		until   string
		answers []string
		asked   []string
	}{
		{"each/say", nil, []string{"each[0]/say", "each[1]/say", "each[2]/say"}},
		{"each[1]/say", nil, []string{"each[1]/say"}},
	} {
		r := schedulertest.Run(t, flow, until(test.until, test.answers...)...)
		if !errors.Is(r.Err, scheduler.ErrUntil) {
			t.Fatalf("until %s: the run ended with %v\n%s", test.until, r.Err, r.Log())
		}
		var asked []string
		for _, s := range r.State().Steps {
			if s.Call == "chat" && s.Attempts > 0 {
				asked = append(asked, s.ID)
				if got, want := promptText(t, r, s.ID), "user: "+string("abc"[s.ID[5]-'0'])+"\n"; got != want {
					t.Errorf("until %s: the prompt of %s is %q, want %q", test.until, s.ID, got, want)
				}
			}
		}
		slices.Sort(asked)
		if !slices.Equal(asked, test.asked) {
			t.Errorf("until %s: asked were %v, want %v", test.until, asked, test.asked)
		}
	}
}

func TestUntilARoundOfAnAgent(t *testing.T) {
	const flow = `
name: agent
steps:
  - {id: clerk, call: agent, with: {prompt: Work., tools: {calls: [{call: template, name: note, with: {template: !raw "noted"}}]}}}
`
	r := schedulertest.Run(t, flow, until("clerk")...)
	if got := promptText(t, r, "clerk"); !errors.Is(r.Err, scheduler.ErrUntil) || got != "user: Work.\n" {
		t.Errorf("the run ended with %v, and the prompt is %q", r.Err, got)
	}
	options := until("clerk/round-2")
	answers, err := scripted.Parse(value.Must([]any{map[string]any{"tool_calls": []any{map[string]any{"name": "note", "arguments": map[string]any{}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	r = schedulertest.Run(t, flow, append(options, schedulertest.LLM(scripted.New(answers...)))...)
	if got := promptText(t, r, "clerk"); !errors.Is(r.Err, scheduler.ErrUntil) || !strings.HasSuffix(got, "tool: noted\n") {
		t.Errorf("the run ended with %v, and the prompt is %q", r.Err, got)
	}
}

func TestUntilAnUnknownStep(t *testing.T) {
	r := schedulertest.Run(t, stops, until("anser")...)
	if r.Err == nil || !strings.Contains(r.Err.Error(), `no step "anser"`) || len(r.Events) > 0 {
		t.Errorf("the run ended with %v after %d events", r.Err, len(r.Events))
	}
}

// interceptor answers for calls by their paths, and lists the calls.
type interceptor struct {
	answers map[string][]calls.Chunk
	errs    map[string][]error

	mu   sync.Mutex
	uses []string
}

func (i *interceptor) Exec(_ context.Context, use *scheduler.CallUse) iter.Seq2[calls.Chunk, error] {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.uses = append(i.uses, use.Path+" "+use.Info.Name)
	if errs := i.errs[use.Path]; len(errs) > 0 {
		i.errs[use.Path] = errs[1:]
		return calls.Fail(errs[0])
	}
	chunks := i.answers[use.Path]
	if chunks == nil {
		return nil
	}
	return func(yield func(calls.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func TestInterceptor(t *testing.T) {
	mocked := value.OfMap(value.Pairs("text", "mocked", "tool_calls", value.OfList(), "usage", value.Pairs("input_tokens", 0, "output_tokens", 0), "finish_reason", "stop"))
	i := &interceptor{
		answers: map[string][]calls.Chunk{"answer": {calls.TextChunk("mocked"), {Data: new(mocked)}}},
		errs:    map[string][]error{"answer": {calls.Errorf(calls.Provider, "busy")}},
	}
	options := append(until("", "aside"), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Interceptor = i }))
	r := schedulertest.Run(t, stops, options...)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if got := r.State().Outputs.JSON(); got != `{"reply":"mocked"}` {
		t.Errorf("the outputs are %s", got)
	}
	if got := r.State().Step("answer"); got.Attempts != 2 {
		t.Errorf("answer had %d attempts", got.Attempts)
	}
	slices.Sort(i.uses)
	want := []string{"after template", "answer chat", "answer chat", "aside chat", "first template"}
	if !slices.Equal(i.uses, want) {
		t.Errorf("asked was for %v, want %v", i.uses, want)
	}
	if got := promptText(t, r, "answer"); got != "system: Say one.\nuser: hello\n" {
		t.Errorf("the prompt is %q", got)
	}
	if !strings.Contains(r.Log(), "mocked") {
		t.Errorf("the text was not streamed:\n%s", r.Log())
	}
}

// A replacement for a call's work must fit the output of the call.
func TestInterceptorOutputIsChecked(t *testing.T) {
	i := &interceptor{answers: map[string][]calls.Chunk{"answer": {{Data: new(value.OfMap(value.Pairs("text", 1)))}}}}
	options := append(until("", "aside"), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Interceptor = i }))
	r := schedulertest.Run(t, stops, options...)
	if r.Err == nil || !strings.Contains(r.Err.Error(), "does not fit") {
		t.Errorf("the run ended with %v", r.Err)
	}
}
