package http_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	httpcall "github.com/callnode/scheduler/calls/http"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/calls/schema"
)

func TestInvalid(t *testing.T) {
	for with, want := range map[string]string{
		"{}":                                  "nowhere to send",
		"{operation: x}":                      "it goes together with openapi",
		"{openapi: x.yaml}":                   "it goes together with operation",
		"{url: http://h, timeout: 30}":        "want string",
		"{url: http://h, timeout: soon}":      `invalid duration "soon"`,
		"{url: http://h, timeout: -1s}":       "invalid duration",
		"{url: http://h, headers: {host: x}}": "is made by the program",
		`{url: http://h, headers: {X-Key: "a\r\nX-Evil: hush"}}`:        `headers/X-Key: the value has a line break`,
		"{url: http://h, headers: {X Key: a}}":                          `headers/X Key: "X Key" is not a header name`,
		"{url: http://h, headers: {'': a}}":                             `"" is not a header name`,
		"{url: http://h, idempotency_header: '  '}":                     `idempotency_header: "  " is not a header name`,
		"{url: http://h, idempotency_header: 'Key:'}":                   `idempotency_header: "Key:" is not a header name`,
		"{url: http://h, idempotency_header: Schlüssel}":                `is not a header name`,
		"{url: http://h, idempotency_header: host}":                     "idempotency_header: the header host is made by the program",
		"{url: http://h, method: get}":                                  "method",
		"{url: ftp://h}":                                                "must begin with http://",
		"{url: 'http://'}":                                              "must begin with http://",
		"{url: h/p}":                                                    "must begin with http://",
		"{url: 'http://h:x'}":                                           "the url is not understood",
		"{url: http://h, query: {a: {b: 1}}}":                           "query/a: want a text",
		"{url: http://h, query: {a: [[1]]}}":                            "query/a: want a text",
		"{url: http://h, headers: {a: {b: 1}}}":                         "headers/a: want a text",
		"{url: 'http://h/{a}', path: {}}":                               "path/a is not given",
		"{url: 'http://h/{a', path: {}}":                                "a { without its }",
		"{url: 'http://h/{a}'}":                                         "path/a is not given, and the url needs it",
		"{url: 'http://h/', path: {a: 1}}":                              "{a} is not in the url",
		"{url: 'http://{a}/', path: {a: b}}":                            "outside of its path",
		"{url: 'http://{a}', path: {a: b}}":                             "outside of its path",
		"{url: 'http://h/?{a}', path: {a: b}}":                          "outside of its path",
		"{url: 'http://h/{a}', path: {a: ''}}":                          "path/a is empty",
		"{url: 'http://h/{a}', path: {a: {}}}":                          "path/a is empty",
		"{url: 'http://h/{a}', path: {a: '..'}}":                        "would lead elsewhere",
		"{url: http://h, headers: {Content-Type: text/csv}, body: [1]}": "cannot be sent as text/csv",
		"{url: http://h, headers: {Content-Type: application/x-www-form-urlencoded}, body: [1]}":         "a form is made of an object",
		"{url: http://h, headers: {Content-Type: application/x-www-form-urlencoded}, body: {a: {b: 1}}}": "body/a: want a text",
		"{openapi: 'https://x/y', operation: x}":                                                         "is not a file",
		"{openapi: none.yaml, operation: x}":                                                             "there is no file none.yaml",
		"{openapi: ../up.yaml, operation: x}":                                                            "is outside of the folder of the flow",
		"{openapi: ., operation: x}":                                                                     "not a regular file",
		"{openapi: {}, operation: x}":                                                                    "openapi: this is not an OpenAPI 3 document",
	} {
		_, err := sent(t, env(t, nil), with)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
		var own *calls.Error
		if errors.As(err, &own) && own.Kind != calls.Invalid && own.Kind != calls.Missing && own.Kind != calls.NotFound {
			t.Errorf("%s: kind %s", with, own.Kind)
		}
	}
}

func TestLint(t *testing.T) {
	for with, want := range map[string]string{
		"{url: http://h, query: null, headers: {Host: null}}":    "/headers/Host: the header Host is made by the program (take it out)",
		"{openapi: {openapi: 3.1.0}, operation: x, query: null}": `/operation: there is no operation "x": the document has none`,
		"{url: http://h, timeout: 5y}":                           `/timeout: invalid duration "5y" (use 500ms or 30s)`,
		"{openapi: x.yaml, operation: x, query: null}":           "",
		"{url: http://h, idempotency_header: ' '}":               `/idempotency_header: " " is not a header name (write letters, digits and - without blanks, as in X-Request-Id)`,
		"{url: http://h, idempotency_header: ''}":                "",
		"{url: http://h, idempotency_header: null}":              "",
		"{url: http://h, headers: {X-A: null, 'X B': null}}":     `/headers/X B: "X B" is not a header name (write letters, digits and - without blanks, as in X-Request-Id)`,
		"{query: {}}":                          "there is nowhere to send the request (give url, or openapi with operation)",
		"{url: null}":                          "",
		"{url: 5}":                             "",
		"{operation: x}":                       "/operation: it goes together with openapi, which is missing (give both, or none)",
		"{url: http://h}":                      "",
		"{timeout: null, url: http://x}":       "",
		"{url: \"ftp://x/{a}\", path: {a: 1}}": "/url: the url must begin with http:// or https:// and a host",
	} {
		if got := schema.Problems(httpcall.Definition().CheckParams(params(t, with), calls.LintEnv{Computed: []string{"/query", "/headers/Host", "/timeout", "/url"}})).Error(); got != want {
			t.Errorf("%s: %s", with, got)
		}
	}
}

// TestLintRepeated: a request that may do its work twice is warned of, unless it has a key or the flow says that twice does no harm.
func TestLintRepeated(t *testing.T) {
	operation := `operation: order, openapi: {openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/orders: {post: {operationId: order, responses: {}}}}}`
	for _, tt := range []struct {
		name, with string
		tries      int
		want       string // a part of the warning; "" for none
		pointer    string
	}{
		{"a POST of a run", "{method: POST, url: http://h}", 1, "a run that goes on after a failure repeats", "/method"},
		{"a POST with retry", "{method: POST, url: http://h}", 3, "retry tries the step up to 3 times", "/method"},
		{"a PATCH", "{method: patch, url: http://h}", 3, "this PATCH may reach", "/method"},
		{"an operation", "{" + operation + "}", 1, "this POST may reach", "/operation"},
		{"with a key", "{method: POST, url: http://h, idempotency_header: Idempotency-Key}", 3, "", ""},
		{"with a computed key", "{method: POST, url: http://h, idempotency_header: null}", 3, "", ""},
		{"harmless", `{method: POST, url: http://h, idempotency_header: ""}`, 3, "", ""},
		{"a GET", "{url: http://h}", 3, "", ""},
		{"a PUT", "{method: PUT, url: http://h}", 3, "", ""},
		{"a computed method", "{method: null, url: http://h}", 3, "", ""},
		{"a tool", "{method: POST, url: http://h}", 0, "", ""},
	} {
		var found []schema.Problem
		for _, p := range httpcall.Definition().Lint(params(t, tt.with), calls.LintEnv{Tries: tt.tries}) {
			if p.Warning {
				found = append(found, p)
			}
		}
		switch {
		case tt.want == "" && len(found) > 0:
			t.Errorf("%s: %v", tt.name, found)
		case tt.want != "" && (len(found) != 1 || !strings.Contains(found[0].Error(), tt.want) || found[0].Pointer != tt.pointer):
			t.Errorf("%s: got %v, want %q at %s", tt.name, found, tt.want, tt.pointer)
		}
	}
}

// Objects of an operation begin without members, so that people are asked for those
// one by one.
func TestParamsForAsksForMembers(t *testing.T) {
	e := env(t, nil)
	doc := `openapi: 3.0.3
paths:
  /a/{id}:
    post:
      operationId: a
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: q, in: query, schema: {type: string}}
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
components:
  schemas:
    Order: {type: object, required: [to, any, list], properties: {to: {$ref: '#/components/schemas/To'}, any: {anyOf: [{$ref: '#/components/schemas/To'}, {type: object, required: [x]}]}, list: {type: array}, old: {type: object, required: [y], default: {y: 1}}}}
    To: {type: object, required: [city], properties: {city: {type: string}, more: {type: object}}}
`
	if err := os.WriteFile(filepath.Join(e.Dir, "a.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := httpcall.Definition().ParamsFor(t.Context(), e, params(t, "{openapi: a.yaml, operation: a}"))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/properties/path": "{}", "/properties/query": "null", "/definitions/Order": "{}", "/definitions/To": "{}",
		"/definitions/Order/properties/old": `{"y":1}`, "/definitions/Order/properties/any": "null",
		"/definitions/Order/properties/any/anyOf/1": "null", "/definitions/To/properties/more": "null",
	} {
		place, ok := s.Doc().At(pointer)
		if def, _ := place.Get("default"); !ok || def.JSON() != want {
			t.Errorf("%s: %t, %s, want %s", pointer, ok, def, want)
		}
	}
}

// The document's text about the operation explains the parameters to a model.
func TestParamsForSaysWhatFor(t *testing.T) {
	e, long := env(t, nil), strings.Repeat("好 ", 2000)
	for texts, want := range map[string]string{
		`summary: Forecast., description: "For 3 days.\nIn °C."`: "Forecast.\nFor 3 days.\nIn °C.",
		"summary: Forecast":                                 "Forecast",
		"description: By city.":                             "By city.",
		"summary: Forecast, description: Forecast by city.": "Forecast by city.",
		"summary: S, description: '" + long + "'":           "S\n" + strings.Repeat("好 ", 997) + "好...",
		"operationId: b":                                    "",
	} {
		doc := "openapi: 3.0.3\npaths: {/a: {get: {" + texts + "}}}"
		if err := os.WriteFile(filepath.Join(e.Dir, "a.yaml"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := httpcall.Definition().ParamsFor(t.Context(), e, params(t, "{openapi: a.yaml, operation: GET /a}"))
		if err != nil {
			t.Fatal(err)
		}
		description, _ := s.Doc().Get("description")
		if got, _ := description.Str(); strings.TrimSpace(got) != want {
			t.Errorf("%.60s: got %q", texts, got)
		}
	}
}

func TestParamsFor(t *testing.T) {
	def, e := httpcall.Definition(), withAPI(t)
	for _, c := range []struct {
		with, found string
		problems    []string
	}{
		{"{openapi: api.yaml, operation: days, timeout: 5s, headers: {Authorization: a}}",
			"{openapi: api.yaml, operation: days, timeout: 5s, headers: {Authorization: a, X-Other: b}, path: {}, body: {n: x}, url: http://evil, method: GET}",
			[]string{"/body/n", "/headers/X-Other", "/headers/X-Tenant", "/method", "/path/city", "/url"}},
		{"{openapi: api.yaml, operation: days}", "{openapi: api.yaml, operation: days}", []string{"/body", "/headers", "/path"}},
		{"{url: http://h}", "{url: http://h, query: {a: 1}, path: {a: 1}, body: x}", nil},
		{"{url: http://h}", "{url: http://h, headers: {a: b}, accept_status: [404], openapi: x}", []string{"/accept_status", "/headers", "/openapi"}},
		{"{}", "{}", []string{"/url"}},
	} {
		s, err := def.ParamsFor(t.Context(), e, params(t, c.with))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range s.Check(params(t, c.found)) {
			got = append(got, p.Pointer)
		}
		if diff := cmp.Diff(c.problems, got); diff != "" {
			t.Errorf("%s: %s", c.with, diff)
		}
	}
	for with, kind := range map[string]calls.Kind{
		"{openapi: none.yaml, operation: days}": calls.NotFound,
		"{openapi: api.yaml, operation: none}":  calls.Invalid,
		"{openapi: api.yaml, operation: 3}":     calls.Invalid,
	} {
		if _, err := def.ParamsFor(t.Context(), e, params(t, with)); calls.KindOf(err) != kind {
			t.Errorf("%s: %v", with, err)
		}
	}
}

// TestLintHost: lint warns of a host that requests are sure to be refused to, once all of the host is known.
func TestLintHost(t *testing.T) {
	check, err := guard.NewHostCheck([]string{"127.0.0.1:8480"})
	if err != nil {
		t.Fatal(err)
	}
	document := func(server string) string {
		return "openapi: {openapi: 3.1.0, servers: [{url: '" + server + "'}], paths: {/x: {get: {operationId: x}}}}, operation: x"
	}
	for name, c := range map[string]struct{ with, beginning, want string }{
		"an address":               {with: "url: http://10.0.0.1/x", want: "/url: 10.0.0.1 is not a public host"},
		"localhost":                {with: "url: 'http://localhost:3000'", want: "/url: localhost (127.0.0.1) is not a public host"},
		"one that is allowed":      {with: "url: 'http://127.0.0.1:8480/x'"},
		"another port of it":       {with: "url: 'http://127.0.0.1:8481/x'", want: "/url: 127.0.0.1 is not a public host"},
		"the usual port":           {with: "url: https://127.0.0.1/x", want: "/url: 127.0.0.1 is not a public host"},
		"a public host":            {with: "url: https://shop.example.com/x"},
		"a path that is filled in": {with: "url: 'http://10.0.0.1/{id}', path: {id: null}", want: "/url: 10.0.0.1 is not a public host"},
		"a computed path":          {with: "url: null", beginning: "http://10.0.0.1/orders/", want: "/url: 10.0.0.1 is not a public host"},
		"a computed host":          {with: "url: null", beginning: "http://10.0.0."},
		"a computed url":           {with: "url: null"},
		"the server of a document": {with: document("http://10.0.0.1/v1"), want: "/openapi: 10.0.0.1 is not a public host"},
		"url instead of it":        {with: document("http://10.0.0.1/v1") + ", url: 'https://shop.example.com'"},
	} {
		t.Run(name, func(t *testing.T) {
			env := calls.LintEnv{CheckHost: check, Beginnings: map[string]string{"/url": c.beginning}}
			problems := httpcall.Definition().Lint(params(t, "{"+c.with+"}"), env)
			if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 || !problems[0].Warning) {
				t.Fatal(problems)
			}
			if c.want != "" && !strings.HasPrefix(schema.Problems(problems).Error(), c.want) {
				t.Error(problems)
			}
			env.CheckHost = nil
			if problems := httpcall.Definition().Lint(params(t, "{"+c.with+"}"), env); len(problems) > 0 {
				t.Errorf("without a policy: %v", problems)
			}
		})
	}
}
