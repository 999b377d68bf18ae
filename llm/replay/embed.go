package replay

import (
	"context"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Embeddings are recorded like answers, once for all repeats: the same texts have the same vectors.

// Embedder returns an embedder with the vectors of the cassette.
func (p *Player) Embedder(model string, dimensions int) llm.Embedder {
	return &embedder{p, model, dimensions}
}

// embedder plays and records vectors.
type embedder struct {
	player     *Player
	model      string
	dimensions int
}

// Model returns the model that was asked for.
func (e *embedder) Model() string { return e.model }

// Embed returns the vectors of texts.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	p := e.player
	inner, err := p.openInner()
	if err != nil {
		return nil, p.newError(err)
	}
	hidden := p.takes.hidden()
	r := recording{kind: KindModel, take: 1, request: hidden.maskValue(e.request(texts))}
	r.key = keyOf(r.request)
	one, done, err := p.takes.claim(ctx, slot{key: r.key, take: 1})
	switch {
	case err != nil:
		return nil, p.newError(err)
	case one != nil:
		p.countTime(one)
		return one.vectors, nil
	case done == nil:
		return nil, p.missError(r)
	}
	defer done()
	if hidden.occurIn(r.request) {
		return nil, p.newError(errSecret)
	}
	embeddings, ok := inner.(llm.EmbeddingProvider)
	if !ok {
		return nil, p.newError(wording.Errorf("the provider %q has no models for embeddings", p.takes.config.Name))
	}
	began := time.Now()
	r.vectors, err = embeddings.Embedder(e.model, e.dimensions).Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	ms := time.Since(began).Milliseconds()
	r.ms = &ms
	recorded := &take{recording: r, order: p.order}
	p.countTime(recorded)
	if err := p.takes.keep(recorded); err != nil {
		return nil, p.newError(wording.Errorf("recording the answer: %w", err))
	}
	return r.vectors, nil
}

// request returns the request as the cassette has it.
func (e *embedder) request(texts []string) value.Value {
	m := value.NewMap(3)
	if e.model != "" {
		m.Set("model", value.OfString(e.model))
	}
	if e.dimensions > 0 {
		m.Set("dimensions", value.OfInt(int64(e.dimensions)))
	}
	list := make([]value.Value, len(texts))
	for i, text := range texts {
		list[i] = value.OfString(text)
	}
	m.Set("texts", value.OfList(list...))
	return value.OfMap(m)
}
