package service

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Registry returns the calls and functions that flows can name.
func (s *Service) Registry() (*calls.Registry, error) {
	loader, _, err := s.parts.Loader(Surroundings{})
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
