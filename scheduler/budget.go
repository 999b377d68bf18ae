package scheduler

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// meter counts the tokens of a step, of a for_each, of a flow. What a step
// spends counts for everything around it.
type meter struct {
	outer                 *meter
	limit                 int64 // 0: none
	input, output, cached atomic.Int64
}

func (m *meter) add(u llm.Usage) {
	for ; m != nil; m = m.outer {
		m.input.Add(int64(u.InputTokens))
		m.output.Add(int64(u.OutputTokens))
		m.cached.Add(int64(u.CachedTokens))
	}
}

// preset counts what was spent before.
func (m *meter) preset(u llm.Usage) {
	m.input.Store(int64(u.InputTokens))
	m.output.Store(int64(u.OutputTokens))
	m.cached.Store(int64(u.CachedTokens))
}

// room says whether extra more tokens fit into every budget around; limit is that
// of the first that they do not fit into.
func (m *meter) room(extra int64) (limit int64, ok bool) {
	for ; m != nil; m = m.outer {
		if m.limit > 0 && m.input.Load()+m.output.Load()+extra > m.limit {
			return m.limit, false
		}
	}
	return 0, true
}

func (m *meter) limited() bool {
	for ; m != nil; m = m.outer {
		if m.limit > 0 {
			return true
		}
	}
	return false
}

func (m *meter) usage() llm.Usage {
	return llm.Usage{
		InputTokens: int(m.input.Load()), OutputTokens: int(m.output.Load()), CachedTokens: int(m.cached.Load()),
	}
}

// metered is the model as a step sees it: what it costs is counted, and a budget
// that is used up ends it.
type metered struct {
	provider llm.Provider
	task     *task
}

// Chat counts what the provider says it cost, or what it seems to have cost where
// the provider does not say. A request that does not fit into the budget is not
// sent; an answer that outgrows it is cut.
func (m *metered) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.task.step.Retry.MaxAttempts > 1 {
			ctx = llm.SentOnce(ctx)
		}
		budget, tokens := &m.task.meter, m.task.env.Tokens
		limited := budget.limited()
		asked := -1
		if limited {
			asked = promptTokens(tokens, req)
			if limit, ok := budget.room(int64(asked) + 1); !ok {
				yield(llm.Delta{}, overBudget(limit))
				return
			}
		}
		answer := answerCount{tokens: tokens}
		var told *llm.Usage
		defer func() {
			if told != nil {
				budget.add(*told)
				return
			}
			if asked < 0 {
				asked = promptTokens(tokens, req)
			}
			budget.add(llm.Usage{InputTokens: asked, OutputTokens: answer.total()})
		}()
		for delta, err := range m.provider.Chat(ctx, req) {
			if delta.Usage != nil {
				told = delta.Usage
			}
			answer.add(delta)
			if err == nil && limited && told == nil && answer.grown() {
				if limit, ok := budget.room(int64(asked + answer.count)); !ok {
					err = overBudget(limit)
				}
			}
			if !yield(delta, err) || err != nil {
				return
			}
		}
	}
}

func overBudget(limit int64) error {
	return calls.Errorf(calls.Budget, "the budget of %d tokens is used up", limit).
		WithHint("raise budget.max_tokens of the flow, or make its prompts shorter")
}

// answerCount counts the tokens of an answer in pieces that are long enough to be
// worth counting.
type answerCount struct {
	tokens  llm.Counter
	pending []byte
	count   int
}

const countEvery = 512 // bytes

func (a *answerCount) add(d llm.Delta) {
	a.pending = append(append(a.pending, d.Text...), d.Reasoning...)
	for _, call := range d.ToolCalls {
		a.pending = append(append(a.pending, call.Name...), call.Arguments...)
	}
}

// grown counts when enough has come, and says whether it did.
func (a *answerCount) grown() bool {
	if len(a.pending) < countEvery {
		return false
	}
	a.total()
	return true
}

func (a *answerCount) total() int {
	if len(a.pending) > 0 {
		a.count += a.tokens.Count(string(a.pending))
		a.pending = a.pending[:0]
	}
	return a.count
}

// promptTokens estimates what a request costs: the text of its messages, and its
// tools as they are. Images cost what their vendor says; they are not counted.
func promptTokens(tokens llm.Counter, req *llm.Request) int {
	n := 0
	for _, message := range req.Messages {
		n += llm.MessageOverhead
		var m struct {
			Content   value.Value     `json:"content"`
			ToolCalls json.RawMessage `json:"tool_calls"`
		}
		if err := json.Unmarshal(message, &m); err != nil {
			n += tokens.Count(string(message))
			continue
		}
		if text, ok := m.Content.Str(); ok {
			n += tokens.Count(text)
		}
		for _, part := range m.Content.List() {
			v, _ := part.Get("text")
			text, _ := v.Str()
			n += tokens.Count(text)
		}
		n += tokens.Count(string(m.ToolCalls))
	}
	for _, tool := range req.Tools {
		n += tokens.Count(string(tool))
	}
	return n
}
