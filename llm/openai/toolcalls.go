package openai

import (
	"encoding/json"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// toolCalls numbers the tool calls of one answer. Servers leave out the index,
// use the same one for all calls, or repeat id and name with every piece.
type toolCalls struct{ open []openCall }

type openCall struct {
	// index is the server's number for the call; -1 if it sends none.
	index    int
	id, name string
}

func (t *toolCalls) readPieces(raw json.RawMessage) ([]llm.ToolCallDelta, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var deltas []llm.ToolCallDelta
	for _, call := range list {
		d, err := t.readPiece(call)
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

func (t *toolCalls) readPiece(call map[string]json.RawMessage) (llm.ToolCallDelta, error) {
	var d llm.ToolCallDelta
	var function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	index := -1
	for name, raw := range call {
		if endpoint.IsNull(raw) {
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
	if !endpoint.IsNull(function.Arguments) && json.Unmarshal(function.Arguments, &d.Arguments) != nil {
		d.Arguments = string(function.Arguments) // an object; the protocol has a string
	}
	d.Index = t.findOrOpen(index, d.ID, d.Name)
	known := &t.open[d.Index]
	d.ID, known.id = sayOnce(d.ID, known.id)
	d.Name, known.name = sayOnce(d.Name, known.name)
	return d, nil
}

// sayOnce returns text only while nothing is known yet, and the known text after that.
func sayOnce(text, known string) (say, now string) {
	if known != "" {
		return "", known
	}
	return text, text
}

// findOrOpen returns the number of the call that a piece belongs to; it opens one if there is none. A name without
// index and id opens one, too.
func (t *toolCalls) findOrOpen(index int, id, name string) int {
	last := len(t.open) - 1
	for i := last; i >= 0; i-- {
		c := t.open[i]
		if c.matches(index, id, i == last) && !c.isAnother(index, id, name) {
			return i
		}
	}
	t.open = append(t.open, openCall{index: index})
	return last + 1
}

// matches reports whether the server names c, by its number, else by its id. A piece with
// neither belongs to the newest call.
func (c *openCall) matches(index int, id string, isNewest bool) bool {
	if index >= 0 {
		return c.index == index
	}
	sameID := id != "" && c.id == id
	return isNewest || sameID
}

// isAnother reports whether a piece that names c begins another call all the same: a
// piece with another id and a name does, whatever its index; without a name it continues
// a call of a server that makes up a new id for each piece.
func (c *openCall) isAnother(index int, id, name string) bool {
	if name == "" {
		return false
	}
	if id != "" {
		return c.id != "" && c.id != id
	}
	return index < 0 && c.name != ""
}

// withMember adds a member to extra, which may be nil.
func withMember(extra map[string]json.RawMessage, name string, raw json.RawMessage) map[string]json.RawMessage {
	if extra == nil {
		extra = map[string]json.RawMessage{}
	}
	extra[name] = raw
	return extra
}
