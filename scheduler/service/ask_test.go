package service_test

import (
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// A model can be asked by the name of its provider, without a flow.
func TestAskByName(t *testing.T) {
	s := newService()
	messages := value.Must([]map[string]string{{"role": "user", "content": "Hello?"}})
	for _, name := range []string{"", "second"} {
		answer, usage, err := s.Ask(t.Context(), name, messages)
		if err != nil || answer != "Hello?" || usage.Total() == 0 {
			t.Errorf("%q: got %q, %+v, %v", name, answer, usage, err)
		}
	}
	if _, _, err := s.Ask(t.Context(), "third", messages); calls.KindOf(err) != calls.Invalid {
		t.Errorf("an unknown provider: got %v", err)
	}
}
