package slot

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// fillByText asks for the missing values in words, and finds them in the
// model's text. It is the first stage, _llm_slot_fill in the documents.
func fillByText(ctx context.Context, w *Work) error {
	prompt, parts, err := w.renderPrompt(ctx, false)
	if err != nil {
		return err
	}
	text, err := w.askCollecting(calls.WithParts(ctx, parts), &llm.Request{Messages: []llm.Message{llm.TextMessage("user", prompt)}}, w.collectSaying(byModel))
	if err != nil {
		return err
	}
	answer, ok := w.findObject(text)
	if !ok {
		w.warnNoObject("llm")
		return nil
	}
	w.Filling.Take(answer, byModel)
	return nil
}
