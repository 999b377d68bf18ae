package heap

import (
	"cmp"
	"context"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/vector"
)

// packed is a vector and the model that made it.
type packed struct {
	model string
	data  []byte
}

// UseModel makes a model the one in use.
func (s *Store) UseModel(ctx context.Context, m memory.Model) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model = m
	for _, r := range s.order {
		s.await(r)
	}
	return ctx.Err()
}

// await lets a memory wait for a vector, if it has none of the model in use.
func (s *Store) await(r *record) {
	if s.model.Name != "" && r.vector.model != s.model.Name && r.waits == nil {
		r.waits = &reservation{}
	}
}

// Model is the one in use.
func (s *Store) Model(ctx context.Context) (memory.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model, ctx.Err()
}

// Unembedded reserves memories that wait for their vector.
func (s *Store) Unembedded(ctx context.Context, c memory.Claim, n int) (list []memory.Embedding, err error) {
	if err := cmp.Or(c.Users.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.order {
		if len(list) == n {
			break
		}
		if r.waits == nil || r.waits.until.After(c.Now) || !c.Users.Has(r.Context.UserID) {
			continue
		}
		r.waits.until = c.Now.Add(c.Lease)
		list = append(list, memory.Embedding{ID: r.ID, Text: r.EmbeddedText(), Attempts: r.waits.attempts})
	}
	return list, nil
}

// SaveEmbeddings stores vectors.
func (s *Store) SaveEmbeddings(ctx context.Context, model string, list []memory.Embedding) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if model != s.model.Name {
		return ctx.Err()
	}
	for i := range list {
		if r := s.byID[list[i].ID]; r != nil && r.waits != nil && r.EmbeddedText() == list[i].Text {
			r.vector, r.waits = packed{model, vector.Pack(list[i].Vector)}, nil
		}
	}
	return ctx.Err()
}

// PostponeEmbeddings lets memories wait.
func (s *Store) PostponeEmbeddings(ctx context.Context, list []memory.Embedding, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		if r := s.byID[list[i].ID]; r != nil && r.waits != nil {
			*r.waits = reservation{until, list[i].Attempts}
		}
	}
	return ctx.Err()
}

// Vectors is part of [memory.Shelf].
func (sh *shelf) Vectors(_ context.Context, model string, each func(seq uint32, packed []byte)) error {
	for r, seq := range sh.numbers {
		if r.vector.model == model {
			each(seq, r.vector.data)
		}
	}
	return nil
}
