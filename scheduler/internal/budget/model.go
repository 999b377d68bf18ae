package budget

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// Model is a step's view of a model: it counts the cost, and ends an answer when a budget is used up. The engine
// makes one for each step, and for each call inside it. It is safe for concurrent use.
type Model struct {
	// Candidate is the provider that answers. Its counter is set.
	llm.Candidate
	Meter    *Meter
	Observer Observer
	// Held counts the memory of an answer while it arrives.
	Held *Holder
	// Once: a request that fails is not sent again by the provider, for the step is tried
	// again itself.
	Once bool
}

// Observer is notified of the requests to a model, by several goroutines if a call uses the model so.
type Observer interface {
	// RequestSent is called for each request as it is sent, and its result when the answer begins.
	RequestSent(ctx context.Context, to *llm.Candidate, req *llm.Request) (answered func())
	// RequestEnded receives the cost of each request, and its error; nil for one that was answered, or whose reader
	// has left.
	RequestEnded(to *llm.Candidate, req *llm.Request, cost Cost, failure error)
}

// Cost is the cost of a request. It is only data.
type Cost struct {
	llm.Usage
	// Estimated is set if the provider did not report the cost.
	Estimated bool
}

var _ llm.Provider = (*Model)(nil)

// Chat counts the cost that the provider reports, or an estimate if the provider does not; a request that was
// refused costs nothing. A request that does not fit into the budget is not sent; an answer that outgrows it, or
// its context, is cut.
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
	told     *llm.Usage // the cost that the provider reports
	free     bool
	begun    bool
	failure  error // how the answer ended
	held     int64
}

// checkBudget returns an error if the answer so far does not fit into the budget.
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

// hold counts the bytes of an answer, which the caller may keep until it ends.
func (x *exchange) hold(d llm.Delta) error {
	size := int64(len(d.Text) + len(d.Reasoning))
	for _, call := range d.ToolCalls {
		size += int64(len(call.Name) + len(call.Arguments))
	}
	x.held += size
	return x.model.Held.Hold(size)
}

// addCost counts the cost of the exchange, and reports its end.
func (x *exchange) addCost() {
	cost := x.cost()
	x.model.Meter.Add(cost.Usage)
	x.model.Observer.RequestEnded(&x.model.Candidate, x.req, cost, x.failure)
}

// cost returns the cost of the exchange, as the provider reports it or as estimated.
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
