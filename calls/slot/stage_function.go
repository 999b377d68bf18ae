package slot

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// maxAttempts is how often the model may correct itself.
const maxAttempts = 3

// fillBySchema makes the model call a function whose parameters are the missing values. An answer without an
// object, or with values that do not fit, goes back with the reasons. It is the second stage, _function_slot_fill
// in the documents.
func fillBySchema(ctx context.Context, w *Work) error {
	prompt, parts, err := w.renderPrompt(ctx, true)
	if err != nil {
		return err
	}
	messages := []llm.Message{llm.TextMessage("user", prompt)}
	w.structured.Collect = w.collectSaying(byFunction)
	defer func() { w.structured.Collect = collectAnswer }()
	for trial := 1; ; trial++ {
		text, err := w.AskFor(calls.WithParts(ctx, parts), &llm.Request{Messages: messages}, answerSchema(w.Filling.Remaining()))
		if err != nil {
			return err
		}
		before := len(w.Filling.Rejected())
		answer, ok := w.findObject(text)
		if ok {
			w.Filling.Take(answer, byFunction)
		}
		rejected := slices.DeleteFunc(slices.Clone(w.Filling.Rejected()[before:]), saysUnknown)
		allTaken := ok && len(rejected) == 0
		if w.Filling.Done() || allTaken {
			return nil // the model does not know the values that are missing now
		}
		if trial == w.maxTrials() {
			if !ok {
				w.warnNoObject("function")
			}
			return nil
		}
		again, more, err := w.renderRetry(ctx, rejected)
		if err != nil {
			return err
		}
		parts = append(slices.Clip(parts), calls.AnswerPart(len(messages), text))
		parts = append(parts, ask.MoveParts(more, len(messages)+1)...)
		messages = append(messages, llm.TextMessage("assistant", text), llm.TextMessage("user", again))
	}
}

// saysUnknown reports whether a model has written for a value that it does not know it, as null does: it is not asked again.
func saysUnknown(r processor.Rejection) bool {
	text, isText := r.Value.Str()
	name := r.Pointer[strings.LastIndexByte(r.Pointer, '/')+1:]
	return isText && schema.IsUnknown(text, value.Unescape(name))
}

// answerSchema returns a flat schema in which every value may be null, for "not known".
func answerSchema(flat value.Value) value.Value {
	m := flat.Map().Clone()
	properties, _ := m.Get("properties")
	nullable := value.NewMap(properties.Map().Len())
	var required []value.Value
	for pointer, sub := range properties.Map().All() {
		if enum, ok := sub.Get("enum"); ok && len(enum.List()) == 0 {
			continue // no answer fits
		}
		nullable.Set(pointer, allowNull(sub))
		required = append(required, value.OfString(pointer))
	}
	m.Set("properties", value.OfMap(nullable))
	m.Set("required", value.OfList(required...))
	m.Set("additionalProperties", value.OfBool(false))
	return value.OfMap(m)
}

// allowNull returns a schema that takes null as well.
func allowNull(sub value.Value) value.Value {
	typeName, _ := sub.Get("type")
	_, listed := sub.Get("enum")
	_, fixed := sub.Get("const")
	if typeName.Kind() == value.String && !listed && !fixed {
		if nullable := processor.AddNullToBasicTypes(sub); !value.Equal(nullable, sub) {
			return nullable
		}
	}
	return value.OfMap(value.Pairs("anyOf", []any{sub, value.Pairs("type", "null")}))
}
