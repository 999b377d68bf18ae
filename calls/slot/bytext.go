package slot

import (
	"context"

	"github.com/callnode/scheduler/calls/slot/extract"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// fillByText asks for the missing values in words, and finds them in what the
// model says.
func fillByText(ctx context.Context, w *work) error {
	prompt, err := w.prompt(ctx, false)
	if err != nil {
		return err
	}
	text, err := w.ask(ctx, &llm.Request{Messages: []llm.Message{llm.TextMessage("user", prompt)}})
	if err != nil {
		return err
	}
	answer, _, ok := extract.Find(text)
	if !ok || answer.Kind() != value.Object {
		w.warnings = append(w.warnings, "llm: the answer holds no JSON object")
		return nil
	}
	w.filling.Take(answer, byModel)
	return nil
}
