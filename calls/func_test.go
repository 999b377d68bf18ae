package calls_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

type askParams struct {
	Prompt string `json:"prompt" doc:"What to ask."`
}

func (p askParams) Validate() error {
	if p.Prompt == "bad" {
		return errors.New("a bad prompt")
	}
	return nil
}

type askOutput struct {
	Answer string `json:"answer" doc:"What the model answers."`
}

func askModel(ctx context.Context, env *calls.Env, p askParams) (askOutput, error) {
	answer, err := llm.Collect(env.LLM.Chat(ctx, &llm.Request{Messages: []llm.Message{llm.TextMessage("user", p.Prompt)}}))
	return askOutput{answer.Text}, err
}

func words(ctx context.Context, _ *calls.Env, p askParams) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for word := range strings.FieldsSeq(p.Prompt) {
			if !yield(word, ctx.Err()) {
				return
			}
		}
		if p.Prompt == "then fail" {
			yield("", errors.New("an end"))
		}
	}
}

var doc = calls.Text{En: "A call.", Zh: "一个节点。"}

func TestFuncConformance(t *testing.T) {
	callstest.Run(t, calls.Func("ask", doc, askModel, calls.WithLLM(), calls.WithLiteral("prompt"),
		calls.WithExample(calls.Example{With: "prompt: Who?", Answers: []string{"Ann."}})))
	callstest.Run(t, calls.Stream("words", doc, words, calls.WithExample(calls.Example{With: "prompt: a b c"})))
}

func TestFuncErrors(t *testing.T) {
	def := calls.Stream("words", doc, words)
	if _, err := def.New(object("prompt", "bad")); calls.KindOf(err) != calls.Invalid || err.Error() != "a bad prompt" {
		t.Errorf("a bad prompt: %v", err)
	}
	if _, err := def.New(object("prompt", 1)); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a wrong type: %v", err)
	}
	call, err := def.New(object("prompt", "then fail"))
	if err != nil {
		t.Fatal(err)
	}
	input, err := call.Init(t.Context(), &calls.Vars{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callstest.CollectOutput(call.Exec(t.Context(), calls.NewEnv(), input)); err == nil || err.Error() != "an end" {
		t.Errorf("a failing stream: %v", err)
	}
	if _, err := callstest.CollectOutput(call.Exec(t.Context(), calls.NewEnv(), value.OfString("x"))); calls.KindOf(err) != calls.Internal {
		t.Errorf("a wrong input: %v", err)
	}
}
