package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
)

// Answer is a whole answer: the deltas of a Chat joined.
type Answer struct {
	Text         string
	Reasoning    string
	ToolCalls    []ToolCall
	FinishReason string
	Usage        Usage
	// Extra are the vendor's fields of the message. Of those that came in pieces,
	// texts are joined and lists appended.
	Extra map[string]json.RawMessage
}

// ToolCall is a whole tool call. Arguments is the JSON text as the model wrote it,
// which need not be valid.
type ToolCall struct {
	// Index is the number that its pieces had.
	Index     int
	ID        string
	Name      string
	Arguments string
	Extra     map[string]json.RawMessage
}

// Collect joins the deltas of a Chat. What came before an error is in the answer.
func Collect(deltas iter.Seq2[Delta, error]) (Answer, error) {
	var a Answer
	for d, err := range deltas {
		if err != nil {
			return a, err
		}
		a.Add(d)
	}
	return a, nil
}

// Add joins the next delta. A tool call for which the server made up no id gets
// one from its place: call_0, call_1.
func (a *Answer) Add(d Delta) {
	a.Text += d.Text
	a.Reasoning += d.Reasoning
	if d.FinishReason != "" {
		a.FinishReason = d.FinishReason
	}
	if d.Usage != nil {
		a.Usage = *d.Usage
	}
	a.Extra = join(a.Extra, d.Extra)
	for _, piece := range d.ToolCalls {
		i := slices.IndexFunc(a.ToolCalls, func(c ToolCall) bool { return c.Index == piece.Index })
		if i < 0 {
			i = len(a.ToolCalls)
			a.ToolCalls = append(a.ToolCalls, ToolCall{Index: piece.Index, ID: fmt.Sprintf("call_%d", i)})
		}
		call := &a.ToolCalls[i]
		if piece.ID != "" {
			call.ID = piece.ID
		}
		if piece.Name != "" {
			call.Name = piece.Name
		}
		call.Arguments += piece.Arguments
		call.Extra = join(call.Extra, piece.Extra)
	}
}

func join(all, more map[string]json.RawMessage) map[string]json.RawMessage {
	if all == nil && len(more) > 0 {
		all = make(map[string]json.RawMessage, len(more))
	}
	for name, raw := range more {
		all[name] = joinRaw(all[name], raw)
	}
	return all
}

func joinRaw(old, piece json.RawMessage) json.RawMessage {
	var text, next string
	var list, tail []json.RawMessage
	switch {
	case len(old) == 0 || len(piece) == 0 || bytes.Equal(old, []byte("null")):
	case old[0] == '"' && json.Unmarshal(old, &text) == nil && json.Unmarshal(piece, &next) == nil:
		return encode(text + next)
	case old[0] == '[' && json.Unmarshal(old, &list) == nil && json.Unmarshal(piece, &tail) == nil:
		return encode(slices.Concat(list, tail))
	}
	return piece
}

func encode(x any) json.RawMessage {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err) // texts and lists of valid JSON always encode
	}
	return raw
}
