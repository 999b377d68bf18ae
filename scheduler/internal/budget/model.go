package budget

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// Model is a model as a step sees it: what it costs is counted, and a budget that is used
// up ends it. The engine makes one for each step, and for each call inside it. It is safe for
// concurrent use.
type Model struct {
	// Candidate is who answers. Its counter is set.
	llm.Candidate
	Meter    *Meter
	Observer Observer
	// Held counts what an answer holds while it comes.
	Held *Holder
	// Once: a request that fails is not sent again by the provider, for the step is tried
	// again itself.
	Once bool
}

// Observer is told of the requests to a model, by several goroutines where a call asks it so.
type Observer interface {
	// RequestSent is told of each request as it is sent, and its result when the answer
	// begins.
	RequestSent(ctx context.Context, to *llm.Candidate, req *llm.Request) (answered func())
	// RequestEnded is told of each request what it cost, and why it failed; nil for one that
	// was answered, or whose reader has left.
	RequestEnded(to *llm.Candidate, req *llm.Request, cost Cost, failure error)
}

// Cost is what a request cost. It is only data.
type Cost struct {
	llm.Usage
	// Estimated is set where the provider did not tell.
	Estimated bool
}

var _ llm.Provider = (*Model)(nil)

// Chat counts the cost that the provider reports, or what it seems to have cost where
// the provider does not say; a request that was refused costs nothing. A request that
// does not fit into the budget is not sent; an answer that outgrows it, or its
// context, is cut.
func (m *Model) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.Once {
			ctx = llm.SentOnce(ctx)
		}
		asked := -1
		piece := unwatchedPiece
		if m.Meter.hasLimit() {
			asked = llm.RequestTokens(llm.BindCounter(ctx, m.Tokens), req)
			if err := m.Meter.checkLimit(int64(asked) + 1); err != nil {
				yield(llm.Delta{}, err)
				return
			}
			piece = watchedPiece
		}
		x := &exchange{model: m, ctx: ctx, req: req, asked: asked, answered: m.Observer.RequestSent(ctx, &m.Candidate, req)}
		x.answer = answerCount{tokens: m.Tokens, every: piece, each: x.checkBudget}
		defer x.addCost()
		defer func() { m.Held.Free(x.held) }()
		for delta, err := range m.Provider.Chat(ctx, req) {
			err = x.addDelta(delta, err)
			if !yield(delta, err) || err != nil {
				return
			}
		}
	}
}

// exchange is a request and its answer.
type exchange struct {
	model    *Model
	ctx      context.Context
	req      *llm.Request
	asked    int // the tokens of the request; -1: not counted
	answered func()
	answer   answerCount
	told     *llm.Usage // what the provider says it cost
	free     bool
	begun    bool
	failure  error // how the answer ended
	held     int64
}

// checkBudget returns an error where the answer so far does not fit into the budget.
func (x *exchange) checkBudget(count int) error {
	if err := x.model.Meter.checkLimit(int64(max(x.asked, 0) + count)); err != nil {
		return err
	}
	return x.ctx.Err()
}

func (x *exchange) addDelta(delta llm.Delta, err error) error {
	if delta.Usage != nil {
		x.told = delta.Usage
	}
	x.failure = err
	if !x.begun && err == nil {
		x.answered()
	}
	x.free = !x.begun && isUnbilled(err)
	x.begun = true
	if err == nil {
		err = x.hold(delta)
	}
	if err == nil && x.told == nil {
		return x.answer.addDelta(delta)
	}
	return err
}

// hold counts the bytes of an answer, which who asks may keep until it ends.
func (x *exchange) hold(d llm.Delta) error {
	size := int64(len(d.Text) + len(d.Reasoning))
	for _, call := range d.ToolCalls {
		size += int64(len(call.Name) + len(call.Arguments))
	}
	x.held += size
	return x.model.Held.Hold(size)
}

// addCost counts what the exchange cost, and tells of its end.
func (x *exchange) addCost() {
	cost := x.cost()
	x.model.Meter.Add(cost.Usage)
	x.model.Observer.RequestEnded(&x.model.Candidate, x.req, cost, x.failure)
}

// cost returns what the exchange cost, as the provider tells it or by an estimate.
func (x *exchange) cost() Cost {
	if x.told != nil {
		return Cost{Usage: *x.told}
	}
	if x.free {
		return Cost{}
	}
	tokens := x.model.Tokens
	if x.ctx.Err() != nil { // exact numbers are not worth the time
		tokens = byLength{}
		x.answer.tokens = tokens
	}
	if x.asked < 0 {
		x.asked = llm.RequestTokens(tokens, x.req)
	}
	return Cost{Usage: llm.Usage{InputTokens: x.asked, OutputTokens: x.answer.totalTokens()}, Estimated: true}
}

// isUnbilled reports whether the provider did not take the request, was not reached, or that
// there is none.
func isUnbilled(err error) bool {
	var refused *llm.Error
	if !errors.As(err, &refused) {
		return errors.Is(err, calls.ErrNoProvider)
	}
	return refused.Unsent || refused.Status >= http.StatusBadRequest
}
