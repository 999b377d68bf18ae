package llm_test

import (
	"errors"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/llmtest"
)

func TestLazy(t *testing.T) {
	opened := 0
	p := llm.Lazy(func() (llm.Provider, error) { opened++; return shouter{}, nil })
	if opened != 0 {
		t.Error("the provider was made before it was asked")
	}
	llmtest.Basics(t, func() llm.Provider { return p })
	if opened != 1 {
		t.Errorf("the provider was made %d times", opened)
	}
	missing := errors.New("no key")
	_, err := llm.Collect(llm.Lazy(func() (llm.Provider, error) { return nil, missing }).Chat(t.Context(), llmtest.Request()))
	var e *llm.Error
	if !errors.Is(err, missing) || !errors.As(err, &e) || !e.Unsent {
		t.Errorf("got %v", err)
	}
}
