package main

import (
	"context"
	"fmt"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
)

// embeddings returns the embeddings of the settings; nil where there are none. A
// provider that cannot be asked fails when it is: memories are saved and found
// without it.
func (a *app) embeddings() *memory.Embeddings {
	c := a.config.Memory.Embeddings
	if c.Provider == "" {
		return nil
	}
	e := &memory.Embeddings{Timeout: time.Duration(c.Timeout)}
	provider, err := a.openProvider(c.Provider)
	if err != nil {
		e.Embedder = unusable{c.Model, err}
		return e
	}
	if p, ok := provider.(llm.EmbeddingProvider); ok {
		e.Embedder = p.Embedder(c.Model, c.Dimensions)
		return e
	}
	e.Embedder = unusable{c.Model, fmt.Errorf("the provider %q has no embeddings (name one of another type)", c.Provider)}
	return e
}

// unusable is the embedder of a provider that cannot be asked.
type unusable struct {
	model string
	err   error
}

// Model is the model of the settings.
func (u unusable) Model() string { return u.model }

// Embed says what is wrong.
func (u unusable) Embed(context.Context, []string) ([][]float32, error) { return nil, u.err }
