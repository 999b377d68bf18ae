package openai

import (
	"encoding/json"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// toolCalls numbers the tool calls of one answer. Servers leave out the index,
// give all calls the same one, or repeat id and name with every piece.
type toolCalls struct{ open []openCall }

type openCall struct {
	// index is what the server calls it; -1 where it does not say.
	index    int
	id, name string
}

func (t *toolCalls) read(raw json.RawMessage) ([]llm.ToolCallDelta, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var deltas []llm.ToolCallDelta
	for _, call := range list {
		d, err := t.piece(call)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, d)
		if len(t.open) > endpoint.MaxToolCalls {
			break // and the answer is refused
		}
	}
	return deltas, nil
}

func (t *toolCalls) piece(call map[string]json.RawMessage) (llm.ToolCallDelta, error) {
	var d llm.ToolCallDelta
	var function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	index := -1
	for name, raw := range call {
		if isNull(raw) {
			continue
		}
		var err error
		switch name {
		case "index":
			err = json.Unmarshal(raw, &index)
		case "id":
			err = json.Unmarshal(raw, &d.ID)
		case "function":
			err = json.Unmarshal(raw, &function)
		case "type":
		default:
			d.Extra = withMember(d.Extra, name, raw)
		}
		if err != nil {
			return d, err
		}
	}
	d.Name = function.Name
	if !isNull(function.Arguments) && json.Unmarshal(function.Arguments, &d.Arguments) != nil {
		d.Arguments = string(function.Arguments) // an object, where the protocol has a string
	}
	d.Index = t.place(index, d.ID, d.Name)
	known := &t.open[d.Index]
	d.ID, known.id = once(d.ID, known.id)
	d.Name, known.name = once(d.Name, known.name)
	return d, nil
}

// once gives text only while nothing is known yet, and what is known then.
func once(text, known string) (say, now string) {
	if known != "" {
		return "", known
	}
	return text, text
}

// place finds the call that a piece belongs to, or begins one. A piece with
// another id and a name is another call, whatever its index says; without a name
// it continues one whose server makes up a new id each time. A name without index
// and id begins a call, too.
func (t *toolCalls) place(index int, id, name string) int {
	last := len(t.open) - 1
	for i := last; i >= 0; i-- {
		c := t.open[i]
		same := c.index == index
		if index < 0 {
			same = i == last || id != "" && c.id == id
		}
		if !same {
			continue
		}
		another := id != "" && c.id != "" && id != c.id || index < 0 && id == "" && c.name != ""
		if another && name != "" {
			continue
		}
		return i
	}
	t.open = append(t.open, openCall{index: index})
	return last + 1
}
