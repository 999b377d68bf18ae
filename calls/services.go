package calls

import (
	"context"

	"github.com/callnode/scheduler/plugins"
)

// AttachServices lets the functions that get the state use the step's model and
// search the memories of its scope. They may do so until the step ends.
func (e *Env) AttachServices(s *plugins.State) {
	memory, scope, model := e.Memory, e.Vars.Scope, e.LLM
	s.Search = func(ctx context.Context, query string, limit int) ([]plugins.Recalled, error) {
		return memory.Retrieve(ctx, scope, query, limit)
	}
	s.Ask = func(ctx context.Context, p plugins.Prompt) (answer plugins.Answer, err error) {
		req := requestOf(p)
		for d, err := range model.Chat(ctx, &req) {
			if err != nil {
				return plugins.Answer{}, err
			}
			answer.Text += d.Text
			if d.FinishReason != "" {
				answer.FinishReason = d.FinishReason
			}
			if d.Usage != nil {
				answer.InputTokens, answer.OutputTokens = d.Usage.InputTokens, d.Usage.OutputTokens
			}
		}
		return answer, nil
	}
}
