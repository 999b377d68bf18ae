package agent

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// compileSchema returns the compiled response_schema; nil if the step has none.
func (p Params) compileSchema() (*schema.Schema, error) {
	if p.ResponseSchema == nil {
		return nil, nil
	}
	s, err := schema.Parse(value.OfMap(p.ResponseSchema))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "response_schema: %w", err)
	}
	return s, nil
}

// fitAnswer makes the JSON of the output if the step wants one: from the last answer, or from one that the model
// is asked for with the schema and without tools.
func (l *loop) fitAnswer(ctx context.Context) error {
	s, err := l.params.compileSchema()
	if err != nil || s == nil {
		return err
	}
	fitting, err := ask.Fit(l.out.Text, s)
	switch {
	case err == nil:
		l.out.JSON = &fitting
		return nil
	case l.out.FinishReason == maxTokens:
		return calls.Errorf(calls.Budget, "the answer does not fit response_schema, and the tokens are used up: %w", err).WithHint("raise max_tokens")
	}
	fitting, err = l.askForJSON(ctx, s)
	if err != nil {
		return err
	}
	l.out.JSON = &fitting
	return nil
}

// askForJSON asks for the answer once more, as JSON that fits the schema.
func (l *loop) askForJSON(ctx context.Context, s *schema.Schema) (value.Value, error) {
	req := l.newRequest(true) // providers want the tools that the conversation has used
	text, more, err := ask.TracedPrompt(ctx, l.env, "agent", texts, "json", ask.NewValues("schema", s.Doc().JSON()))
	if err != nil {
		return value.Value{}, err
	}
	parts := append(l.messageParts(), ask.MoveParts(more, len(req.Messages))...)
	req.Messages = append(req.Messages, llm.TextMessage("user", text))
	answer, err := calls.Once(ctx, l.env, calls.RoundSubstep, round{digestRequest(ctx, req)}, func(ctx context.Context, env *calls.Env) (llm.Answer, error) {
		fitting, err := ask.JSON(calls.WithParts(ctx, parts), env, req, s, nil)
		return llm.Answer{Text: fitting.JSON()}, err
	})
	if err != nil {
		return value.Value{}, err
	}
	return value.ParseJSON([]byte(answer.Text))
}
