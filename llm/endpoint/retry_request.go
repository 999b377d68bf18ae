package endpoint

import (
	"context"
	"iter"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/callnode/scheduler/llm"
)

// maxWait is the longest wait before a retry. A server that asks for more has to be asked again later.
const maxWait = time.Minute

// Chat returns the deltas of attempt, which sends a request to a model once and passes on the pieces of its answer
// until emit returns false. An attempt that failed before its first piece is repeated if that can help, after a
// growing wait, unless the caller of ctx retries by itself ([llm.SentOnce]), as a step with retry does.
func (c *Client) Chat(ctx context.Context, model string, attempt func(ctx context.Context, emit func(llm.Delta) bool) *llm.Error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		waits := backoff.ExponentialBackOff{
			InitialInterval: c.options.RetryWait, Multiplier: 2, MaxInterval: maxWait,
			RandomizationFactor: backoff.DefaultRandomizationFactor,
		}
		retries := c.options.MaxRetries
		if llm.IsSentOnce(ctx) {
			retries = 0
		}
		for ; ; retries-- {
			begun := false
			var halves halfJoiner
			failure := attempt(ctx, func(d llm.Delta) bool {
				d = halves.join(d)
				if IsEmpty(d) {
					return true
				}
				begun = true
				return yield(c.withCost(model, d), nil)
			})
			if failure == nil {
				return
			}
			wait := max(waits.NextBackOff(), failure.RetryAfter)
			canRetry := !begun && retries > 0 && failure.Temporary
			if !canRetry || wait > maxWait {
				yield(llm.Delta{}, failure)
				return
			}
			if err := sleepContext(ctx, wait); err != nil {
				yield(llm.Delta{}, c.contextError(err))
				return
			}
		}
	}
}

// withCost returns d with its cost, if it has the usage and the model has a price.
func (c *Client) withCost(model string, d llm.Delta) llm.Delta {
	if d.Usage == nil {
		return d
	}
	if cost, ok := c.options.Prices.Cost(model, *d.Usage); ok {
		usage := *d.Usage
		usage.Cost = cost
		d.Usage = &usage
	}
	return d
}

func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
