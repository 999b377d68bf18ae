package server

import (
	"context"
	"net/http"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// registerCalls adds the catalogue and single calls.
func (s *Server) registerCalls() {
	const call = base + "/calls/{name}"
	gone := []int{http.StatusNotFound}
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/calls", id: "list-calls", summary: "List the calls", noStore: true, scope: store.FlowsRead}, s.listCalls)
	addEndpoint(s, endpoint{method: http.MethodGet, path: call, id: "get-call", summary: "Get a call with its schemas and an example", noStore: true, scope: store.FlowsRead, errors: gone}, s.getCall)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: call, id: "run-call", summary: "Make one call, without a flow", scope: store.CallsRun,
		errors: []int{http.StatusNotFound, http.StatusBadGateway, http.StatusGatewayTimeout},
	}, s.runCall)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/functions", id: "list-functions", summary: "List importance functions and variables", noStore: true, scope: store.FlowsRead}, s.listFunctions)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/plugins", id: "list-plugins", summary: "List plugins", noStore: true, scope: store.FlowsRead}, s.listPlugins)
}

// callBody is a call, as `calls NAME --json` prints it.
type callBody struct {
	Name    string      `json:"name"`
	Summary string      `json:"summary"`
	Params  value.Value `json:"params" doc:"The JSON Schema of the parameters."`
	Input   value.Value `json:"input"`
	Output  value.Value `json:"output"`
	Literal []string    `json:"literal" doc:"The parameters that are taken as written."`
	Example string      `json:"example" doc:"A flow that runs."`
	Request value.Value `json:"request,omitempty" doc:"The example as the body that makes this one call; not there for one that reads files."`
}

// callItem is a call in a list.
type callItem struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// listCalls lists the calls by their names.
func (s *Server) listCalls(ctx context.Context, in *Listing) (*body[page[callItem]], error) {
	registry, err := s.options.Service.Registry()
	if err != nil {
		return nil, err
	}
	var items []callItem
	for _, name := range registry.CallNames() {
		def, _ := registry.Call(name)
		items = append(items, callItem{name, def.Info.Summary.In(s.languageOf(ctx))})
	}
	return pageOf(items, in, func(i callItem) string { return i.Name }), nil
}

// CallName is the input of endpoints about one call.
type CallName struct {
	Name string `path:"name" doc:"The name of the call."`
}

// getCall returns a call.
func (s *Server) getCall(ctx context.Context, in *CallName) (*body[shaped[callBody]], error) {
	def, err := s.options.Service.CallDefinition(in.Name)
	if err != nil {
		return nil, err
	}
	return &body[shaped[callBody]]{shaped[callBody]{service.CallDocument(def, s.languageOf(ctx))}}, nil
}

type runCallInput struct {
	CallName
	Body struct {
		With value.Value   `json:"with,omitempty" doc:"The parameters, taken as they are."`
		Vars value.Value   `json:"vars,omitempty" doc:"What the call sees: question, inputs, history, summary, facts, vars, language, user, session, sessions, now."`
		LLM  []value.Value `json:"llm,omitempty" doc:"Answers of the model, in order: {text}, {json} or {error}."`
	}
}

// callOutput is the output of a call.
type callOutput struct {
	Output value.Value `json:"output"`
	Usage  llm.Usage   `json:"usage" doc:"What models were paid for it."`
	Notes  []string    `json:"notes,omitempty"`
}

// runCall makes one call.
func (s *Server) runCall(ctx context.Context, in *runCallInput) (*body[callOutput], error) {
	doc := value.Pairs("with", in.Body.With)
	if !in.Body.Vars.IsNull() {
		doc.Set("vars", in.Body.Vars)
	}
	if in.Body.LLM != nil {
		doc.Set("llm", value.OfList(in.Body.LLM...))
	}
	output, usage, notes, err := s.callFor(ctx, in.Name, value.OfMap(doc))
	if err != nil {
		return nil, err
	}
	out := callOutput{Output: output, Usage: usage}
	for _, n := range notes {
		out.Notes = append(out.Notes, n.Text.In(s.languageOf(ctx)))
	}
	return &body[callOutput]{out}, nil
}

// callFor makes one call for the caller, in whose memory it works.
func (s *Server) callFor(ctx context.Context, name string, doc value.Value) (output value.Value, usage llm.Usage, notes []service.Note, err error) {
	def, err := s.options.Service.CallDefinition(name)
	if err != nil {
		return output, usage, nil, err
	}
	r, err := s.options.Service.ParseCall(doc, s.options.ParseTime)
	if err != nil {
		return output, usage, nil, err
	}
	p := principalOf(ctx)
	if p.Bound && r.Vars.User != "" && r.Vars.User != p.User {
		return output, llm.Usage{}, nil, foreignUser(r.Vars.User, "/vars/user")
	}
	return s.options.Service.Caller(p, def).CallMetered(ctx, r)
}

// listFunctions lists importance functions and variables.
func (s *Server) listFunctions(_ context.Context, in *Listing) (*body[page[value.Value]], error) {
	items, err := s.options.Functions()
	if err != nil {
		return nil, err
	}
	return pageOf(items, in, func(v value.Value) string { return textOf(v, "name") }), nil
}

// listPlugins lists plugins.
func (s *Server) listPlugins(_ context.Context, in *Listing) (*body[page[value.Value]], error) {
	items, err := s.options.Plugins()
	if err != nil {
		return nil, err
	}
	return pageOf(items, in, func(v value.Value) string { return textOf(v, "name") }), nil
}
