package flowtest

import (
	"context"
	"iter"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// usageObserver observes the requests to providers and their usage. It is safe for concurrent use.
type usageObserver interface {
	// admit returns an error if a provider must not be asked.
	admit(provider string) error
	// addAnswer hears of an answer to a request when it has ended, or was cut short.
	addAnswer(provider string, req *llm.Request, a heardAnswer)
	// addEmbeddings is called with texts that were embedded.
	addEmbeddings(provider, model string, texts []string)
}

// heardAnswer is the observer's view of an answer.
type heardAnswer struct {
	text     string
	used     llm.Usage // as the provider reports it
	hasBegun bool      // something of it came before an error, if there was one
}

// observeProvider returns a provider with an observer.
func observeProvider(name string, inner llm.Provider, observer usageObserver) llm.Provider {
	p := &observedProvider{inner, name, observer}
	if embeddings, ok := inner.(llm.EmbeddingProvider); ok {
		return &observedEmbeddings{p, embeddings}
	}
	return p
}

// observedProvider is a provider with an observer. It is safe for concurrent use.
type observedProvider struct {
	inner    llm.Provider
	name     string
	observer usageObserver
}

var _ llm.Provider = (*observedProvider)(nil)

// Chat asks the provider.
func (p *observedProvider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := p.observer.admit(p.name); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		var a heardAnswer
		var text strings.Builder
		defer func() {
			a.text = text.String()
			p.observer.addAnswer(p.name, req, a)
		}()
		for d, err := range p.inner.Chat(ctx, req) {
			a.hasBegun = a.hasBegun || err == nil
			text.WriteString(d.Text)
			if d.Usage != nil {
				a.used.Add(*d.Usage)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Checkpoint forwards to a provider that keeps its answers; others have nothing to drop. Dropped answers count as
// used.
func (p *observedProvider) Checkpoint() (drop func() (again bool)) {
	if k, ok := p.inner.(interface{ Checkpoint() func() bool }); ok {
		return k.Checkpoint()
	}
	return func() bool { return false }
}

// observedEmbeddings is a provider with models for embeddings and an observer. It is safe for concurrent use.
type observedEmbeddings struct {
	*observedProvider
	embeddings llm.EmbeddingProvider
}

var _ llm.EmbeddingProvider = (*observedEmbeddings)(nil)

// Embedder returns an embedder with the observer.
func (p *observedEmbeddings) Embedder(model string, dimensions int) llm.Embedder {
	return &observedEmbedder{p.embeddings.Embedder(model, dimensions), model, p.observedProvider}
}

// observedEmbedder is an embedder with an observer. It is safe for concurrent use.
type observedEmbedder struct {
	llm.Embedder
	model string
	of    *observedProvider
}

// Embed returns the vectors of texts.
func (e *observedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.of.observer.admit(e.of.name); err != nil {
		return nil, err
	}
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err == nil {
		e.of.observer.addEmbeddings(e.of.name, e.model, texts)
	}
	return vectors, err
}
