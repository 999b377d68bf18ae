package llm

import (
	"context"
	"iter"
	"sync"
)

// Lazy returns a provider that open makes when it is first asked: a run that asks no model needs no key. An error
// of open is the error of every request.
func Lazy(open func() (Provider, error)) Provider { return &lazyProvider{sync.OnceValues(open)} }

type lazyProvider struct{ open func() (Provider, error) }

// Secrets returns the secrets of the provider, if it can be made.
func (p *lazyProvider) Secrets() []string {
	provider, err := p.open()
	if holder, ok := provider.(SecretHolder); ok && err == nil {
		return holder.Secrets()
	}
	return nil
}

// Chat asks the provider.
func (p *lazyProvider) Chat(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	provider, err := p.open()
	if err != nil {
		return func(yield func(Delta, error) bool) { yield(Delta{}, &Error{Err: err, Unsent: true}) }
	}
	return provider.Chat(ctx, req)
}
