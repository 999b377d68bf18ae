// Package http is the call that sends one HTTP request: spelt out, or by an operation of an OpenAPI document,
// whose parameters it then knows and checks. For example, operation: getForecast sends a GET to the path that the
// document has for it.
package http

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Definition returns the call http as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:       "http",
		NoSubsteps: true,
		Summary: calls.Text{
			En: "Send an HTTP request, spelt out or by an OpenAPI operation, and give the answer with its JSON parsed.",
			Zh: "发送一个 HTTP 请求（直接给出，或取自 OpenAPI 操作），返回应答，JSON 已解析。",
		},
		Literal:  []string{"openapi"},
		Examples: examples(),
	})
	def.ParamsFor = func(_ context.Context, env *calls.Env, params value.Value) (*schema.Schema, error) {
		return narrowSchema(def.Info.Params, env, params)
	}
	def.Lint = lint
	def.Info.Check = checkParams
	def.Origins = calls.ParamsAsInput
	return def
}

// Init takes the parameters as they are.
func (p Params) Init(context.Context, *calls.Vars) (Input, error) {
	return Input{
		Method: p.Method, URL: p.URL, Operation: p.Operation,
		Path: p.Path, Query: p.Query, Headers: p.Headers, Body: p.Body,
	}, nil
}

// Exec looks an operation up, sends the request, and reads at most max_bytes.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) { return p.send(ctx, env, in) })
}

func (p Params) send(ctx context.Context, env *calls.Env, in Input) (*Output, error) {
	op, err := p.findOperation(env)
	if err != nil {
		return nil, err
	}
	timeout, err := p.timeout()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if op != nil {
		for _, warning := range op.Warnings {
			env.WarnOf(calls.Warning{Code: "openapi", Text: env.Say("%v", warning), Pointer: "/openapi"})
		}
		for _, q := range op.Refused {
			if q.In == "" { // a parameter with a place is an error only if the request gives it
				env.Warn("openapi", "the operation %s: %v; it cannot be given", in.Operation, q.Err)
			}
		}
	}
	req, err := in.newRequest(within, op)
	if err != nil {
		return nil, err
	}
	if key := env.IdempotencyKey(); p.KeyHeader != "" && key != "" {
		req.Header.Set(p.KeyHeader, key)
	}
	what := req.Method + " " + req.URL.Host + req.URL.EscapedPath() // no query: it may hold secrets
	resp, err := env.HTTP.Do(req)
	if err != nil {
		return nil, sendError(ctx, what, timeout, err)
	}
	defer resp.Body.Close()
	data, err := readBody(resp.Body, p.MaxBytes)
	if resp.StatusCode >= http.StatusBadRequest && !slices.Contains(p.AcceptStatus, resp.StatusCode) {
		return nil, badStatus(ctx, what, resp, data) // even if the body cannot be read
	}
	if err != nil {
		return nil, sendError(ctx, what, timeout, err)
	}
	out := &Output{Status: resp.StatusCode, Headers: make(map[string]string, len(resp.Header))}
	for name, values := range resp.Header {
		join := ", "
		if name == "Set-Cookie" {
			join = "\n"
		}
		out.Headers[strings.ToLower(name)] = strings.Join(values, join)
	}
	out.Body, err = parseBody(data, resp.Header)
	if err != nil {
		if resp.StatusCode < http.StatusBadRequest {
			return nil, calls.Errorf(calls.Provider, "%s: %w", what, err).WithHint("%s", calls.HintOf(err))
		}
		out.Body = value.OfString(strings.ToValidUTF8(string(data), "\uFFFD")) // text of a proxy about an error
	}
	return out, nil
}

func examples() []calls.Example {
	return []calls.Example{{
		Title: "A request, spelt out",
		With: `method: POST
url: https://api.example.com/cities/{city}/reports
path: {city: New York}
query: {units: metric, tag: [rain, wind]}
headers: {Accept: application/json}
body: {text: It rains., degrees: 12}
`,
	}, {
		Title: "An operation of an OpenAPI document",
		With: `openapi: ./weather.yaml
operation: getWeather
query: {city: Lyon}
`,
		Files: map[string]string{"weather.yaml": weather},
	}}
}

const weather = `openapi: 3.0.3
info: {title: Weather, version: "1"}
servers: [{url: https://api.example.com/v1}]
paths:
  /weather:
    get:
      operationId: getWeather
      summary: The weather of a city.
      parameters:
        - {name: city, in: query, required: true, schema: {type: string}}
        - {name: days, in: query, schema: {type: integer, minimum: 1}}
      responses: {"200": {description: The weather.}}
`
