package flowtest

import (
	"context"
	"iter"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// spending is what the judges of one attempt use: all that its checks ask models for. It is safe for concurrent use.
type spending struct {
	models *models

	mu         sync.Mutex
	used       llm.Usage // guarded by mu
	isUnpriced bool      // something was asked whose cost is not known; guarded by mu
	// embedded is the part of used that texts took which were embedded; isEmbeddedUnpriced is isUnpriced of it; guarded by mu.
	embedded           llm.Usage
	isEmbeddedUnpriced bool
}

// add counts an answer of a provider.
func (s *spending) add(name string, u llm.Usage) {
	o := s.models.options
	isPriced := u.Cost > 0 || o.Mode == result.Live && o.Models.Priced(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Add(u)
	s.isUnpriced = s.isUnpriced || !isPriced && u.Total() > 0
}

// addEmbeddings counts the tokens of texts that are embedded: embedders tell no usage. Recorded vectors cost nothing.
func (s *spending) addEmbeddings(name, model string, texts []string) {
	u := llm.Usage{}
	counter := s.models.counter(name)
	for _, text := range texts {
		u.InputTokens += counter.Count(text)
	}
	o := s.models.options
	isPriced := o.Mode == result.Replay
	if !isPriced && o.Models.Cost != nil {
		u.Cost, isPriced = o.Models.Cost(name, model, u)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Add(u)
	s.embedded.Add(u)
	isUnpriced := !isPriced && u.Total() > 0
	s.isUnpriced, s.isEmbeddedUnpriced = s.isUnpriced || isUnpriced, s.isEmbeddedUnpriced || isUnpriced
}

// embeddings returns what texts that were embedded took, and whether its cost is known.
func (s *spending) embeddings() (used llm.Usage, priceKnown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.embedded, !s.isEmbeddedUnpriced
}

// spent returns what a repeat has spent, and whether its cost is known: answers that were recorded before, and scripted ones, cost
// nothing.
func (a *attempt) spent(r *result.Repeat) (spent llm.Usage, isKnown bool) {
	mode := a.of.suite.runner.options.Mode
	if mode != result.Live && mode != result.Record {
		return llm.Usage{}, true
	}
	spent, isKnown = a.judges.total()
	if recorded, isTold := a.sessions.spent(); mode == result.Record && isTold {
		embedded, isEmbeddedKnown := a.judges.embeddings()
		isKnown = isEmbeddedKnown && (recorded.Cost > 0 || recorded.Total() == 0)
		recorded.Add(embedded)
		return recorded, isKnown
	}
	if !a.of.HasScript {
		isKnown = isKnown && (r.PriceKnown || r.Usage.Total() == 0)
		spent.Add(r.Usage)
	}
	return spent, isKnown
}

// total returns what was used, and whether its cost is known.
func (s *spending) total() (used llm.Usage, priceKnown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, !s.isUnpriced
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
				p.spending.add(p.name, *d.Usage)
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
