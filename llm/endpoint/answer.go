package endpoint

import (
	"encoding/json"
	"math"

	"github.com/callnode/scheduler/llm"
)

// Limits on one answer of a model. No model writes a tenth of it; only one that has fallen into a loop behind a
// server without a limit does.
const (
	// maxText bounds text, thoughts and the arguments of tool calls, in bytes.
	maxText = 4 << 20
	// MaxToolCalls bounds the tool calls of one answer.
	MaxToolCalls = 1024
)

// AnswerLimit refuses an answer that does not end. The zero value is ready to use, for
// one answer and by one goroutine.
type AnswerLimit struct {
	size      int
	toolCalls int
}

// Add counts the next piece of the answer. Its error is one that no retry helps against.
func (l *AnswerLimit) Add(d llm.Delta) error {
	const hint = "the model repeats itself: set max_tokens, or ask another model"
	l.size += len(d.Text) + len(d.Reasoning)
	for _, call := range d.ToolCalls {
		l.size += len(call.Arguments)
		l.toolCalls = max(l.toolCalls, call.Index+1)
	}
	if l.size > maxText {
		return (&llm.Error{Hint: hint}).WithMessage("the answer's text is longer than the limit of %d MB", maxText>>20)
	}
	if l.toolCalls > MaxToolCalls {
		return (&llm.Error{Hint: hint}).WithMessage("the answer has more than the limit of %d tool calls", MaxToolCalls)
	}
	return nil
}

// IsEmpty reports whether a delta says nothing.
func IsEmpty(d llm.Delta) bool {
	hasText := d.Text != "" || d.Reasoning != "" || d.ReasoningMember != ""
	hasEnd := d.FinishReason != "" || d.Usage != nil
	return !hasText && !hasEnd && len(d.ToolCalls) == 0 && len(d.Extra) == 0
}

// IsNull reports whether a member of an answer is not there, or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Count is a count of tokens. Servers send 7 as 7.0 too; a number below zero is 0.
type Count int

// UnmarshalJSON takes any number, and null.
func (c *Count) UnmarshalJSON(raw []byte) error {
	var n float64
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	*c = Count(min(max(n, 0), math.MaxInt32))
	return nil
}
