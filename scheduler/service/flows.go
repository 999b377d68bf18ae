package service

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/scheduler/flow"
)

// Load reads a flow with all its problems; the flow is nil if errors are among them. The work ends with ctx.
func (s *Service) Load(ctx context.Context, path string) (*flow.Flow, flow.Problems, []Note, error) {
	return s.loadFrom(ctx, path, Surroundings{})
}

// LoadToReplay is Load for a flow that is played from a cassette: plugins may have changed, or be gone.
func (s *Service) LoadToReplay(ctx context.Context, path string) (*flow.Flow, flow.Problems, []Note, error) {
	return s.loadFrom(ctx, path, Surroundings{IsReplay: true})
}

func (s *Service) loadFrom(ctx context.Context, path string, from Surroundings) (*flow.Flow, flow.Problems, []Note, error) {
	loader, notes, err := s.parts.Loader(from)
	if err != nil {
		return nil, nil, notes, err
	}
	f, problems, err := loader.LoadContext(ctx, path)
	return f, problems, notes, err
}

// Lint returns the problems of flows and of all texts in further languages. The work ends with ctx.
func (s *Service) Lint(ctx context.Context, files []string) (flow.Problems, []Note, error) {
	loader, notes, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, notes, err
	}
	var all flow.Problems
	for _, file := range files {
		f, problems, err := loader.LoadContext(ctx, file)
		if err != nil {
			return nil, notes, err
		}
		all = append(all, problems...)
		if f != nil {
			notes = append(notes, LastMessageOnly(f)...)
		}
	}
	for _, p := range loader.LintLanguages() {
		if !slices.Contains(all, p) { // a flow may use the text
			all = append(all, p)
		}
	}
	return all, notes, nil
}
