package http_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	httpcall "github.com/callnode/scheduler/calls/http"
)

const api = `openapi: 3.1.0
servers: [{url: "https://api.test/v1/"}]
paths:
  /cities/{city}/days:
    post:
      operationId: days
      parameters:
        - {name: city, in: path, required: true, schema: {type: string}}
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: sp, in: query, style: spaceDelimited, explode: false, schema: {type: array}}
        - {name: pipe, in: query, style: pipeDelimited, explode: false, schema: {type: array}}
        - {name: many, in: query, schema: {type: array}}
        - {name: deep, in: query, style: deepObject, schema: {type: object}}
        - {name: flat, in: query, schema: {type: object}}
        - {name: tight, in: query, explode: false, schema: {type: object}}
        - {name: raw, in: query, allowReserved: true, schema: {type: string}}
        - {name: json, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: X-Tenant, in: header, required: true, schema: {type: string}}
        - {name: sid, in: cookie, required: true, schema: {type: string}}
      requestBody: {required: true, content: {application/merge-patch+json: {schema: {type: object, required: [n], properties: {n: {type: integer}}}}}}
  /nowhere: {get: {servers: [{url: /v2}], operationId: nowhere}}
  /hosted: {get: {servers: [{url: "https://{host}/"}], operationId: hosted}}
`

func withAPI(t *testing.T) *calls.Env {
	t.Helper()
	e := env(t, nil)
	if err := os.WriteFile(filepath.Join(e.Dir, "api.yaml"), []byte(api), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestOperation(t *testing.T) {
	const base = "openapi: api.yaml\noperation: days\npath: {city: 'São Paulo'}\nheaders: {x-tenant: t, Cookie: sid=1}\nbody: {n: 1}\n"
	for more, want := range map[string]string{
		"": "POST https://api.test/v1/cities/S%C3%A3o%20Paulo/days",
		"query: {ids: [1, 2], sp: [1, 2], pipe: [1, 2], many: [1, 2], other: x}":           "POST https://api.test/v1/cities/S%C3%A3o%20Paulo/days?ids=1,2&sp=1%202&pipe=1%7C2&many=1&many=2&other=x",
		"query: {deep: {a: 1, b: [x]}, flat: {a: 1}, tight: {a: 1, b: 2}, json: {a: [1]}}": "POST https://api.test/v1/cities/S%C3%A3o%20Paulo/days?deep%5Ba%5D=1&deep%5Bb%5D=x&a=1&tight=a,1,b,2&json=%7B%22a%22%3A%5B1%5D%7D",
		"query: {ids: [1], raw: 'a/b:c&d=e+f g#%é'}":                                       "POST https://api.test/v1/cities/S%C3%A3o%20Paulo/days?ids=1&raw=a/b:c%26d=e%2Bf+g%23%25%C3%A9",
		"query: {ids: null, many: null, json: null, raw: null, sp: [1]}":                   "POST https://api.test/v1/cities/S%C3%A3o%20Paulo/days?sp=1",
		"url: http://staging\nmethod: PUT":                                                 "PUT http://staging/cities/S%C3%A3o%20Paulo/days",
	} {
		got, err := sent(t, withAPI(t), base+more)
		want += "\nContent-Type: application/merge-patch+json\nX-Tenant: t\n\n{\"n\":1}"
		if err != nil || got != want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", more, got, err, want)
		}
	}
	e := withAPI(t)
	absolute := strings.Replace(base, "api.yaml", filepath.Join(e.Dir, "api.yaml"), 1)
	if _, err := sent(t, e, absolute); err != nil {
		t.Error(err)
	}
}

// TestParts: the members of a multipart form are parts, files have names.
func TestParts(t *testing.T) {
	e := env(t, nil)
	doc := `openapi: 3.0.3
servers: [{url: https://api.test}]
paths:
  /up:
    post:
      operationId: up
      requestBody:
        content:
          multipart/form-data:
            schema: {$ref: "#/components/schemas/Up"}
            encoding: {meta: {contentType: application/ld+json}}
components: {schemas: {Up: {type: object, required: [file], properties: {file: {type: string, format: binary}, tags: {type: array, items: {type: string}}, meta: {type: object}}}}}
`
	if err := os.WriteFile(filepath.Join(e.Dir, "api.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	const with = "{openapi: api.yaml, operation: up, body: {file: 'a\"b', pic: 'data:image/png;base64,QUJD', tags: [x, y], n: 1, meta: {k: v}, none: null}}"
	want := strings.ReplaceAll(`--B
Content-Disposition: form-data; name="file"; filename="file"
Content-Type: application/octet-stream

a"b
--B
Content-Disposition: form-data; name="pic"; filename="pic"
Content-Type: image/png

ABC
--B
Content-Disposition: form-data; name="tags"

x
--B
Content-Disposition: form-data; name="tags"

y
--B
Content-Disposition: form-data; name="n"

1
--B
Content-Disposition: form-data; name="meta"
Content-Type: application/ld+json

{"k":"v"}
--B--
`, "\n", "\r\n")
	for range 2 {
		got, err := sent(t, e, with)
		head, body, _ := strings.Cut(got, "\n\n")
		_, boundary, _ := strings.Cut(head, "Content-Type: multipart/form-data; boundary=")
		body = strings.ReplaceAll(body, boundary, "B")
		if err != nil || body != want {
			t.Errorf("%v\n%s\n%s", err, got, cmp.Diff(want, body))
		}
	}
	for body, want := range map[string]string{
		"{file: 'data:x;base64,?'}": "base64",
		"{tags: [x]}":               "/body/file",
		`{file: x, "a\nb": y}`:      "line break",
		"x":                         "/body: want object",
	} {
		if _, err := sent(t, e, "{openapi: api.yaml, operation: up, body: "+body+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

// TestPartsOfHeader: the type of a form in parts names its boundary, wherever the type comes from.
func TestPartsOfHeader(t *testing.T) {
	e := env(t, nil)
	for header, want := range map[string]string{
		"multipart/form-data":                           "",
		"Multipart/Form-Data; charset=utf-8":            "",
		"multipart/form-data; boundary=mine":            "mine",
		"'multipart/form-data; boundary=\"two words\"'": "two words",
	} {
		got, err := sent(t, e, "{method: POST, url: https://api.test/up, headers: {content-type: "+header+"}, body: {a: 1}}")
		head, body, _ := strings.Cut(got, "\n\n")
		_, said, _ := strings.Cut(head, "Content-Type: ")
		said, _, _ = strings.Cut(said, "\n")
		_, params, parseErr := mime.ParseMediaType(said)
		if err != nil || parseErr != nil || want != "" && params["boundary"] != want {
			t.Errorf("%s: %q, %v, %v", header, said, err, parseErr)
			continue
		}
		part, err := multipart.NewReader(strings.NewReader(body), params["boundary"]).NextPart()
		if err != nil || part.FormName() != "a" {
			t.Errorf("%s: %v\n%s", header, err, got)
		}
	}
	if _, err := sent(t, e, "{method: POST, url: https://api.test/up, headers: {content-type: 'multipart/form-data; boundary=\"a;b\"'}, body: {a: 1}}"); err == nil || !strings.Contains(err.Error(), "boundary") {
		t.Errorf("a boundary that cannot be used: %v", err)
	}
}

// TestRefusedParameter: a parameter that the document describes wrongly cannot be given; the rest can.
func TestRefusedParameter(t *testing.T) {
	e := env(t, nil)
	doc := `{"openapi": "3.1.0", "servers": [{"url": "https://api.test"}], "paths": {"/x": {"get": {"operationId": "x", "parameters": [
  {"name": "bad", "in": "query", "schema": {"type": "string", "minLength": "\/"}}, {"name": "good", "in": "query", "schema": {"type": "integer"}},
  {"$ref": "#/components/parameters/nowhere"}]}}}}`
	if err := os.WriteFile(filepath.Join(e.Dir, "api.json"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	var told warnings
	e.Warner = &told
	if got, err := sent(t, e, "{openapi: api.json, operation: x, query: {good: 1}}"); err != nil || !strings.HasPrefix(got, "GET https://api.test/x?good=1") {
		t.Errorf("got %q, %v", got, err)
	}
	if len(told) != 1 || !strings.Contains(told[0].Text, "nowhere") { // neither its type nor whether it is missing is known
		t.Errorf("got the warnings %v", told)
	}
	for query, want := range map[string]string{"{bad: x}": "minLength", "{good: x}": "/query/good"} {
		if _, err := sent(t, e, "{openapi: api.json, operation: x, query: "+query+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
}

// TestDraft2020: a document of OpenAPI 3.1 is read as draft 2020-12, for requests and for parameters that may be
// found out.
func TestDraft2020(t *testing.T) {
	e := env(t, nil)
	doc := `openapi: 3.1.0
servers: [{url: https://api.test}]
paths: {/x: {post: {operationId: x, requestBody: {content: {application/json: {schema: {prefixItems: [{type: integer}], items: {type: string}}}}}}}}`
	if err := os.WriteFile(filepath.Join(e.Dir, "api.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := httpcall.Definition().ParamsFor(t.Context(), e, params(t, "{openapi: api.yaml, operation: x}"))
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{"[1, a]": "", "[a, a]": "/body/0", "[1, 2]": "/body/1"} {
		_, err := sent(t, e, "{openapi: api.yaml, operation: x, body: "+body+"}")
		problems := s.Check(params(t, "{body: "+body+"}"))
		if want == "" && (err != nil || problems != nil) {
			t.Errorf("%s: %v, %v", body, err, problems)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || len(problems) != 1 || problems[0].Pointer != want) {
			t.Errorf("%s: %v, %v, want %s", body, err, problems, want)
		}
	}
}

// TestLintRefused: lint reports parameters that the document describes wrongly; as a warning if the request can go
// without it.
func TestLintRefused(t *testing.T) {
	dir := t.TempDir()
	doc := `openapi: 3.1.0
servers: [{url: https://api.test}]
paths:
  /x: {post: {operationId: x, parameters: [{name: a, in: query, schema: {minLength: x}}], requestBody: {content: {application/json: {schema: {minLength: x}}}}}}
  /y: {post: {operationId: y, parameters: [{name: a, in: query, required: true, schema: {minLength: x}}]}}`
	if err := os.WriteFile(filepath.Join(dir, "api.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		with   string
		isOpen bool
		want   []bool // whether each is a warning
	}{
		{"operation: x", true, []bool{true, true}},
		{"operation: x", false, nil}, // the step does not give them, and no one else can
		{"operation: x, query: null", false, []bool{true}},
		{"operation: x, query: {b: 1}", false, nil},
		{"operation: y", false, []bool{false}},
		{"operation: x, query: {a: 1}", false, []bool{false}},
		{"operation: x, query: {a: 1}", true, []bool{false, true}},
		{"operation: x, body: null", false, []bool{false}},
	} {
		var got []bool
		for _, p := range httpcall.Definition().Lint(params(t, "{openapi: api.yaml, "+c.with+"}"), calls.LintEnv{Dir: dir, IsOpen: c.isOpen}) {
			got = append(got, p.Warning)
			if p.Pointer != "/operation" || !strings.Contains(p.Message, "minLength") {
				t.Errorf("%s: %v", c.with, p)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %v: %s", c.with, c.isOpen, diff)
		}
	}
}

// warnings are the warnings of a run.
type warnings []calls.Warning

func (w *warnings) Warn(told calls.Warning) { *w = append(*w, told) }

// TestWarningsOfDocument: a dialect of the document's own, and patterns that cannot be checked, are warnings of lint and of a run, once.
func TestWarningsOfDocument(t *testing.T) {
	doc := "{openapi: 3.1.0, jsonSchemaDialect: 'https://example.com/own', servers: [{url: 'https://api.test'}], paths: {/x: {post: {operationId: x, parameters: [" +
		"{name: a, in: query, schema: {type: string, pattern: '^(?!-)a'}}, {name: b, in: query, schema: {type: string, pattern: '^(?!-)a'}}]}}}}"
	problems := httpcall.Definition().Lint(params(t, "{operation: x, openapi: "+doc+", query: {a: -a}}"), calls.LintEnv{})
	if len(problems) != 2 || problems[0].Pointer != "/openapi" || !problems[0].Warning || !problems[1].Warning ||
		!strings.Contains(problems[0].Message, `"https://example.com/own"`) || !strings.Contains(problems[1].Message, `the pattern "^(?!-)a" of the document is not checked`) {
		t.Error(problems)
	}
	e := env(t, doer(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}))
	var told warnings
	e.Warner = &told
	if _, err := run(t.Context(), t, e, "{operation: x, openapi: "+doc+"}"); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[0].Text != problems[0].Message || told[1].Text != problems[1].Message || told[1].Pointer != "/openapi" {
		t.Error(told)
	}
}

// TestLongDocument: documents may have 32 MiB, and a file that changes is read again.
func TestLongDocument(t *testing.T) {
	e := env(t, nil)
	file := filepath.Join(e.Dir, "api.json")
	write := func(path string, length int, age time.Duration) {
		head := `{"openapi": "3.1.0", "servers": [{"url": "https://api.test"}], "paths": {"` + path + `": {"get": {"operationId": "x"}}}, "x": "`
		text := head + strings.Repeat("x", length-len(head)-2) + `"}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path   string
		length int
		age    time.Duration
		want   string
	}{
		{"/a", 32 << 20, time.Hour, "GET https://api.test/a"},
		{"/b", 32 << 20, time.Minute, "GET https://api.test/b"},
		{"/c", 1 << 10, 0, "GET https://api.test/c"},
		{"/d", 1 << 10, 0, "GET https://api.test/d"},
	} {
		write(c.path, c.length, c.age)
		for range 2 {
			if got, err := sent(t, e, "{openapi: api.json, operation: x}"); err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %.80q, %v, want %s", got, err, c.want)
			}
		}
	}
	write("/e", 32<<20+1, time.Hour)
	if _, err := sent(t, e, "{openapi: api.json, operation: x}"); err == nil {
		t.Error("a longer document is read")
	}
}

func TestOperationFails(t *testing.T) {
	for with, want := range map[string]string{
		"operation: dys":  `did you mean "days"?`,
		"operation: days": "/body",
		"operation: days, path: {city: x}, body: {n: x}, headers: {X-Tenant: t}": "/body/n: want integer",
		"operation: days, path: {city: x}, body: {n: 1}":                         "/headers/X-Tenant",
		"operation: days, path: {city: x}, body: {n: 1}, headers: {X-Tenant: t}": "needs the cookie sid",
		"operation: days, path: {city: 5}, body: {n: 1}, headers: {X-Tenant: t}": "/path/city: want string",
		"operation: nowhere": "does not say on which server",
		"operation: hosted":  "the server https://{host}/ of the OpenAPI document has a {name} that no variable",
	} {
		if _, err := sent(t, withAPI(t), "{openapi: api.yaml, "+with+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
	}
}

// Of two operations of one name the last is not taken silently.
func TestRepeatedKey(t *testing.T) {
	e := env(t, nil)
	const text = `{"openapi": "3.1.0", "servers": [{"url": "https://api.test"}], "paths": {"/a": {"get": {"operationId": "x"}}, "/a": {"get": {"operationId": "y"}}}}`
	if err := os.WriteFile(filepath.Join(e.Dir, "api.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sent(t, e, "{openapi: api.json, operation: y}"); err == nil || !strings.Contains(err.Error(), `duplicate key "/a"`) {
		t.Errorf("got %v", err)
	}
}

// TestFormStyles: the lists of a form are written as the document says.
func TestFormStyles(t *testing.T) {
	const with = "{openapi: api.yaml, operation: up, body: {a: [1, 2], b: [3, 4], c: [5, 6], d: ['7', '8&'], e: x}}"
	for name, c := range map[string]struct{ doc, want string }{
		"OpenAPI 3": {`openapi: 3.0.3
servers: [{url: https://api.test}]
paths: {/up: {post: {operationId: up, requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object},
  encoding: {a: {explode: false}, b: {style: pipeDelimited}, c: {style: form}, e: {explode: false}}}}}}}}
`, "a=1,2&b=3%7C4&c=5&c=6&d=7&d=8%26&e=x"},
		"Swagger 2.0": {`swagger: "2.0"
info: {title: t, version: "1"}
host: api.test
schemes: [https]
parameters: {C: {name: c, in: formData, type: array, items: {type: integer}, collectionFormat: multi}}
paths: {/up: {post: {operationId: up, consumes: [application/x-www-form-urlencoded], parameters: [
  {name: a, in: formData, type: array, items: {type: integer}}, {name: b, in: formData, type: array, items: {type: integer}, collectionFormat: pipes},
  {$ref: "#/parameters/C"}, {name: d, in: formData, type: array, items: {type: string}, collectionFormat: csv}, {name: e, in: formData, type: string}]}}}
`, "a=1,2&b=3%7C4&c=5&c=6&d=7,8%26&e=x"},
	} {
		e := env(t, nil)
		if err := os.WriteFile(filepath.Join(e.Dir, "api.yaml"), []byte(c.doc), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := sent(t, e, with)
		_, body, _ := strings.Cut(got, "\n\n")
		if diff := cmp.Diff(c.want, strings.TrimSpace(body)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestLintArguments: known arguments are checked against the operation before anything runs; later ones are not.
func TestLintArguments(t *testing.T) {
	dir := t.TempDir()
	doc := `openapi: 3.1.0
servers: [{url: https://api.test}]
paths:
  /x/{id}:
    post:
      operationId: x
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, minLength: 2}}
        - {name: city, in: query, required: true, schema: {type: string}}
        - {name: days, in: query, schema: {type: integer, minimum: 1}}
        - {name: X-Unit, in: header, schema: {enum: [C, F]}}
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [n], properties: {n: {type: integer}, m: {type: integer}}}}}}`
	if err := os.WriteFile(filepath.Join(dir, "api.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = "path: {id: ab}, query: {city: x}, body: {n: 1}"
	for _, c := range []struct {
		with     string
		computed []string
		isOpen   bool
		want     []string
	}{
		{with: good},
		{with: "path: {id: a}, query: {city: 3, days: 0}, headers: {x-unit: K}, body: {m: 1}", want: []string{"/body/n", "/headers/x-unit", "/path/id", "/query/city", "/query/days"}},
		{with: "headers: {}", want: []string{"/body", "/path", "/query"}},
		{with: "headers: {}", isOpen: true},
		{with: "headers: {x-unit: K}", isOpen: true, want: []string{"/headers/x-unit"}},
		{with: "path: null, query: null, body: null", computed: []string{"/path", "/query", "/body"}},
		{with: "path: {id: null}, query: {city: null, days: x}, body: {n: 1, m: null}", computed: []string{"/path/id", "/query/city", "/body/m"}, want: []string{"/query/days"}},
		{with: "path: {id: ab, no: 1}, query: {city: x}, body: {n: 1}", want: []string{"/path/no"}},
		{with: good + ", url: 'https://h/{no}'", want: []string{"/url"}},
		{with: "path: {id: ab, a: 1}, query: {city: x}, body: {n: 1}, url: 'https://h/{a}'"},
		{with: "path: {id: ab}, query: {city: x, dayz: 1, key: k}, body: {n: 1}", want: []string{"/query/dayz?"}},
		{with: "path: {id: ab, no: 1}, query: {city: x, dayz: 1}, body: {n: 1}", want: []string{"/query/dayz?", "/path/no"}},
		{with: "path: {id: ab}, query: {city: x, dayz: 1}, body: {n: 1}, timeout: 5y", want: []string{"/timeout", "/query/dayz?"}},
	} {
		var got []string
		for _, p := range httpcall.Definition().CheckParams(params(t, "{openapi: api.yaml, operation: x, "+c.with+"}"), calls.LintEnv{Dir: dir, Computed: c.computed, IsOpen: c.isOpen}) {
			at := p.Pointer
			if p.Warning {
				at += "?"
			}
			got = append(got, at)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.with, diff)
		}
	}
}

// TestLintLeavesOpen: lint refuses nothing that may be given when the flow runs.
func TestLintLeavesOpen(t *testing.T) {
	doc := `openapi: {openapi: 3.1.0, servers: [{url: 'https://h'}], paths: {/x: {post: {operationId: x, parameters: [{name: X-Api-Key, in: header, required: true, schema: {type: string}}], ` +
		`requestBody: {content: {application/json: {schema: {type: object, minProperties: 2}}}}}}}}, operation: x, `
	for _, c := range []struct {
		with     string
		computed string
		isOpen   bool
		want     int
	}{
		{with: doc + "headers: {}", want: 1},
		{with: doc + "headers: {x-api-key: k}"},
		{with: doc + "headers: {x-api-key: null}", computed: "/headers/x-api-key"},
		{with: doc + "headers: {}, idempotency_header: null", computed: "/idempotency_header"},
		{with: doc + "headers: {}, idempotency_header: x-api-key"},
		{with: doc + "headers: {}, idempotency_header: other", want: 1},
		{with: doc + "headers: {x-api-key: k}, body: {a: 1}", want: 1},
		{with: doc + "headers: {x-api-key: k}, body: {a: 1}", isOpen: true},
		{with: "path: {id: 7}, url: 'https://h/'", isOpen: true, want: 1},
		{with: "path: {id: 7}", isOpen: true},
	} {
		problems := httpcall.Definition().Lint(params(t, "{"+c.with+"}"), calls.LintEnv{Computed: slices.DeleteFunc([]string{c.computed}, func(p string) bool { return p == "" }), IsOpen: c.isOpen})
		if len(problems) != c.want {
			t.Errorf("%s: got %v, want %d", c.with, problems, c.want)
		}
	}
}
