package flowtest

import (
	"context"
	"encoding/json"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// mockedVariables lists the variables that mocks replace.
func mockedVariables(mocks []suite.Mock) (names []string) {
	for _, m := range mocks {
		if m.Variable != "" {
			names = append(names, m.Variable)
		}
	}
	return names
}

// mockResolver resolves variables by the mocks of a guard. It is safe for concurrent use.
type mockResolver struct{ guard *guard }

var _ plugins.Resolver = mockResolver{}

// Resolve returns the values that the mocks have, or the error of one.
func (r mockResolver) Resolve(_ context.Context, _ plugins.State, names []string) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage, len(names))
	for _, name := range names {
		for i := range r.guard.mocks {
			m := &r.guard.mocks[i]
			if m.Variable != name {
				continue
			}
			r.guard.noteAsked(m, 1)
			if wrong := m.Replies[0].Error; wrong != nil {
				return nil, calls.Errorf(calls.Kind(wrong.Kind), "%s", wrong.Message)
			}
			values[name] = m.Replies[0].Value.AppendJSON(nil)
		}
	}
	return values, nil
}
