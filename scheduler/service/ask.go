package service

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// CallMetered is [Caller.Call] that also returns the models' usage.
func (c *Caller) CallMetered(ctx context.Context, r *CallRequest) (value.Value, llm.Usage, []Note, error) {
	meter := &meteredLLM{}
	counted := *r
	counted.wrap = func(p llm.Provider) llm.Provider {
		meter.Provider = p
		return meter
	}
	output, notes, err := c.Call(ctx, &counted)
	meter.mu.Lock()
	defer meter.mu.Unlock()
	return output, meter.usage, notes, err
}

// Ask asks a model for the answer to messages, without a flow and a memory. provider is the name of one; "" is the
// settings' provider.
func (s *Service) Ask(ctx context.Context, provider string, messages value.Value) (string, llm.Usage, error) {
	registry, err := s.Registry()
	if err != nil {
		return "", llm.Usage{}, err
	}
	def, ok := registry.CallOf(calls.OperationChat)
	if !ok {
		return "", llm.Usage{}, registry.CheckCall(calls.OperationChat)
	}
	r := &CallRequest{With: value.OfMap(value.Pairs("messages", messages))}
	if provider != "" {
		r.LLM, err = s.parts.Provider(provider)
		if err != nil {
			return "", llm.Usage{}, err
		}
	}
	output, usage, _, err := s.Caller(Principal{}, def).CallMetered(ctx, r)
	text, _ := output.Get("text")
	answer, _ := text.Str()
	return answer, usage, err
}
