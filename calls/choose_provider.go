package calls

import "context"

type providersKey struct{}

// WithProviders returns a context for [Calls] and [Flows] in which what they run asks the model providers
// of these names, in order, instead of those of the step. No names change nothing. For example, an
// agent runs a tool that has llm of its own with it.
func WithProviders(ctx context.Context, names []string) context.Context {
	if len(names) == 0 {
		return ctx
	}
	return context.WithValue(ctx, providersKey{}, names)
}

// TakeProviders returns the names that WithProviders put in, and a context without them: they are for what runs
// next, and what that runs in turn inherits its choice.
func TakeProviders(ctx context.Context) (rest context.Context, names []string) {
	names, _ = ctx.Value(providersKey{}).([]string)
	if len(names) == 0 {
		return ctx, nil
	}
	return context.WithValue(ctx, providersKey{}, []string(nil)), names
}
