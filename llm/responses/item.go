package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// itemKey identifies an item of an answer: by its index or, with servers that send none, by its id.
type itemKey struct {
	index int
	id    string
}

// openItem is an item of the answer, with the data of its events so far.
type openItem struct {
	text     strings.Builder // of a message, or the arguments of a call
	thoughts string          // the kind of events that its thoughts came in
	summary  int             // the newest part of a summary
	callID   string
	call     int // the number of the call; -1 before it has begun
}

// outputItem is a whole item, or one that begins.
type outputItem struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Arguments string        `json:"arguments"`
	Phase     string        `json:"phase"`
	Content   []contentPart `json:"content"`
	Summary   []contentPart `json:"summary"`
}

type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// itemOf returns the item that an event is about.
func (a *answer) itemOf(e event) *openItem {
	key := itemKey{index: -1, id: e.ItemID}
	var item outputItem
	switch {
	case e.OutputIndex != nil:
		key = itemKey{index: *e.OutputIndex}
	case key.id == "" && json.Unmarshal(e.Item, &item) == nil:
		key.id = item.ID
	}
	if a.open == nil {
		a.open = map[itemKey]*openItem{}
	}
	if a.open[key] == nil {
		a.open[key] = &openItem{call: -1}
	}
	return a.open[key]
}

// addText passes a piece of text on. The words of a refusal are the text too, so that people
// see them.
func (a *answer) addText(o *openItem, piece string, isRefusal bool) error {
	o.text.WriteString(piece)
	d := llm.Delta{Text: piece}
	if isRefusal && piece != "" {
		a.refused = true
		d.Extra = map[string]json.RawMessage{llm.RefusalMember: endpoint.MustEncode(piece)}
	}
	return a.passOn(d)
}

// addThought passes a piece of a thought on. Thoughts are separated by a blank line, and so are the parts of a
// summary. Servers that send a thought in two kinds of events send it twice: the first kind counts.
func (a *answer) addThought(o *openItem, kind string, summary int, piece string) error {
	isNew := o.thoughts == ""
	if isNew {
		o.thoughts = kind
	}
	if piece == "" || o.thoughts != kind {
		return nil
	}
	if a.thought && (isNew || summary != o.summary) {
		piece = "\n\n" + piece
	}
	o.summary, a.thought = summary, true
	return a.passOn(llm.Delta{Reasoning: piece})
}

// beginItem takes an item as it begins: a call of a tool has its name then.
func (a *answer) beginItem(o *openItem, raw json.RawMessage) error {
	var item outputItem
	if json.Unmarshal(raw, &item) != nil {
		return a.invalid(string(raw))
	}
	if item.Type != callType || o.call >= 0 {
		return nil
	}
	o.call, o.callID = a.calls, item.CallID
	a.calls++
	return a.passOn(llm.Delta{ToolCalls: []llm.ToolCallDelta{{Index: o.call, ID: item.CallID, Name: item.Name}}})
}

func (a *answer) addArguments(o *openItem, piece string) error {
	if o.call < 0 {
		return a.invalid("a piece of a tool call that has not begun")
	}
	o.text.WriteString(piece)
	return a.passOn(llm.Delta{ToolCalls: []llm.ToolCallDelta{{Index: o.call, Arguments: piece}}})
}

// endItem handles a whole item: it passes on the parts that the events before did not bring, and notes the item's
// place.
func (a *answer) endItem(o *openItem, raw json.RawMessage) error {
	var item outputItem
	if json.Unmarshal(raw, &item) != nil {
		return a.invalid(string(raw))
	}
	switch item.Type {
	case messageType:
		if err := a.endMessage(o, item); err != nil {
			return err
		}
	case callType:
		if err := a.beginItem(o, raw); err != nil {
			return err
		}
		if rest := restOf(item.Arguments, o.text.String()); rest != "" {
			if err := a.addArguments(o, rest); err != nil {
				return err
			}
		}
		a.addPlace(place{Type: callType, CallID: item.CallID})
	case reasoningType:
		if isReadable(raw) {
			a.items, a.telling = append(a.items, raw), true
		}
		return a.endThought(o, item)
	default: // of a tool of the vendor's
		a.items, a.telling = append(a.items, raw), true
	}
	return nil
}

// endMessage passes on the text that came with the whole message only, and notes the
// message's place.
func (a *answer) endMessage(o *openItem, item outputItem) error {
	var whole strings.Builder
	isRefusal := false
	for _, part := range item.Content {
		whole.WriteString(part.Text + part.Refusal)
		isRefusal = isRefusal || part.Refusal != ""
	}
	if err := a.addText(o, restOf(whole.String(), o.text.String()), isRefusal); err != nil {
		return err
	}
	a.addPlace(place{Type: messageType, Phase: item.Phase, Bytes: cmp.Or(whole.Len(), o.text.Len())})
	return nil
}

// endThought passes on a thought that came in no event before.
func (a *answer) endThought(o *openItem, item outputItem) error {
	parts := item.Summary
	if len(parts) == 0 {
		parts = item.Content
	}
	if o.thoughts != "" {
		return nil
	}
	for i, part := range parts {
		if err := a.addThought(o, reasoningType, i, part.Text); err != nil {
			return err
		}
	}
	return nil
}

// restOf returns the end of whole that was not passed on yet; "" if whole does not begin with the text already
// passed on.
func restOf(whole, told string) string {
	rest, ok := strings.CutPrefix(whole, told)
	if !ok {
		return ""
	}
	return rest
}

// addPlace notes the place of a message or of a call. Text and calls alone show the order of one message without a
// phase and the calls after it.
func (a *answer) addPlace(at place) {
	isSecond := at.Type == messageType && slices.ContainsFunc(a.items, func(raw json.RawMessage) bool {
		var before place
		return json.Unmarshal(raw, &before) == nil && (before.Type == messageType || before.Type == callType)
	})
	a.telling = a.telling || isSecond || at.Phase != ""
	a.items = append(a.items, endpoint.MustEncode(at))
}
