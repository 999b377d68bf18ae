package mcp

import (
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// Bounds of the questions of a tool to people.
const (
	maxQuestion    = 500 // characters of a question
	maxQuestions   = 16
	maxFields      = 64
	maxSchemaBytes = 64 << 10
)

// confirmField is the field of a question that asks for nothing but consent.
const confirmField = "confirm"

// questions are a tool's questions to people, kept with the run until they have answered.
type questions struct {
	// Forms are the requests by the ids that the server gave them.
	Forms map[string]form `json:"forms"`
	// State is the server's own, which it gets back with the answers.
	State string `json:"state,omitempty"`
}

// form is one question with the schema of its answer.
type form struct {
	Message string      `json:"message"`
	Schema  value.Value `json:"schema"`
	// OnlyConfirms is true if the server wants consent and no values.
	OnlyConfirms bool `json:"only_confirms,omitempty"`
}

// responses are passed to a tool when it is used again.
type responses struct {
	byID  sdk.InputResponseMap
	state string
}

// readQuestions reads a tool's questions, as far as people can answer them in a form.
func readQuestions(hidden *secret.Set, s *Server, t *Tool, r *sdk.CallToolResult) (*questions, error) {
	all := &questions{Forms: map[string]form{}, State: r.RequestState}
	if len(r.InputRequests) == 0 {
		return nil, s.errorf(calls.Plugin, "the tool %s wants to be used again later, and asks nothing", t.Name)
	}
	if len(r.InputRequests) > maxQuestions || len(r.RequestState) > maxSchemaBytes {
		return nil, s.errorf(calls.Plugin, "the tool %s asks for more than a form holds", t.Name)
	}
	for id, one := range r.InputRequests {
		asked, ok := one.(*sdk.ElicitParams)
		if !ok || asked.URL != "" {
			return nil, s.errorf(calls.Plugin, "the tool %s asks for something other than the fields of a form", t.Name)
		}
		f, err := readForm(hidden, s, t, asked)
		if err != nil {
			return nil, err
		}
		all.Forms[id] = f
	}
	return all, nil
}

// readForm returns a question whose schema has required fields: if the server requires none of its fields, all are
// required; if it asks for no field, the question is whether to go on.
func readForm(hidden *secret.Set, s *Server, t *Tool, asked *sdk.ElicitParams) (form, error) {
	f := form{Message: hidden.Message(asked.Message, maxQuestion)}
	doc, err := value.Of(asked.RequestedSchema)
	if err != nil {
		return f, s.errorf(calls.Plugin, "the question of the tool %s: %w", t.Name, err)
	}
	fields, _ := doc.Get("properties")
	if fields.Map().Len() > maxFields || len(doc.JSON()) > maxSchemaBytes {
		return f, s.errorf(calls.Plugin, "the tool %s asks for more than a form holds", t.Name)
	}
	members := value.NewMap(4)
	members.Set("type", value.OfString("object"))
	members.Set("description", value.OfString(f.Message))
	required, _ := doc.Get("required")
	if fields.Map().Len() == 0 {
		f.OnlyConfirms = true
		fields = value.OfMap(value.Pairs(confirmField, value.OfMap(value.Pairs("type", "boolean", "description", f.Message))))
		required = value.OfList(value.OfString(confirmField))
	} else if len(required.List()) == 0 {
		required = value.Must(fields.Map().Keys())
	}
	members.Set("properties", fields)
	members.Set("required", required)
	f.Schema = value.OfMap(members)
	if _, err := schema.Parse(f.Schema); err != nil {
		return f, s.errorf(calls.Plugin, "the question of the tool %s: %w", t.Name, err)
	}
	return f, nil
}

// ids returns the ids of the questions, in order.
func (q *questions) ids() []string { return slices.Sorted(maps.Keys(q.Forms)) }

// message returns the questions as one line.
func (q *questions) message() string {
	var texts []string
	for _, id := range q.ids() {
		texts = append(texts, q.Forms[id].Message)
	}
	return value.Truncate(strings.Join(texts, "; "), maxQuestion)
}

// schema returns the schema of all answers: the fields of the one question, or each question's below its id.
func (q *questions) schema() value.Value {
	ids := q.ids()
	if len(ids) == 1 {
		return q.Forms[ids[0]].Schema
	}
	fields := value.NewMap(len(ids))
	for _, id := range ids {
		fields.Set(id, q.Forms[id].Schema)
	}
	return value.OfMap(value.Pairs("type", "object", "properties", value.OfMap(fields), "required", ids))
}

// responses returns the answers as the server gets them.
func (q *questions) responses(answers value.Value) responses {
	ids := q.ids()
	given := responses{sdk.InputResponseMap{}, q.State}
	for _, id := range ids {
		own := answers
		if len(ids) > 1 {
			own, _ = answers.Get(id)
		}
		given.byID[id] = q.Forms[id].response(own)
	}
	return given
}

// response returns a person's answer.
func (f form) response(answer value.Value) *sdk.ElicitResult {
	if f.OnlyConfirms {
		if agreed, _ := answer.Get(confirmField); !value.Equal(agreed, value.OfBool(true)) {
			return &sdk.ElicitResult{Action: "decline"}
		}
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}
	}
	content := map[string]any{}
	for name, one := range answer.Map().All() {
		content[name] = one
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}
}
