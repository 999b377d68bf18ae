package flowtest

import (
	"context"
	"iter"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// spending is what the checks of one attempt ask models for, recorded answers among it. It is safe for concurrent use.
type spending struct {
	models *models

	mu               sync.Mutex
	judges, embedded llm.Usage // of answers, and of texts that were embedded; guarded by mu
}

// add counts an answer of a judge.
func (s *spending) add(u llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judges.Add(u)
}

// addEmbeddings counts texts that are embedded. What recorded vectors have cost is not known.
func (s *spending) addEmbeddings(name, model string, texts []string) {
	u, _ := s.models.embeddingUsage(name, model, texts)
	if s.models.options.Mode == result.Replay {
		u.Cost = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embedded.Add(u)
}

// total returns what was used so far.
func (s *spending) total() (judges, embedded llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judges, s.embedded
}

// count returns a provider whose answers are counted.
func (s *spending) count(name string, inner llm.Provider) llm.Provider {
	p := &countedProvider{inner, name, s}
	if embeddings, ok := inner.(llm.EmbeddingProvider); ok {
		return &countedEmbeddings{p, embeddings}
	}
	return p
}

// countedProvider counts what another answers. It is safe for concurrent use.
type countedProvider struct {
	inner    llm.Provider
	name     string
	spending *spending
}

var _ llm.Provider = (*countedProvider)(nil)

// Chat asks the provider.
func (p *countedProvider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range p.inner.Chat(ctx, req) {
			if d.Usage != nil {
				p.spending.add(*d.Usage)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Checkpoint is that of a provider that keeps its answers; another has none to drop. What was dropped has been spent.
func (p *countedProvider) Checkpoint() (drop func() (again bool)) {
	if k, ok := p.inner.(interface{ Checkpoint() func() bool }); ok {
		return k.Checkpoint()
	}
	return func() bool { return false }
}

// countedEmbeddings counts what a provider with models for embeddings answers. It is safe for concurrent use.
type countedEmbeddings struct {
	*countedProvider
	embeddings llm.EmbeddingProvider
}

var _ llm.EmbeddingProvider = (*countedEmbeddings)(nil)

// Embedder returns an embedder whose texts are counted.
func (p *countedEmbeddings) Embedder(model string, dimensions int) llm.Embedder {
	return &countedEmbedder{p.embeddings.Embedder(model, dimensions), model, p}
}

// countedEmbedder counts the texts that another embeds. It is safe for concurrent use.
type countedEmbedder struct {
	llm.Embedder
	model string
	of    *countedEmbeddings
}

// Embed returns the vectors of texts.
func (e *countedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err == nil {
		e.of.spending.addEmbeddings(e.of.name, e.model, texts)
	}
	return vectors, err
}
