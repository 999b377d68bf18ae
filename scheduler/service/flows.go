package service

import (
	"slices"

	"github.com/callnode/scheduler/scheduler/flow"
)

// Load reads a flow with all its problems; the flow is nil if errors are among them.
func (s *Service) Load(path string) (*flow.Flow, flow.Problems, []Note, error) {
	return s.load(path, false)
}

// LoadToReplay is Load for a flow that is played from a cassette: plugins may have changed, or be gone.
func (s *Service) LoadToReplay(path string) (*flow.Flow, flow.Problems, []Note, error) {
	loader, notes, err := s.parts.Loader(Surroundings{IsReplay: true})
	if err != nil {
		return nil, nil, notes, err
	}
	f, problems := loader.Load(path)
	return f, problems, notes, nil
}

// load is Load; on a worker, which carries flows that have a queue out elsewhere, it reads only the signature of
// the flows that steps run.
func (s *Service) load(path string, onWorker bool) (*flow.Flow, flow.Problems, []Note, error) {
	loader, notes, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, nil, notes, err
	}
	loader.QueuedElsewhere = onWorker
	f, problems := loader.Load(path)
	return f, problems, notes, nil
}

// Lint returns the problems of flows and of all texts in further languages.
func (s *Service) Lint(files []string) (flow.Problems, []Note, error) {
	loader, notes, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, notes, err
	}
	var all flow.Problems
	for _, file := range files {
		f, problems := loader.Load(file)
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
