package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// ToolCall is a call that the model wants to be made, in the shape of the API, so
// that it can stand in the next request as it is: vendor's fields included.
type ToolCall struct {
	ID       string
	Function Function
	Extra    map[string]json.RawMessage
}

// Function is what to call. Arguments is a JSON text as the model wrote it, which
// need not be valid.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// EncodeValue gives {id, type, function} and the vendor's fields.
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

// fit finds the JSON document in an answer that fits the schema. Models put it
// between fences, behind their thoughts and into prose. The error is about the
// first document that there is.
func fit(text string, s *schema.Schema) (value.Value, error) {
	var first error
	for v := range documents(text) {
		problems := s.Check(v)
		if problems == nil {
			return v, nil
		}
		if first == nil {
			first = problems
		}
	}
	if first == nil {
		first = errors.New("there is no JSON in it")
	}
	return value.Value{}, first
}

// maxStarts bounds how many places are tried at which a document could begin.
const maxStarts = 200

// documents gives what could be meant, the likeliest first: the whole text, then
// each object or array that stands in it.
func documents(text string) iter.Seq[value.Value] {
	return func(yield func(value.Value) bool) {
		if i := strings.LastIndex(text, "</think>"); i >= 0 {
			text = text[i+len("</think>"):]
		}
		if v, err := value.ParseJSON([]byte(text)); err == nil && !yield(v) {
			return
		}
		rest := []byte(text)
		for range maxStarts {
			start := bytes.IndexAny(rest, "{[")
			if start < 0 {
				return
			}
			rest = rest[start:]
			var document json.RawMessage
			dec := json.NewDecoder(bytes.NewReader(rest))
			if err := dec.Decode(&document); err != nil {
				var syntax *json.SyntaxError
				if !errors.As(err, &syntax) {
					return // the document is cut: what stands in it is not the answer
				}
				// Parts of a broken document are not the answer either: go on behind them.
				rest = rest[max(1, syntax.Offset-1):]
				continue
			}
			rest = rest[dec.InputOffset():]
			if v, err := value.ParseJSON(document); err == nil && !yield(v) {
				return
			}
		}
	}
}
