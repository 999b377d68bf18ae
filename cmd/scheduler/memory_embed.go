package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// EmbeddingsConfig says which model finds memories by what they mean.
type EmbeddingsConfig struct {
	Provider   string         `json:"provider,omitempty"`
	Model      string         `json:"model,omitempty"`
	Dimensions int            `json:"dimensions,omitempty" min:"0"`
	Timeout    value.Duration `json:"timeout,omitempty"`
}

// check refuses settings that make no sense; known are the providers that may have
// models for embeddings.
func (c *EmbeddingsConfig) check(known []string) error {
	switch {
	case c.Provider == "":
		return nil
	case !slices.Contains(known, c.Provider):
		return wrongSetting("memory.embeddings.provider", "%q is not one of llm.providers with embeddings%s", c.Provider, didYouMean(c.Provider, known))
	case c.Model == "":
		return wrongSetting("memory.embeddings.model", "no model given (name a model for embeddings)")
	case c.Timeout == 0:
		return wrongSetting("memory.embeddings.timeout", "the duration must be more than 0")
	}
	return nil
}

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
