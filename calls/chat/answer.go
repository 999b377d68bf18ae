package chat

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// ToolCall is a call that the model requests, in the shape of the API, so that the next request can repeat it as
// it is: vendor's fields included.
type ToolCall struct {
	ID       string
	Function Function
	Extra    map[string]json.RawMessage
}

// Function names the function to call. Arguments is a JSON text as the model wrote it, which need not be valid.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// EncodeValue returns {id, type, function} and the vendor's fields.
func (c ToolCall) EncodeValue() (value.Value, error) {
	f, err := value.Of(c.Function)
	if err != nil {
		return value.Value{}, err
	}
	m := value.Pairs("id", c.ID, "type", "function", "function", f)
	for _, name := range slices.Sorted(maps.Keys(c.Extra)) {
		field, err := value.ParseJSON(c.Extra[name])
		if err != nil {
			return value.Value{}, err
		}
		m.Set(name, field)
	}
	return value.OfMap(m), nil
}

// JSONSchema is open to vendor's fields.
func (ToolCall) JSONSchema() value.Value {
	text := value.Pairs("type", "string")
	return value.OfMap(value.Pairs(
		"type", "object",
		"properties", value.Pairs("id", text, "type", text, "function", schema.MustFor[Function]().Doc()),
		"required", []string{"id", "type", "function"},
	))
}
