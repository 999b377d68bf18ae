package scheduler

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// meter counts what a step, a for_each or a flow spends. What a step spends counts for
// everything around it. It is safe for concurrent use.
type meter struct {
	outer *meter
	limit int64 // in tokens; 0: none

	mu    sync.Mutex
	spent llm.Usage // guarded by mu
}

func (m *meter) addUsage(u llm.Usage) {
	for ; m != nil; m = m.outer {
		m.mu.Lock()
		m.spent.Add(u)
		m.mu.Unlock()
	}
}

// presetUsage counts what was spent before.
func (m *meter) presetUsage(u llm.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = u
}

// remaining reports whether extra more tokens fit into every budget around; limit is that
// of the first that they do not fit into.
func (m *meter) remaining(extra int64) (limit int64, ok bool) {
	for ; m != nil; m = m.outer {
		if m.limit > 0 && int64(m.usage().Total())+extra > m.limit {
			return m.limit, false
		}
	}
	return 0, true
}

func (m *meter) hasLimit() bool {
	for ; m != nil; m = m.outer {
		if m.limit > 0 {
			return true
		}
	}
	return false
}

func (m *meter) usage() llm.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// metered is the model as a step sees it: what it costs is counted, and a budget
// that is used up ends it.
type metered struct {
	provider llm.Provider
	task     *task
}

// Chat counts what the provider says it cost, or what it seems to have cost where
// the provider does not say; a request that was refused costs nothing. A request that
// does not fit into the budget is not sent; an answer that outgrows it, or its
// context, is cut.
func (m *metered) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.task.step.Retry.MaxAttempts > 1 {
			ctx = llm.SentOnce(ctx)
		}
		budget, tokens := &m.task.meter, m.task.env.Tokens
		asked, piece := -1, unwatchedPiece
		if budget.hasLimit() {
			asked = llm.RequestTokens(tokens, req)
			if limit, ok := budget.remaining(int64(asked) + 1); !ok {
				yield(llm.Delta{}, overBudget(limit))
				return
			}
			piece = watchedPiece
		}
		m.task.recordRequest(ctx, req)
		m.task.countRequest(req.Model)
		sent := m.task.run.stream.watch()
		answer := answerCount{tokens: tokens, every: piece, each: func(count int) error {
			if limit, ok := budget.remaining(int64(max(asked, 0) + count)); !ok {
				return overBudget(limit)
			}
			return ctx.Err()
		}}
		var told *llm.Usage
		free, begun := false, false
		defer func() {
			if told != nil {
				budget.addUsage(*told)
				return
			}
			if free {
				return
			}
			m.task.countEstimate()
			if ctx.Err() != nil { // nobody waits for exact numbers
				tokens, answer.tokens = byLength{}, byLength{}
			}
			if asked < 0 {
				asked = llm.RequestTokens(tokens, req)
			}
			budget.addUsage(llm.Usage{InputTokens: asked, OutputTokens: answer.totalTokens()})
		}()
		for delta, err := range m.provider.Chat(ctx, req) {
			if delta.Usage != nil {
				told = delta.Usage
			}
			if !begun && err == nil {
				m.task.setFirstToken(m.task.run.stream.watch().Sub(sent))
			}
			free, begun = !begun && isUnbilled(err), true
			if err == nil && told == nil {
				err = answer.addDelta(delta)
			}
			if !yield(delta, err) || err != nil {
				return
			}
		}
	}
}

// isUnbilled reports whether the provider did not take the request, was not reached, or that
// there is none.
func isUnbilled(err error) bool {
	var refused *llm.Error
	return errors.Is(err, calls.ErrNoProvider) || errors.As(err, &refused) && (refused.Unsent || refused.Status >= http.StatusBadRequest)
}

func overBudget(limit int64) error {
	return calls.Errorf(calls.Budget, "the budget of %d tokens is used up", limit).
		WithHint("raise budget.max_tokens of the flow, or make its prompts shorter")
}

// answerCount counts the tokens of an answer in pieces that are long enough to be
// worth counting, and keeps nothing but the piece that grows.
type answerCount struct {
	tokens llm.Counter
	// every is how long a piece is, in bytes.
	every int
	// each hears the count after every piece; its error ends the counting.
	each    func(count int) error
	pending []byte
	count   int
}

// How long a piece is, in bytes: short where a budget is watched, else long, for
// most answers end before with what the provider says.
const (
	watchedPiece   = 512
	unwatchedPiece = 64 << 10
)

func (a *answerCount) addDelta(d llm.Delta) error {
	texts := []string{d.Text, d.Reasoning}
	for _, call := range d.ToolCalls {
		texts = append(texts, call.Name, call.Arguments)
	}
	for _, text := range texts {
		if err := a.addText(text); err != nil {
			return err
		}
	}
	return nil
}

func (a *answerCount) addText(text string) error {
	for len(a.pending)+len(text) >= a.every {
		n := a.every - len(a.pending)
		for range utf8.UTFMax - 1 { // a character stays whole
			if 0 < n && n < len(text) && !utf8.RuneStart(text[n]) {
				n--
			}
		}
		a.pending, text = append(a.pending, text[:n]...), text[n:]
		if err := a.each(a.totalTokens()); err != nil {
			return err
		}
	}
	a.pending = append(a.pending, text...)
	return nil
}

func (a *answerCount) totalTokens() int {
	if len(a.pending) > 0 {
		a.count += a.tokens.Count(string(a.pending))
		a.pending = a.pending[:0]
	}
	return a.count
}

// byLength counts without looking at the text: four bytes a token.
type byLength struct{}

func (byLength) Count(text string) int { return (len(text) + 3) / 4 }
