package ask

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Structured asks a model for a JSON document, as the FunctionLLM of the documents does with _json, in the
// strongest way that its server supports: as the arguments of a function that the model must call, else by a
// schema for the answer, else by the prompt alone, which should describe the answer. It remembers refusals of the
// server and ways that led to no document: a step makes one and uses it for all its requests, from one goroutine.
type Structured struct {
	// Function is the name of the function, and Description its purpose. Without a name the first way is the
	// schema.
	Function, Description string
	// IsDocument reports whether a text has a document.
	IsDocument func(text string) bool
	// Collect joins an answer; nil is [llm.Collect].
	Collect func(iter.Seq2[llm.Delta, error]) (llm.Answer, error)

	way way
}

// way is a way to ask, the strongest first.
type way int

const (
	byFunction way = iota
	bySchema
	byPrompt
)

// Ask asks once for a document that fits schema, and again in the next way if the server refuses one, or its model
// does not call the function. It returns the arguments of the call, or the text of the answer, which need not be
// such a document. If there is no document in it at all, the next call of Ask, which may tell the model so, uses
// the next way.
func (s *Structured) Ask(ctx context.Context, model llm.Provider, req *llm.Request, schema value.Value) (string, error) {
	collect := s.Collect
	if collect == nil {
		collect = llm.Collect
	}
	if s.Function == "" && s.way == byFunction {
		s.way = bySchema
	}
	for {
		answer, err := collect(model.Chat(ctx, s.newRequest(req, schema)))
		if err != nil {
			if s.way == byPrompt || !isRefused(err) {
				return "", err
			}
			s.way++
			continue
		}
		text, isCall := answer.Text, len(answer.ToolCalls) > 0
		if isCall {
			text = answer.ToolCalls[0].Arguments
		}
		if s.IsDocument(text) || s.way == byPrompt {
			return text, nil
		}
		isIgnored := s.way == byFunction && !isCall
		s.way++
		if !isIgnored {
			return text, nil
		}
	}
}

// newRequest returns req with the schema as the way wants it.
func (s *Structured) newRequest(req *llm.Request, schema value.Value) *llm.Request {
	asked := *req
	switch s.way {
	case byFunction:
		function := value.Pairs("name", s.Function, "description", s.Description, "parameters", schema)
		asked.Tools = []json.RawMessage{value.OfMap(value.Pairs("type", "function", "function", function)).AppendJSON(nil)}
		asked.Extra = maps.Clone(req.Extra)
		if asked.Extra == nil {
			asked.Extra = map[string]json.RawMessage{}
		}
		asked.Extra["tool_choice"] = value.OfMap(value.Pairs("type", "function", "function", value.Pairs("name", s.Function))).AppendJSON(nil)
	case bySchema:
		asked.ResponseSchema = schema.AppendJSON(nil)
	default: // the schema is in the prompt
	}
	return &asked
}

// isRefused reports whether the server refused the request itself: it does not know schemas or functions, or has
// no model of that name that does.
func isRefused(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
