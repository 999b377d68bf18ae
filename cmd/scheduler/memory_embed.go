package main

import (
	"context"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/openai"
)

// EmbeddingsConfig says which model finds memories by what they mean.
type EmbeddingsConfig struct {
	Provider   string        `mapstructure:"provider"`
	Model      string        `mapstructure:"model"`
	Dimensions int           `mapstructure:"dimensions"`
	Timeout    time.Duration `mapstructure:"timeout"`
}

// check refuses settings that make no sense; providers are the names that there are.
func (c *EmbeddingsConfig) check(providers []string) error {
	known := providers[1:] // the first is echo, which has no embeddings
	switch {
	case c.Provider == "":
		return nil
	case !slices.Contains(known, c.Provider):
		return wrongSetting("memory.embeddings.provider", "is %q, which is none of llm.providers%s", c.Provider, didYouMean(c.Provider, known))
	case c.Model == "":
		return wrongSetting("memory.embeddings.model", "is empty: name a model for embeddings")
	case c.Dimensions < 0:
		return wrongSetting("memory.embeddings.dimensions", "cannot be negative")
	case c.Timeout <= 0:
		return wrongSetting("memory.embeddings.timeout", "must be more than 0")
	}
	return nil
}

// embeddings are those of the settings; nil where there are none. A provider that is
// not usable fails when it is asked: memories are saved and found without it.
func (a *app) embeddings() *memory.Embeddings {
	c := a.config.Memory.Embeddings
	if c.Provider == "" {
		return nil
	}
	e := &memory.Embeddings{Timeout: c.Timeout}
	provider, _, _, err := a.live(c.Provider)
	if p, ok := provider.(*openai.Provider); ok && err == nil {
		e.Embedder = p.Embedder(c.Model, c.Dimensions)
		return e
	}
	e.Embedder = unusable{c.Model, err}
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
