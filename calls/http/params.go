package http

import (
	"regexp"
	"time"

	"github.com/callnode/scheduler/calls"
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
	KeyHeader    string      `json:"idempotency_header,omitempty" doc:"A header, such as Idempotency-Key, that gets a key of this step in this run. It stays the same when the step runs again, so that a service which knows such keys does the work once; an empty text says that a second request does no harm, which lint otherwise warns of for POST and PATCH." example:"Idempotency-Key"`
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

// usualTimeout is the default of timeout.
const usualTimeout = "30s"

func (p Params) timeout() (time.Duration, error) {
	d, err := time.ParseDuration(p.Timeout)
	if err != nil || d <= 0 {
		return 0, calls.Errorf(calls.Invalid, "timeout: invalid duration %q", p.Timeout).WithHint("use 500ms or 30s")
	}
	return d, nil
}

// placeholder is a {name} in a url.
var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)
