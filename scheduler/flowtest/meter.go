package flowtest

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm"
)

// meter stands between one attempt and the models that are really asked, by its flow and its checks. It charges each answer to the
// budgets as it comes, and refuses a request once a limit is reached. Recorded and scripted answers do not pass it: they cost
// nothing. newAttempt makes it; it is safe for concurrent use.
type meter struct {
	models  *models
	budgets []*budget

	mu         sync.Mutex
	refused    error // why a request was refused; guarded by mu
	isUnpriced bool  // something was asked whose cost is not known; guarded by mu
}

// problem returns why a request was refused; nil: none was.
func (m *meter) problem() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// hasUnknownCost reports whether something was asked whose cost is not known.
func (m *meter) hasUnknownCost() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isUnpriced
}

// admit returns an error where a limit is reached.
func (m *meter) admit(provider string) error {
	var reached error
	for _, b := range m.budgets {
		reached = cmp.Or(reached, b.check())
	}
	if reached == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = reached
	return &llm.Error{Provider: provider, Err: reached, Unsent: true}
}

// charge counts what was used, and whether its cost is known.
func (m *meter) charge(u llm.Usage, isPriced bool) {
	for _, b := range m.budgets {
		b.charge(u, isPriced)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isUnpriced = m.isUnpriced || !isPriced && u.Total() > 0
}

// chargeEmbeddings counts texts that were embedded.
func (m *meter) chargeEmbeddings(u llm.Usage, isPriced bool) {
	m.charge(u, isPriced)
	for _, b := range m.budgets {
		b.noteEmbedded(u)
	}
}

// embeddingUsage returns what it takes to embed texts, by our count: embedders tell no usage. isPriced reports whether the settings
// have a price.
func (m *models) embeddingUsage(provider, model string, texts []string) (u llm.Usage, isPriced bool) {
	counter := m.counter(provider)
	for _, text := range texts {
		u.InputTokens += counter.Count(text)
	}
	if m.options.Models.Cost == nil {
		return u, false
	}
	u.Cost, isPriced = m.options.Models.Cost(provider, model, u)
	return u, isPriced
}

// wrap returns a provider that is metered.
func (m *meter) wrap(name string, inner llm.Provider) llm.Provider {
	p := &meteredProvider{inner, name, m}
	if embeddings, ok := inner.(llm.EmbeddingProvider); ok {
		return &meteredEmbeddings{p, embeddings}
	}
	return p
}

// meteredProvider is a provider that is metered. It is safe for concurrent use.
type meteredProvider struct {
	inner llm.Provider
	name  string
	meter *meter
}

var _ llm.Provider = (*meteredProvider)(nil)

// Chat asks the provider.
func (p *meteredProvider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := p.meter.admit(p.name); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		var used llm.Usage
		var text strings.Builder
		isAnswered := false
		defer func() {
			if isAnswered && used.Total() == 0 {
				used = p.estimate(req, text.String())
			}
			p.meter.charge(used, used.Cost > 0 || p.meter.models.options.Models.Priced(p.name))
		}()
		for d, err := range p.inner.Chat(ctx, req) {
			isAnswered = isAnswered || err == nil
			text.WriteString(d.Text)
			if d.Usage != nil {
				used.Add(*d.Usage)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// estimate returns what an answer took that does not tell it.
func (p *meteredProvider) estimate(req *llm.Request, text string) llm.Usage {
	m := p.meter.models
	counter := m.counter(p.name)
	u := llm.Usage{InputTokens: llm.RequestTokens(counter, req), OutputTokens: counter.Count(text)}
	if m.options.Models.Cost != nil {
		u.Cost, _ = m.options.Models.Cost(p.name, req.Model, u)
	}
	return u
}

// meteredEmbeddings is a provider with models for embeddings that is metered. It is safe for concurrent use.
type meteredEmbeddings struct {
	*meteredProvider
	embeddings llm.EmbeddingProvider
}

var _ llm.EmbeddingProvider = (*meteredEmbeddings)(nil)

// Embedder returns an embedder that is metered.
func (p *meteredEmbeddings) Embedder(model string, dimensions int) llm.Embedder {
	return &meteredEmbedder{p.embeddings.Embedder(model, dimensions), model, p.meteredProvider}
}

// meteredEmbedder is an embedder that is metered. It is safe for concurrent use.
type meteredEmbedder struct {
	llm.Embedder
	model string
	of    *meteredProvider
}

// Embed returns the vectors of texts.
func (e *meteredEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.of.meter.admit(e.of.name); err != nil {
		return nil, err
	}
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err == nil {
		e.of.meter.chargeEmbeddings(e.of.meter.models.embeddingUsage(e.of.name, e.model, texts))
	}
	return vectors, err
}
