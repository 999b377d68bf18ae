package flowtest

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// budget bounds the time, cost and tokens of cases together. It is safe for concurrent use.
type budget struct {
	limits   suite.Limits
	currency llm.Currency // of the cost

	mu       sync.Mutex
	used     llm.Usage // guarded by mu
	embedded int64     // the tokens of used that are of embeddings; guarded by mu
	// isUnpriced is set after a request whose cost is not known; guarded by mu.
	isUnpriced bool
	ends       time.Time // when the time is over; zero: it has not begun; guarded by mu
	// running is how many repeats are at work, ended how many have ended; guarded by mu.
	running, ended int
	changed        *sync.Cond // of running and ended
}

func newBudget(limits suite.Limits, currency llm.Currency) *budget {
	b := &budget{limits: limits, currency: currency}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// admit waits until a repeat may begin: until all running repeats together, each at the average use so far, stay
// within the limits of cost and tokens. The first one runs alone, because its use is not known. The caller calls
// release at its end. For example, with a limit of 5 and a cost of 4 after 4 repeats, no other repeat begins
// beside a running one.
func (b *budget) admit(ctx context.Context) (release func()) {
	if b.limits.Cost == 0 && b.limits.Tokens == 0 {
		return func() {}
	}
	defer context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed.Broadcast()
	})()
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.running > 0 && !b.hasRoomLocked() && ctx.Err() == nil {
		b.changed.Wait()
	}
	b.running++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
		b.ended++
		b.changed.Broadcast()
	}
}

// hasRoomLocked reports whether one more repeat is likely to stay within the limits.
func (b *budget) hasRoomLocked() bool {
	if b.ended == 0 {
		return false
	}
	likely := 1 + float64(b.running+1)/float64(b.ended) // a factor on the use so far
	isCostly := b.limits.Cost > 0 && b.used.Cost*likely > b.limits.Cost
	isLong := b.limits.Tokens > 0 && float64(b.used.Total())*likely > float64(b.limits.Tokens)
	return !isCostly && !isLong
}

// within returns a context that ends when the time is over, which begins with the first use.
func (b *budget) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.limits.Time <= 0 {
		return context.WithCancel(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ends.IsZero() {
		b.ends = time.Now().Add(b.limits.Time)
	}
	return context.WithDeadline(ctx, b.ends)
}

// noteEmbedded notes that a part of the charged tokens belongs to embeddings.
func (b *budget) noteEmbedded(u llm.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.embedded += int64(u.Total())
}

// charge counts the usage of an answer, and whether its price is known.
func (b *budget) charge(u llm.Usage, priceKnown bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used.Add(u)
	b.isUnpriced = b.isUnpriced || !priceKnown && u.Total() > 0
}

// check returns which limit is reached; nil: none.
func (b *budget) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err *calls.Error
	switch {
	case b.limits.Cost > 0 && b.isUnpriced:
		return calls.Errorf(calls.Invalid, "what the models cost is not known, so that the limit of %s cannot be held", b.currency.Text(b.limits.Cost)).
			WithHint("give llm.providers[].prices in the settings, or limit tokens instead")
	case b.limits.Cost > 0 && b.used.Cost >= b.limits.Cost:
		err = calls.Errorf(calls.Budget, "not run to its end: the tests have cost %s, and may cost %s", b.currency.Text(b.used.Cost), b.currency.Text(b.limits.Cost))
	case b.limits.Tokens > 0 && int64(b.used.Total()) >= b.limits.Tokens && b.embedded > 0:
		err = calls.Errorf(calls.Budget, "not run to its end: the tests have used %d tokens, %d of them for embeddings, and may use %d",
			b.used.Total(), b.embedded, b.limits.Tokens)
	case b.limits.Tokens > 0 && int64(b.used.Total()) >= b.limits.Tokens:
		err = calls.Errorf(calls.Budget, "not run to its end: the tests have used %d tokens, and may use %d", b.used.Total(), b.limits.Tokens)
	case !b.ends.IsZero() && !time.Now().Before(b.ends):
		err = calls.Errorf(calls.Budget, "not run to its end: the tests have taken %s, as long as they may", b.limits.Time)
	default:
		return nil
	}
	return err.WithHint("raise the limits, or run fewer cases")
}
