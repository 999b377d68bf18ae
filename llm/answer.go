package llm

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// Answer is a whole answer: the deltas of a Chat joined. Its JSON is for records of
// ours; it is no vendor's.
type Answer struct {
	Text         string     `json:"text"`
	Reasoning    string     `json:"reasoning,omitempty"`
	ToolCalls    []ToolCall `json:"tool_calls,omitempty"`
	FinishReason string     `json:"finish_reason,omitempty"`
	Usage        Usage      `json:"usage"`
	// Extra are the vendor's fields of the message. Of those that came in pieces,
	// texts are joined and lists appended.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ToolCall is a whole tool call. Arguments is the JSON text as the model wrote it,
// which need not be valid.
type ToolCall struct {
	// Index is the number that its pieces had.
	Index     int                        `json:"index"`
	ID        string                     `json:"id"`
	Name      string                     `json:"name"`
	Arguments string                     `json:"arguments"`
	Extra     map[string]json.RawMessage `json:"extra,omitempty"`
}

// Collect joins the deltas of a Chat. What came before an error is in the answer.
func Collect(deltas iter.Seq2[Delta, error]) (Answer, error) {
	var b AnswerBuilder
	for d, err := range deltas {
		if err != nil {
			return b.Answer(), err
		}
		b.Add(d)
	}
	return b.Answer(), nil
}

// AnswerBuilder joins deltas to an [Answer], in time that grows with their length
// and not with its square. The zero value is ready to use; do not copy it.
type AnswerBuilder struct {
	text, reasoning strings.Builder
	calls           []*callBuilder
	byIndex         map[int]*callBuilder
	finishReason    string
	usage           Usage
	extra           fields
}

type callBuilder struct {
	call      ToolCall // without what is joined below
	arguments strings.Builder
	extra     fields
}

// Add joins the next delta. A tool call for which the server made up no id gets
// one from its place: call_0, call_1.
func (b *AnswerBuilder) Add(d Delta) {
	b.text.WriteString(d.Text)
	b.reasoning.WriteString(d.Reasoning)
	if d.FinishReason != "" {
		b.finishReason = d.FinishReason
	}
	if d.Usage != nil {
		b.usage = *d.Usage
	}
	b.extra.add(d.Extra)
	for _, piece := range d.ToolCalls {
		c := b.call(piece.Index)
		if piece.ID != "" {
			c.call.ID = piece.ID
		}
		if piece.Name != "" {
			c.call.Name = piece.Name
		}
		c.arguments.WriteString(piece.Arguments)
		c.extra.add(piece.Extra)
	}
}

func (b *AnswerBuilder) call(index int) *callBuilder {
	if c, ok := b.byIndex[index]; ok {
		return c
	}
	c := &callBuilder{call: ToolCall{Index: index, ID: fmt.Sprintf("call_%d", len(b.calls))}}
	if b.byIndex == nil {
		b.byIndex = map[int]*callBuilder{}
	}
	b.byIndex[index] = c
	b.calls = append(b.calls, c)
	return c
}

// Answer is what was joined so far.
func (b *AnswerBuilder) Answer() Answer {
	a := Answer{
		Text: b.text.String(), Reasoning: b.reasoning.String(),
		FinishReason: b.finishReason, Usage: b.usage, Extra: b.extra.joined(),
	}
	for _, c := range b.calls {
		call := c.call
		call.Arguments, call.Extra = c.arguments.String(), c.extra.joined()
		a.ToolCalls = append(a.ToolCalls, call)
	}
	return a
}

// fields are a vendor's fields that come in pieces, by name.
type fields map[string]*field

func (f *fields) add(pieces map[string]json.RawMessage) {
	if *f == nil && len(pieces) > 0 {
		*f = make(fields, len(pieces))
	}
	for name, piece := range pieces {
		if (*f)[name] == nil {
			(*f)[name] = &field{}
		}
		(*f)[name].add(piece)
	}
}

func (f fields) joined() map[string]json.RawMessage {
	if f == nil {
		return nil
	}
	all := make(map[string]json.RawMessage, len(f))
	for name, field := range f {
		all[name] = field.joined()
	}
	return all
}

// field is one of them: a text or a list that grows, or else its last piece.
type field struct {
	only json.RawMessage // the piece as it came, while there is nothing to join
	text *strings.Builder
	list *[]json.RawMessage
}

func (f *field) add(piece json.RawMessage) {
	var text string
	var list []json.RawMessage
	isText := json.Unmarshal(piece, &text) == nil // as null is: it adds nothing
	isList := !isText && json.Unmarshal(piece, &list) == nil
	isNull := string(piece) == "null"
	switch {
	case f.text != nil && isText:
		f.text.WriteString(text)
		f.only = nil
	case f.list != nil && (isList || isNull):
		*f.list = append(*f.list, list...)
		f.only = nil
	case isText && !isNull:
		*f = field{only: piece, text: &strings.Builder{}}
		f.text.WriteString(text)
	case isList:
		*f = field{only: piece, list: &list}
	default:
		*f = field{only: piece}
	}
}

func (f *field) joined() json.RawMessage {
	switch {
	case f.only != nil:
		return f.only
	case f.text != nil:
		return encode(f.text.String())
	case f.list != nil:
		return encode(*f.list)
	}
	return nil
}

func encode(x any) json.RawMessage {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err) // texts and lists of valid JSON always encode
	}
	return raw
}
