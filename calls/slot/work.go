package slot

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/slot/extract"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The sources of values that the strategies find.
const (
	byModel    processor.Source = "model"
	byFunction processor.Source = "function"
)

// Warn adds to the warnings of the output, and warns the user of the run.
func (w *Work) Warn(format string, args ...any) {
	w.warnings = append(w.warnings, wording.Say(format, args...).In(w.Env.Vars.Language))
	w.Env.Warn("filling", format, args...)
}

// warnNoObject reports that an answer contains no object.
func (w *Work) warnNoObject(stage string) {
	if w.isChinese() {
		w.Warn("%s：回答中没有 JSON 对象", stage)
		return
	}
	w.Warn("%s: the answer holds no JSON object", stage)
}

func (w *Work) isChinese() bool {
	return slices.Contains(calls.WithoutRegion(w.Env.Vars.Language), "zh")
}

// runStage runs the strategy of a stage, unless a model has failed in an earlier one. A model that fails is not an
// answer without a value: it fails the step, and the user is not asked in its place. With on_model_error: ask, and
// if no model is configured at all, missing values remain. For example, with it the stage function does not run
// after a timeout in the stage llm.
func (w *Work) runStage(ctx context.Context, stage string, fill Strategy) error {
	if w.modelFailed && stage != defaultStage {
		return nil
	}
	err := fill(ctx, w)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if kind := calls.KindOf(err); kind != calls.Provider && kind != calls.Timeout {
		return err
	}
	isUnasked := errors.Is(err, calls.ErrNoProvider)
	if w.params.OnModelError != onErrorAsk && !isUnasked {
		return err
	}
	w.modelFailed = true
	w.Warn("%s: %v", stage, err)
	return nil
}

// onErrorAsk is the value of on_model_error that asks the user for the values that a failed model might have
// found.
const onErrorAsk = "ask"

// maxAnswer is how much is read of an answer: its text and its tool calls, in
// bytes.
const maxAnswer = 1 << 20

// wanted is the input of an answer beside the parameters of the call: the values it was asked for. The prompt is
// not in it, because it contains the time.
type wanted struct {
	Data   value.Value `json:"data"`
	Schema value.Value `json:"schema"`
	// Message is the user's answer to a question.
	Message string `json:"message,omitempty"`
}

// errAbandoned is the error of work whose output is no longer read.
var errAbandoned = wording.Errorf("the output is not read any more")

// Ask returns the model's answer. It is on record before it is used: when the step is cut
// short later, the model is not asked for it again.
func (w *Work) Ask(ctx context.Context, req *llm.Request) (string, error) {
	return w.askCollecting(ctx, req, collectAnswer)
}

// askCollecting is [Work.Ask] for an answer that is collected in another way.
func (w *Work) askCollecting(ctx context.Context, req *llm.Request, collect func(iter.Seq2[llm.Delta, error]) (llm.Answer, error)) (string, error) {
	return w.askOnce(ctx, func(ctx context.Context, model llm.Provider) (string, error) {
		answer, err := collect(model.Chat(ctx, req))
		return answer.Text, err
	})
}

// AskFor returns the arguments of the function that the model is made to call, which fit schema as far as it
// obeys; if its server knows no functions, or no schemas either, the text of its answer. It is recorded like the
// answer of [Work.Ask].
func (w *Work) AskFor(ctx context.Context, req *llm.Request, schema value.Value) (string, error) {
	return w.askOnce(ctx, func(ctx context.Context, model llm.Provider) (string, error) {
		return w.structured.Ask(ctx, model, req, schema)
	})
}

func (w *Work) askOnce(ctx context.Context, send func(context.Context, llm.Provider) (string, error)) (string, error) {
	asked := wanted{w.Filling.Data(), w.Filling.Remaining(), w.params.Message}
	return calls.Once(ctx, w.Env, "ask", asked, func(ctx context.Context, env *calls.Env) (string, error) {
		return send(ctx, env.LLM)
	})
}

// newStructured returns a Structured that asks the model of w to call a function.
func (w *Work) newStructured() ask.Structured {
	description := "Takes the arguments that are still missing."
	if w.isChinese() {
		description = "接收仍然缺少的参数。"
	}
	return ask.Structured{
		Function: "fill_arguments", Description: description, Collect: collectAnswer,
		IsDocument: func(text string) bool {
			_, ok := w.findObject(text)
			return ok
		},
	}
}

// collectAnswer joins an answer, up to the bound of its length.
func collectAnswer(deltas iter.Seq2[llm.Delta, error]) (llm.Answer, error) {
	var joined llm.AnswerBuilder
	size := 0
	for d, err := range deltas {
		if err != nil {
			isOurs := errors.Is(err, errAbandoned)
			if calls.KindOf(err) == calls.Internal && !isOurs {
				err = calls.Errorf(calls.Provider, "%w", err)
			}
			return llm.Answer{}, err
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
	return joined.Answer(), nil
}

// findObject returns the JSON object in a text, or any JSON value in it if the schema does not allow objects.
func (w *Work) findObject(text string) (answer value.Value, ok bool) {
	answer, _, ok = extract.Find(text)
	if items := answer.List(); len(items) == 1 && items[0].Kind() == value.Object && w.Filling.TakesObjects() {
		answer = items[0] // the answer in a list of its own
	}
	isWanted := answer.Kind() == value.Object || !w.Filling.TakesObjects()
	return answer, ok && isWanted
}

// truncateTokens returns text, cut to n tokens if it costs more.
func (w *Work) truncateTokens(text string, n int) string {
	if w.Env.Tokens.Count(text) > n {
		text, _ = llm.TruncateTokens(text, n, w.Env.Tokens)
	}
	return text
}
