package scheduler_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// streamed is a provider that says one delta again and again, even after the context ends.
type streamed struct {
	delta  llm.Delta
	times  int // 0: for ever
	err    error
	before func(n int)
	asked  int // how many deltas were taken
}

func (s *streamed) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for n := 0; s.times == 0 && s.err == nil || n < s.times; n++ {
			if s.before != nil {
				s.before(n)
			}
			s.asked++
			if !yield(s.delta, nil) {
				return
			}
		}
		if s.err != nil {
			yield(llm.Delta{}, s.err)
		}
	}
}

// tally counts a token for each byte, and keeps the counted texts.
type tally struct {
	longest, total int
	broken         bool // a character was cut
}

func (p *tally) Count(text string) int {
	p.longest = max(p.longest, len(text))
	p.total += len(text)
	p.broken = p.broken || strings.ToValidUTF8(text, "") != text
	return len(text)
}

// listen is a call that takes the whole answer and keeps none of it.
var listen = schedulertest.Do("listen", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
	for _, err := range env.LLM.Chat(ctx, &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "hi")}}) {
		if err != nil {
			return nil, err
		}
	}
	return map[string]any{}, nil
})

const prompt = 2 + llm.MessageOverhead // tokens of listen's request, by tally

func run(t *testing.T, head string, provider llm.Provider, counter llm.Counter, options ...schedulertest.Option) *schedulertest.Result {
	t.Helper()
	options = append(options, schedulertest.With(listen), schedulertest.LLM(provider), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Env.Tokens = counter
	}))
	return schedulertest.Run(t, "name: x\n"+head+"steps: [{id: a, call: listen}]\n", options...)
}

func TestAnswersAreCountedInPieces(t *testing.T) {
	text := strings.Repeat("文字", 50_000)
	for head, longest := range map[string]int{"": 64 << 10, "budget: {max_tokens: 100000000}\n": 512} {
		provider := &streamed{delta: llm.Delta{Text: text, Reasoning: "abc", ToolCalls: []llm.ToolCallDelta{{Name: "f", Arguments: "{}"}}}, times: 5}
		counter := &tally{}
		r := run(t, head, provider, counter)
		want := llm.Usage{InputTokens: prompt, OutputTokens: 5 * (len(text) + 6)}
		if r.Err != nil || r.Usage != want {
			t.Errorf("%q: %+v, %v, want %+v", head, r.Usage, r.Err, want)
		}
		if counter.longest > longest || counter.broken {
			t.Errorf("%q: a piece of %d bytes was counted, broken: %t", head, counter.longest, counter.broken)
		}
	}
}

func TestBytesThatAreNoTextAreCounted(t *testing.T) {
	provider := &streamed{delta: llm.Delta{Text: strings.Repeat("\x80", 5000)}, times: 1}
	if r := run(t, "budget: {max_tokens: 10000}\n", provider, &tally{}); r.Err != nil || r.Usage.OutputTokens != 5000 {
		t.Errorf("%+v, %v", r.Usage, r.Err)
	}
}

// A large delta that outgrows the budget is not counted to its end.
func TestBudgetStopsWithinADelta(t *testing.T) {
	counter := &tally{}
	r := run(t, "budget: {max_tokens: 2000}\n", &streamed{delta: llm.Delta{Text: strings.Repeat("a", 1<<20)}}, counter)
	if kindOf(t, r.Err) != calls.Budget || counter.total > 4000 {
		t.Errorf("%d bytes were counted: %v", counter.total, r.Err)
	}
}

// A caller that stops waiting pays for no counting, and no provider continues for ever.
func TestCountingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	provider := &streamed{delta: llm.Delta{Text: strings.Repeat("a", 1<<20)}, before: func(n int) {
		if n == 1 {
			cancel()
		}
	}}
	counter := &tally{}
	r := run(t, "", provider, counter, schedulertest.Context(ctx))
	if kindOf(t, r.Err) != calls.Canceled || provider.asked != 2 {
		t.Errorf("%d deltas: %v", provider.asked, r.Err)
	}
	if counter.total > 1<<20+64<<10 {
		t.Errorf("%d bytes were counted", counter.total)
	}
}

// An answer whose cost the provider reports is not counted if no budget needs it.
func TestToldUsageNeedsNoCounting(t *testing.T) {
	counter := &tally{}
	r := run(t, "", &streamed{delta: llm.Delta{Text: "hello", Usage: &llm.Usage{InputTokens: 1, OutputTokens: 2}}, times: 1}, counter)
	if r.Usage.Total() != 3 || counter.total != 0 {
		t.Errorf("%+v, %d bytes were counted", r.Usage, counter.total)
	}
}

// A request that the provider refuses, or that does not reach it, costs nothing; one
// whose answer breaks off does.
func TestRefusedRequestsAreFree(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		err  error
		want int
	}{
		"refused":      {"", &llm.Error{Status: 429}, 0},
		"not reached":  {"", &llm.Error{Unsent: true}, 0},
		"broken off":   {"abc", &llm.Error{Status: 503}, prompt + 3},
		"without word": {"", &llm.Error{Message: "timeout"}, prompt},
	} {
		t.Run(name, func(t *testing.T) {
			provider := &streamed{delta: llm.Delta{Text: test.text}, times: len(test.text) / 3, err: test.err}
			if r := run(t, "", provider, &tally{}); r.Err == nil || r.Usage.Total() != test.want {
				t.Errorf("%+v, want %d, %v", r.Usage, test.want, r.Err)
			}
		})
	}
}

// endless is a counter that is done with a text only when its context ends.
type endless struct{}

func (endless) Count(string) int { return 0 }

func (endless) Bound(ctx context.Context) llm.Counter { return endlessBound{ctx} }

type endlessBound struct{ ctx context.Context }

func (c endlessBound) Count(string) int {
	<-c.ctx.Done()
	return 1
}

// Bound returns the counter with the context of another attempt.
func (c endlessBound) Bound(ctx context.Context) llm.Counter { return endlessBound{ctx} }

// TestCountingEndsWithTheStep: counting tokens in a step ends when the time of the step is over, in every attempt.
func TestCountingEndsWithTheStep(t *testing.T) {
	counted := 0
	count := schedulertest.Do("count", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		counted += env.Tokens.Count("a long word")
		return nil, ctx.Err()
	})
	flow := "steps: [{id: a, call: count, timeout: 20ms, retry: {max_attempts: 2, initial_interval: 1ms}}]\n"
	r := schedulertest.Run(t, flow, schedulertest.With(count), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.Tokens = endless{} }))
	if calls.KindOf(r.Err) != calls.Timeout || counted != 2 {
		t.Errorf("after %d counts: %v", counted, r.Err)
	}
}
