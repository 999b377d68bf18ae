package service

import (
	"context"
	"fmt"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// LoadEditedText reads an edited flow for a run from its text; the files that it names are
// found beside the flow that the run began with.
func (s *Service) LoadEditedText(ctx context.Context, p Principal, run, text string) (*flow.Flow, flow.Problems, error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, nil, err
	}
	dir := s.localDir(began.Dir)
	loader, _, err := s.parts.Loader(Origin{Dir: dir, Language: began.Language})
	if err != nil {
		return nil, nil, err
	}
	file, _ := scheduler.LocalFiles(dir, header.File, header.Text)
	return parseText(loader, file, text)
}

// LintText returns the problems of a text that is to become the file, and the flow where
// there is no error among them.
func (s *Service) LintText(file, text string) (*flow.Flow, flow.Problems, error) {
	loader, _, err := s.parts.Loader(Origin{})
	if err != nil {
		return nil, nil, err
	}
	return parseText(loader, file, text)
}

func parseText(loader *flow.Loader, file, text string) (*flow.Flow, flow.Problems, error) {
	f, problems := loader.Parse(file, []byte(text))
	if problems.HasErrors() {
		f = nil
	}
	return f, problems, nil
}

// Files returns the path of the flow file of a run and all files that it has kept, by their
// paths as they are on this machine.
func (s *Service) Files(ctx context.Context, p Principal, run string) (file string, kept map[string][]byte, err error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return "", nil, err
	}
	file, kept = scheduler.LocalFiles(s.localDir(began.Dir), header.File, header.Text)
	kept[file] = header.Text.Source
	return file, kept, nil
}

// Ready returns an error where runs cannot be recorded.
func (s *Service) Ready(ctx context.Context) error {
	j, err := s.journal(ctx, true)
	if err != nil {
		return err
	}
	if _, err := j.ID(ctx); err != nil {
		return unavailable(fmt.Errorf("reading the journal: %w", err))
	}
	return nil
}

// Registry returns what flows can name.
func (s *Service) Registry() (*calls.Registry, error) {
	loader, _, err := s.parts.Loader(Origin{})
	if err != nil {
		return nil, err
	}
	return loader.Registry, nil
}

// FlowSchema returns the JSON Schema of flow files, for editors.
func (s *Service) FlowSchema() (value.Value, error) {
	registry, err := s.Registry()
	if err != nil {
		return value.Value{}, err
	}
	return flow.EditorSchema(registry), nil
}

// CallDefinition returns a call that can be used. The error of an unknown one is of kind
// NotFound.
func (s *Service) CallDefinition(name string) (calls.Definition, error) {
	registry, err := s.Registry()
	if err != nil {
		return calls.Definition{}, err
	}
	if err := registry.CheckCall(name); err != nil {
		return calls.Definition{}, err
	}
	def, _ := registry.Call(name)
	return def, nil
}

// WaitsFor returns what a run waits for that waits.
func (s *Service) WaitsFor(ctx context.Context, p Principal, info *journal.RunInfo) ([]journal.WaitingFor, error) {
	for event, err := range s.Events(ctx, p, info.ID, info.LastSeq) {
		if err != nil {
			return nil, err
		}
		if event.Type == journal.FlowWaiting {
			return event.Data.Waiting, nil
		}
	}
	state, err := journal.Fold(s.Events(ctx, p, info.ID, 1)) // answers have come since
	if err != nil {
		return nil, err
	}
	return state.Waiting, nil
}
