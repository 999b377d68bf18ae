package llm

import (
	"context"
	"iter"
)

// Places bound how many requests are made at once, over all providers that share them.
// [NewPlaces] makes them; they are safe for concurrent use.
type Places chan struct{}

// NewPlaces returns places for n requests at once.
func NewPlaces(n int) Places { return make(Places, n) }

// Limit returns a provider with chats that wait for a place. Its other abilities stay as they are; embeddings do
// not wait.
func Limit(p Provider, places Places) Provider {
	l := limited{p, places}
	if e, ok := p.(EmbeddingProvider); ok {
		return limitedEmbeddings{l, e}
	}
	return l
}

// limited is a [Provider] with chats that wait for a place.
type limited struct {
	Provider
	places Places
}

// Chat waits for a place and holds it until the answer has ended.
func (l limited) Chat(ctx context.Context, r *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		select {
		case l.places <- struct{}{}:
		case <-ctx.Done():
			yield(Delta{}, &Error{Err: context.Cause(ctx), Unsent: true})
			return
		}
		defer func() { <-l.places }()
		for d, err := range l.Provider.Chat(ctx, r) {
			if !yield(d, err) {
				return
			}
		}
	}
}

// Secrets returns the provider's secrets.
func (l limited) Secrets() []string {
	if holder, ok := l.Provider.(SecretHolder); ok {
		return holder.Secrets()
	}
	return nil
}

// limitedEmbeddings is a [limited] that has models for embeddings.
type limitedEmbeddings struct {
	limited
	embeddings EmbeddingProvider
}

// Embedder returns an embedder of the provider.
func (l limitedEmbeddings) Embedder(model string, dimensions int) Embedder {
	return l.embeddings.Embedder(model, dimensions)
}
