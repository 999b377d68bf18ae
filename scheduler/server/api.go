package server

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/report"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// base is the path at which the API begins.
const base = "/api/v1"

// endpoint describes an operation for the router, the checks and the document.
type endpoint struct {
	method, path string
	id, summary  string
	// advice says how to use the endpoint; "" if the summary is enough.
	advice string
	// scope is the scope that the token needs; open endpoints need no token.
	scope store.Scope
	open  bool
	// noStore is true if the handler needs no store, or limits its wait for it by itself.
	noStore bool
	// status is the status on success; 0 is 200.
	status int
	// also are further statuses of success with the types of their JSON, nil for none.
	also map[int]reflect.Type
	// errors are the statuses of problems besides the ones that every endpoint has.
	errors []int
	// media are media types of the answer beside JSON; json is the type of the JSON of an
	// endpoint that answers by itself, nil for others.
	media []string
	json  reflect.Type
	// bodyMedia is the media type of a body that the handler reads by itself.
	bodyMedia string
	// mayBeEmpty is true if such a body may be missing.
	mayBeEmpty bool
	// bodyType is the type of a JSON body that the handler reads by itself; nil for others.
	bodyType reflect.Type
	// anyMedia reads the body as JSON of any media type, for example from curl -d. Pages of other sites can send such
	// a body, so only endpoints that change nothing may set it.
	anyMedia bool
}

// humaContext is a [huma.Context] under a name that can be embedded beside its method Context.
type humaContext = huma.Context

// jsonContext is a request whose body is JSON, regardless of its headers.
type jsonContext struct{ humaContext }

// Header returns a header of the request.
func (c jsonContext) Header(name string) string {
	if name == "Content-Type" {
		return "application/json"
	}
	return c.humaContext.Header(name)
}

// none is the input or output of an endpoint without one.
type none struct{}

// body is the output of an endpoint that has a body alone.
type body[T any] struct{ Body T }

// shaped is a JSON value whose schema is T's: the engine writes it, T documents it.
type shaped[T any] struct{ value.Value }

// Schema returns the schema of T.
func (shaped[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// page is a part of a list.
type page[T any] struct {
	Items []T `json:"items" nullable:"false"`
	// Next is the cursor of the next part.
	Next *string `json:"next" doc:"The cursor of the next part; null at the end."`
}

// newPage returns a page. next is "" at the end.
func newPage[T any](items []T, next string) *body[page[T]] {
	p := page[T]{Items: items}
	if p.Items == nil {
		p.Items = []T{}
	}
	if next != "" {
		p.Next = &next
	}
	return &body[page[T]]{p}
}

// textOf returns a member of an object that is a text.
func textOf(v value.Value, name string) string {
	member, _ := v.Get(name)
	text, _ := member.Str()
	return text
}

// Listing is the input of lists.
type Listing struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many items at most."`
	Cursor string `query:"cursor" doc:"next of the page before."`
}

// addEndpoint adds an endpoint.
func addEndpoint[I, O any](s *Server, e endpoint, handle func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		Method: e.method, Path: e.path, OperationID: e.id, Summary: e.summary, Description: e.advice, DefaultStatus: e.status,
		MaxBodyBytes: s.bodyLimit(e.method, e.path), SkipValidateBody: e.bodyType != nil, Tags: []string{tagOf(e.path)},
		Responses: map[string]*huma.Response{}, Middlewares: huma.Middlewares{s.requireScope(e)},
	}
	if !e.open {
		scopes := []string{}
		if e.scope != "" {
			scopes = append(scopes, string(e.scope))
			op.Extensions = map[string]any{"x-scope": string(e.scope)}
		}
		op.Security = []map[string][]string{{"token": scopes}, {"session": {}}}
	}
	if e.anyMedia {
		op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) { next(jsonContext{ctx}) })
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return out, nil
	})
	s.describeEndpoint(e)
}

// describeEndpoint completes the document's entry for an endpoint: a variable that takes the rest of a path is
// named without dots there, and other media types are added.
func (s *Server) describeEndpoint(e endpoint) {
	paths := s.api.OpenAPI().Paths
	item := paths[e.path]
	if plain := strings.Replace(e.path, "...}", "}", 1); plain != e.path {
		delete(paths, e.path)
		paths[plain] = item
	}
	op := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete,
	}[e.method]
	status := strconv.Itoa(max(e.status, http.StatusOK))
	s.describeErrors(e, op)
	for further, body := range e.also {
		answer := &huma.Response{Description: http.StatusText(further)}
		if body != nil {
			schema := s.api.OpenAPI().Components.Schemas.Schema(body, true, "")
			answer.Content = jsonContent(schema)
		}
		op.Responses[strconv.Itoa(further)] = answer
	}
	if e.json != nil {
		schema := s.api.OpenAPI().Components.Schemas.Schema(e.json, true, "")
		op.Responses[status].Content = jsonContent(schema)
	}
	if e.bodyMedia != "" {
		op.RequestBody = &huma.RequestBody{Required: !e.mayBeEmpty, Content: map[string]*huma.MediaType{e.bodyMedia: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	if e.bodyType != nil {
		schema := s.api.OpenAPI().Components.Schemas.Schema(e.bodyType, true, "")
		op.RequestBody = &huma.RequestBody{Required: true, Content: jsonContent(schema)}
	}
	for _, media := range e.media {
		if op.Responses[status].Content == nil {
			op.Responses[status].Content = map[string]*huma.MediaType{}
		}
		op.Responses[status].Content[media] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
}

// jsonContent returns a body of JSON with a schema, for the document.
func jsonContent(schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: schema}}
}

// describeErrors adds the statuses of problems to the document's entry for an endpoint.
func (s *Server) describeErrors(e endpoint, op *huma.Operation) {
	statuses := append([]int{http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError}, e.errors...)
	if !isHealthCheck(e.path) { // the caller is identified before all other steps, even if no token is needed
		statuses = append(statuses, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	}
	if op.RequestBody != nil || e.bodyMedia != "" || e.bodyType != nil {
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	problem := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	slices.Sort(statuses)
	for _, status := range slices.Compact(statuses) {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
		}
	}
}

// tagOf returns the group of a path.
func tagOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, base), "/"), "/")
	first, _, _ = strings.Cut(first, ".")
	return first
}

// requireScope lets only callers with the scope pass, and only if a store that is needed answers. It notes the
// route for the audit.
func (s *Server) requireScope(e endpoint) func(huma.Context, func(huma.Context)) {
	route := strings.Replace(e.path, "...}", "}", 1)
	return func(ctx huma.Context, next func(huma.Context)) {
		req := requestOf(ctx.Context())
		req.route = route
		if !e.open {
			if p := checkScope(req.caller, e.scope); p != nil {
				r, w := humago.Unwrap(ctx)
				s.writeProblem(w, r, p)
				return
			}
		}
		if !e.noStore {
			if err := s.storeCheck.await(ctx.Context()); err != nil {
				r, w := humago.Unwrap(ctx)
				s.writeProblem(w, r, problemOf(err))
				return
			}
		}
		next(ctx)
	}
}

// nameSchema returns the name of the schema of a type. Types of results of tests have the same names as other
// types, so Test is put before their name.
func nameSchema(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, of := range []reflect.Type{reflect.TypeFor[result.Run](), reflect.TypeFor[report.Table](), reflect.TypeFor[compare.Past]()} {
		if t.PkgPath() == of.PkgPath() {
			return "Test" + name
		}
	}
	return name
}

// newAPI returns the library's part.
func (s *Server) newAPI() huma.API {
	registry := huma.NewMapRegistry("#/components/schemas/", nameSchema)
	registry.RegisterTypeAlias(reflect.TypeFor[value.Value](), reflect.TypeFor[any]())
	registry.RegisterTypeAlias(reflect.TypeFor[result.Data](), reflect.TypeFor[any]())
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "scheduler", Version: "1",
				Description: "Flows that build the context of language models: run, follow, answer and explain them.",
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":   {Type: "http", Scheme: "bearer", Description: "A token of scheduler token create."},
					"session": {Type: "apiKey", In: "cookie", Name: cookieName, Description: "The session of a browser. Where the address has a port, the name ends in it: scheduler_session_8050."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{s.transformError},
	}
	return humago.New(s.mux, config)
}

// pageOf returns the part of a list after the cursor, which is the name of an item.
func pageOf[T any](items []T, in *Listing, name func(T) string) *body[page[T]] {
	if in.Cursor != "" {
		i := slices.IndexFunc(items, func(x T) bool { return name(x) == in.Cursor })
		items = items[i+1:]
	}
	if len(items) > in.Limit {
		return newPage(items[:in.Limit], name(items[in.Limit-1]))
	}
	return newPage(items, "")
}

// anyType is the type of JSON that the document does not describe.
var anyType = reflect.TypeFor[any]()

// rawJSON is the input of an endpoint that reads the JSON of its body by itself.
type rawJSON struct {
	RawBody []byte `contentType:"application/json"`
}
