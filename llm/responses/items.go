package responses

import (
	"encoding/json"
	"slices"

	"github.com/callnode/scheduler/llm/endpoint"
)

// itemsMember is the member of an assistant message that lists the items of the answer in their order: thoughts
// and items of the vendor's own tools as they came, messages and calls as places. An answer with a thought, a text
// of five bytes, a call and a text has, for example,
//
//	[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},
//	 {"type":"message","phase":"commentary","bytes":5},
//	 {"type":"function_call","call_id":"a"},
//	 {"type":"message","phase":"final_answer","bytes":4}]
//
// Only the message has the texts and arguments: a caller may change or drop them.
const itemsMember = "response_items"

const (
	messageType   = "message"
	callType      = "function_call"
	reasoningType = "reasoning"
)

// place is an item of itemsMember.
type place struct {
	Type   string `json:"type"`
	Phase  string `json:"phase,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
	CallID string `json:"call_id,omitempty"`
}

// assistantItems returns the items of an earlier answer, in the order of itemsMember if the
// message has it: else the text, then the calls.
func (m *message) assistantItems() ([]inputItem, error) {
	texts := assistantTexts{}
	if err := texts.read(m); err != nil {
		return nil, err
	}
	calls := map[string]toolCall{}
	for _, call := range m.ToolCalls {
		calls[call.ID] = call
	}
	var items []inputItem
	whole := 0 // how many of items are not trailing thoughts
	for _, raw := range m.Items {
		var at place
		if json.Unmarshal(raw, &at) != nil {
			continue
		}
		before := len(items)
		switch at.Type {
		case messageType:
			items = texts.append(items, at)
		case callType:
			if call, ok := calls[at.CallID]; ok {
				items = append(items, callItem(call))
				delete(calls, at.CallID)
			}
		case reasoningType:
			if thought := sentThought(raw); thought != nil {
				items = append(items, thought)
			}
			continue // nothing follows it so far
		default:
			items = append(items, raw)
		}
		if len(items) > before {
			whole = len(items)
		}
	}
	rest := texts.append(nil, place{Bytes: len(texts.text)})
	for _, call := range m.ToolCalls {
		if _, ok := calls[call.ID]; ok {
			rest = append(rest, callItem(call))
			delete(calls, call.ID)
		}
	}
	if len(rest) > 0 {
		return append(items, rest...), nil
	}
	return items[:whole], nil
}

// assistantTexts gives the text of a message out piece by piece, as the items of the answer
// had it.
type assistantTexts struct {
	text  string
	parts []any // a content that is a list, given out as a whole
	fits  bool  // the lengths of the items add up to the text
}

func (t *assistantTexts) read(m *message) error {
	sum := 0
	for _, raw := range m.Items {
		var at place
		if json.Unmarshal(raw, &at) == nil && at.Type == messageType {
			sum += at.Bytes
		}
	}
	if json.Unmarshal(m.Content, &t.text) == nil {
		t.fits = sum == len(t.text)
		return nil
	}
	var err error
	t.parts, err = translateContent(m.Content, "output_text")
	return err
}

// append adds the next text to items: all that is left of one that was changed since.
func (t *assistantTexts) append(items []inputItem, at place) []inputItem {
	n := len(t.text)
	if t.fits {
		n = min(max(at.Bytes, 0), n)
	}
	parts := slices.Concat(t.parts, textParts("output_text", t.text[:n]))
	t.parts, t.text = nil, t.text[n:]
	if len(parts) == 0 {
		return items
	}
	return append(items, messageItem("assistant", parts, at.Phase))
}

// sentThought returns a thought as the server takes it: without its id, which a server that
// keeps nothing does not find, and its status. It is nil for one that the model could not
// read: without encrypted_content and content.
func sentThought(raw json.RawMessage) inputItem {
	if !isReadable(raw) {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	delete(members, "id")
	delete(members, "status")
	return members
}

// isReadable reports whether the model can read a thought again.
func isReadable(thought json.RawMessage) bool {
	var members struct {
		Content   json.RawMessage `json:"content"`
		Encrypted json.RawMessage `json:"encrypted_content"`
	}
	if json.Unmarshal(thought, &members) != nil {
		return false
	}
	hasContent := !endpoint.IsNull(members.Content) && string(members.Content) != "[]"
	return hasContent || !endpoint.IsNull(members.Encrypted)
}
