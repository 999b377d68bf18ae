package llm

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"
)

// Answer is a whole answer: the deltas of a Chat joined. Its JSON is the form in which
// the journal and cassettes keep answers, not one of any vendor.
type Answer struct {
	Text      string `json:"text"`
	Reasoning string `json:"reasoning,omitempty"`
	// ReasoningMember is [Delta.ReasoningMember].
	ReasoningMember string     `json:"reasoning_member,omitempty"`
	ToolCalls       []ToolCall `json:"tool_calls,omitempty"`
	FinishReason    string     `json:"finish_reason,omitempty"`
	Usage           Usage      `json:"usage"`
	// Provider is the name of the provider that answered; "" if it has none.
	Provider string `json:"provider,omitempty"`
	// Extra are the vendor's fields of the message. If they came in pieces, texts are joined and lists appended.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// RefusalMember is the member of Extra in which a provider repeats the text with which the
// model refused to answer.
const RefusalMember = "refusal"

// Refusal returns the words with which the model refused to answer; "" if it did not.
func (a *Answer) Refusal() string {
	var text string
	if json.Unmarshal(a.Extra[RefusalMember], &text) != nil {
		return ""
	}
	return text
}

// VendorMembers returns the members that the vendor wants back in the assistant message made of this answer:
// Extra, and the thoughts before tool calls if the vendor has a member for them. DeepSeek, for example, refuses
// the result of a tool if its call comes back without its reasoning_content. The map belongs to the caller.
func (a *Answer) VendorMembers() map[string]json.RawMessage {
	members := make(map[string]json.RawMessage, len(a.Extra)+1)
	maps.Copy(members, a.Extra)
	if a.ReasoningMember != "" && a.Reasoning != "" && len(a.ToolCalls) > 0 {
		members[a.ReasoningMember] = mustEncode(a.Reasoning)
	}
	return members
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

// Collect returns the deltas of a Chat as one answer. Pieces before an error are in it.
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
// and not with its square. The zero value is ready to use, for one answer and by one
// goroutine; do not copy it.
type AnswerBuilder struct {
	text, reasoning strings.Builder
	calls           []*callBuilder
	byIndex         map[int]*callBuilder
	reasoningMember string
	finishReason    string
	provider        string
	usage           Usage
	extra           fields
}

type callBuilder struct {
	call      ToolCall // without the parts that are joined below
	arguments strings.Builder
	extra     fields
}

// Add joins the next delta. A tool call for which the server made up no id gets
// one from its place: call_0, call_1.
func (b *AnswerBuilder) Add(d Delta) {
	b.text.WriteString(d.Text)
	b.reasoning.WriteString(d.Reasoning)
	if d.ReasoningMember != "" {
		b.reasoningMember = d.ReasoningMember
	}
	if d.FinishReason != "" {
		b.finishReason = d.FinishReason
	}
	if d.Usage != nil {
		b.usage = *d.Usage
	}
	if d.Provider != "" {
		b.provider = d.Provider
	}
	b.extra.addPieces(d.Extra)
	for _, piece := range d.ToolCalls {
		c := b.toolCall(piece.Index)
		if piece.ID != "" {
			c.call.ID = piece.ID
		}
		if piece.Name != "" {
			c.call.Name = piece.Name
		}
		c.arguments.WriteString(piece.Arguments)
		c.extra.addPieces(piece.Extra)
	}
}

func (b *AnswerBuilder) toolCall(index int) *callBuilder {
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

// Answer returns the pieces joined so far.
func (b *AnswerBuilder) Answer() Answer {
	a := Answer{
		Text: b.text.String(), Reasoning: b.reasoning.String(), ReasoningMember: b.reasoningMember,
		FinishReason: b.finishReason, Usage: b.usage, Provider: b.provider, Extra: b.extra.joinAll(),
	}
	for _, c := range b.calls {
		call := c.call
		call.Arguments, call.Extra = c.arguments.String(), c.extra.joinAll()
		a.ToolCalls = append(a.ToolCalls, call)
	}
	return a
}

// fields are a vendor's fields that come in pieces, by name.
type fields map[string]*field

func (f *fields) addPieces(pieces map[string]json.RawMessage) {
	if *f == nil && len(pieces) > 0 {
		*f = make(fields, len(pieces))
	}
	for name, piece := range pieces {
		if (*f)[name] == nil {
			(*f)[name] = &field{}
		}
		(*f)[name].addPiece(piece)
	}
}

func (f fields) joinAll() map[string]json.RawMessage {
	if f == nil {
		return nil
	}
	all := make(map[string]json.RawMessage, len(f))
	for name, field := range f {
		all[name] = field.joinPieces()
	}
	return all
}

// field is a vendor's field: a text or a list that grows, or else its last piece.
type field struct {
	only json.RawMessage // the piece as it came, while there is nothing to join
	text *strings.Builder
	list *[]json.RawMessage
}

func (f *field) addPiece(piece json.RawMessage) {
	var text string
	var list []json.RawMessage
	isText := json.Unmarshal(piece, &text) == nil // as null is: it adds nothing
	isList := !isText && json.Unmarshal(piece, &list) == nil
	isNull := string(piece) == "null"
	extendsList := isList || isNull
	switch {
	case f.text != nil && isText:
		f.text.WriteString(text)
		f.only = nil
	case f.list != nil && extendsList:
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

func (f *field) joinPieces() json.RawMessage {
	if f.text != nil && f.only == nil {
		return mustEncode(f.text.String())
	}
	if f.list != nil && f.only == nil {
		return mustEncode(*f.list)
	}
	return f.only
}

func mustEncode(x any) json.RawMessage {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err) // texts and lists of valid JSON always encode
	}
	return raw
}
