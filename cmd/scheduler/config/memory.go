package config

import (
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Memory is the settings of the memory store.
type Memory struct {
	Mirror     string     `json:"mirror,omitempty"`
	Log        string     `json:"log,omitempty" enum:"debug|warn"`
	Snapshot   Snapshot   `json:"snapshot,omitempty"`
	Facts      Facts      `json:"facts,omitempty"`
	Embeddings Embeddings `json:"embeddings,omitempty"`
}

// Snapshot is when snapshots are made, and by whom.
type Snapshot struct {
	LLM       []string       `json:"llm,omitempty"`
	Model     string         `json:"model,omitempty"`
	Memories  int            `json:"memories,omitempty"`
	Idle      value.Duration `json:"idle,omitempty"`
	Snapshots int            `json:"snapshots,omitempty"`
	Drain     value.Duration `json:"drain,omitempty"`
}

// Facts say which memories state facts.
type Facts struct {
	Enabled bool     `json:"enabled,omitempty"`
	Admit   []string `json:"admit,omitempty"`
}

// check refuses settings that make no sense.
func (c *Memory) check(models *LLM) error {
	s := &c.Snapshot
	if err := models.checkList("memory.snapshot.llm", s.LLM); err != nil {
		return err
	}
	switch {
	case s.Memories < 1 || s.Memories > memory.MaxJob:
		return wrongSetting("memory.snapshot.memories", "%d is not between 1 and %d", s.Memories, memory.MaxJob)
	case s.Snapshots < 1 || s.Snapshots > memory.MaxJob:
		return wrongSetting("memory.snapshot.snapshots", "%d is not between 1 and %d", s.Snapshots, memory.MaxJob)
	}
	return c.Embeddings.check(models.embedderNames())
}

// Embeddings name the model that finds memories by meaning.
type Embeddings struct {
	Provider   string         `json:"provider,omitempty"`
	Model      string         `json:"model,omitempty"`
	Dimensions int            `json:"dimensions,omitempty" min:"0"`
	Timeout    value.Duration `json:"timeout,omitempty"`
}

// check refuses settings that make no sense; known are the providers that may have
// models for embeddings.
func (c *Embeddings) check(known []string) error {
	switch {
	case c.Provider == "":
		return nil
	case len(llm.ParseNames(c.Provider)) > 1:
		return wrongSetting("memory.embeddings.provider", "embeddings come from one provider, as vectors of two models cannot be compared (name one instead of %q)", c.Provider)
	case !slices.Contains(known, c.Provider):
		return wrongSetting("memory.embeddings.provider", "%q is not one of llm.providers with embeddings%s", c.Provider, value.DidYouMeanOrListSuffix(c.Provider, known))
	case c.Model == "":
		return wrongSetting("memory.embeddings.model", "no model given (name a model for embeddings)")
	case c.Timeout == 0:
		return wrongSetting("memory.embeddings.timeout", "the duration must be more than 0")
	}
	return nil
}
