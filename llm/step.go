package llm

import "context"

// Asker identifies the step of a run that asks a model, a server or a store: recordings keep it, so that steps
// that run side by side get their own answers back.
type Asker struct {
	// Step is the path of the step, such as answer, outer/inner or each[3].
	Step string
	// Part is how often the run had been resumed before.
	Part int
}

type askerKey struct{}

// WithAsker returns a context for all that a step asks.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// AskerOf returns the asking step; its zero value is outside of a run.
func AskerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(Asker)
	return a
}
