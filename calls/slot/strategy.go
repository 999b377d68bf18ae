package slot

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm"
)

// strategy is a way to find what is missing. It takes what it finds into
// w.filling; what a model says wrong is no error.
type strategy func(ctx context.Context, w *work) error

// strategies are the ways of filling, by the names that stages list. A new one adds
// its line here.
func strategies() map[string]strategy {
	return map[string]strategy{
		"llm":      fillByText,
		"function": fillBySchema,
		"default":  fillByDefault,
	}
}

// fillByDefault takes the defaults of the schema. Where there is any stage it is
// the last one, named or not.
func fillByDefault(_ context.Context, w *work) error {
	w.filling.ApplyDefaults()
	return nil
}

// The sources of values that the strategies find.
const (
	byModel    processor.Source = "model"
	byFunction processor.Source = "function"
)

// work is what a strategy works with.
type work struct {
	env           *calls.Env
	in            Input
	filling       *processor.Filling
	historyTokens int
	warnings      []string
}

// run runs the strategy of a stage. A model that fails leaves the data as it was:
// what is missing remains. Only the end of the run or of its budget is an error.
func (w *work) run(ctx context.Context, stage string) error {
	err := strategies()[stage](ctx, w)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if kind := calls.KindOf(err); err == nil || kind != calls.Provider && kind != calls.Timeout {
		return err
	}
	w.warnings = append(w.warnings, fmt.Sprintf("%s: %v", stage, err))
	w.env.Log.WarnContext(ctx, "filling failed", "stage", stage, "error", err)
	return nil
}

// maxAnswer is how much is read of an answer: its text and its tool calls, in
// bytes.
const maxAnswer = 1 << 20

// ask gives the model's answer: the arguments of the tool that it calls, or its
// text.
func (w *work) ask(ctx context.Context, req *llm.Request) (string, error) {
	var joined llm.AnswerBuilder
	size := 0
	for d, err := range w.env.LLM.Chat(ctx, req) {
		if err != nil {
			if calls.KindOf(err) == calls.Internal {
				err = calls.Errorf(calls.Provider, "%w", err)
			}
			return "", err
		}
		joined.Add(d)
		size += len(d.Text)
		for _, piece := range d.ToolCalls {
			size += len(piece.Arguments)
		}
		if size > maxAnswer {
			break
		}
	}
	answer := joined.Answer()
	if len(answer.ToolCalls) > 0 {
		return answer.ToolCalls[0].Arguments, nil
	}
	return answer.Text, nil
}

// clip shortens a text to about n tokens.
func (w *work) clip(text string, n int) string {
	have := w.env.Tokens.Count(text)
	if have <= n {
		return text
	}
	end := len(text) * n / have
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
