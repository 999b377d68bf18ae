// Package http is the call that sends one HTTP request: spelt out, or by an
// operation of an OpenAPI document, whose parameters it then knows and checks.
package http

import (
	"context"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call: either URL, or OpenAPI with Operation.
type Params struct {
	Method       string      `json:"method,omitempty" enum:"GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS" doc:"Default: GET, or what the operation says."`
	URL          string      `json:"url,omitempty" doc:"Where to, http or https. {name} is filled in from path. With an operation: the server, in the place of the document's."`
	Path         *value.Map  `json:"path,omitempty" doc:"Values of the {name}s in the URL's path. They are escaped."`
	Query        *value.Map  `json:"query,omitempty" doc:"Parameters of the query: texts, numbers, booleans, lists of them; null leaves one out."`
	Headers      *value.Map  `json:"headers,omitempty" doc:"Headers of the request. They do not follow a redirect to another host."`
	Body         value.Value `json:"body,omitempty" doc:"A text is sent as it is, anything else as JSON, or as a form where the header Content-Type, or the operation, says application/x-www-form-urlencoded or multipart/form-data. A file of such a form is a text, or a data URL (data:image/png;base64,...)."`
	OpenAPI      value.Value `json:"openapi,omitempty" type:"string|object" doc:"An OpenAPI 3 or Swagger 2.0 document: a JSON or YAML file beside the flow or below, or the document itself. Taken as written."`
	Operation    string      `json:"operation,omitempty" doc:"The operationId of an operation of that document, or METHOD /path."`
	Timeout      string      `json:"timeout,omitempty" default:"30s" doc:"How long the whole answer may take, as 500ms or 30s."`
	MaxBytes     int         `json:"max_bytes,omitempty" default:"1048576" min:"1" max:"67108864" doc:"The longest body of an answer, in bytes; a longer one is an error."`
	AcceptStatus []int       `json:"accept_status,omitempty" was:"fail_on_status" doc:"Statuses of 400 or more that are an answer like any other, such as 404; without it, they are errors." example:"[404]"`
	KeyHeader    string      `json:"idempotency_header,omitempty" doc:"A header, such as Idempotency-Key, that gets a key of this step in this run. It stays the same when the step runs again, so that a service which knows such keys does the work once." example:"Idempotency-Key"`
}

// Input is the request as the parameters say it; an operation is looked up later.
type Input struct {
	Method    string      `json:"method,omitempty"`
	URL       string      `json:"url,omitempty"`
	Operation string      `json:"operation,omitempty"`
	Path      *value.Map  `json:"path,omitempty"`
	Query     *value.Map  `json:"query,omitempty"`
	Headers   *value.Map  `json:"headers,omitempty"`
	Body      value.Value `json:"body,omitempty"`
}

// Output is the answer of the server.
type Output struct {
	Status  int               `json:"status" doc:"The status code, such as 200."`
	Headers map[string]string `json:"headers" doc:"The headers, names in lower case; several of one name are joined by a comma, set-cookie by a newline."`
	Body    value.Value       `json:"body" doc:"JSON as data, anything else as text; null where there is none."`
}

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
	def.Origins = calls.ParamsAsInput
	return def
}

// usualTimeout is the default of timeout.
const usualTimeout = "30s"

// ownHeaders are made by the program, of the URL and the body.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade"}

// Validate checks what the parameters' schema cannot say.
func (p Params) Validate() error {
	if p.OpenAPI.IsNull() != (p.Operation == "") {
		return calls.Errorf(calls.Invalid, "openapi and operation go together: one of them is missing")
	}
	if p.Operation == "" && p.URL == "" {
		return calls.Errorf(calls.Invalid, "there is nowhere to send the request").WithHint("give url, or openapi with operation")
	}
	if _, err := p.timeout(); err != nil {
		return err
	}
	for name := range p.Headers.All() {
		if slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)) {
			return calls.Errorf(calls.Invalid, "the header %s is made by the program", name).WithHint("take it out")
		}
	}
	if p.OpenAPI.Kind() == value.Object {
		_, err := p.findOperation(nil)
		return err
	}
	return nil
}

// placeholder is a {name} in a url.
var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

func (p Params) timeout() (time.Duration, error) {
	d, err := time.ParseDuration(p.Timeout)
	if err != nil || d <= 0 {
		return 0, calls.Errorf(calls.Invalid, "timeout: invalid duration %q", p.Timeout).WithHint("use 500ms or 30s")
	}
	return d, nil
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

// unknownDialect is what lint and a run say of a dialect that a document names.
const unknownDialect = "the jsonSchemaDialect %q of the document is unknown; its schemas are read as draft 2020-12"

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
		if op.UnknownDialect != "" {
			env.WarnOf(calls.Warning{Code: "openapi", Text: env.Say(unknownDialect, op.UnknownDialect), Pointer: "/openapi"})
		}
		for _, q := range op.Refused {
			if q.In == "" { // one with a place is an error where the request gives it, and else nothing is missing
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
		return nil, badStatus(what, resp, data) // also where the body cannot be read
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
		out.Body = value.OfString(strings.ToValidUTF8(string(data), "\uFFFD")) // what a proxy says about an error
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
