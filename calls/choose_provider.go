package calls

import "context"

type providersKey struct{}

// WithProviders returns a context for [Calls] and [Flows] in which the calls and flows that they run use the model
// providers of these names, in order, instead of the step's. Without names nothing changes. For example, an agent
// uses it to run a tool that has its own llm.
func WithProviders(ctx context.Context, names []string) context.Context {
	if len(names) == 0 {
		return ctx
	}
	return context.WithValue(ctx, providersKey{}, names)
}

// TakeProviders returns the names that WithProviders put in, and a context without them: they are for the next
// call or flow, and the ones that it runs in turn inherit its choice.
func TakeProviders(ctx context.Context) (rest context.Context, names []string) {
	names, _ = ctx.Value(providersKey{}).([]string)
	if len(names) == 0 {
		return ctx, nil
	}
	return context.WithValue(ctx, providersKey{}, []string(nil)), names
}
