package http_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	httpcall "github.com/callnode/scheduler/calls/http"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, httpcall.Definition()) }

// doer answers requests without a network.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

func env(t *testing.T, d calls.HTTP) *calls.Env {
	t.Helper()
	e := calls.NewEnv()
	e.Dir, e.HTTP = t.TempDir(), d
	return e
}

func params(t *testing.T, with string) value.Value {
	t.Helper()
	if v, err := value.ParseJSON([]byte(with)); err == nil {
		return v
	}
	v, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func run(ctx context.Context, t *testing.T, e *calls.Env, with string) (value.Value, error) {
	t.Helper()
	def, v := httpcall.Definition(), params(t, with)
	if problems := def.Info.Params.Check(v); problems != nil {
		return value.Value{}, problems
	}
	call, err := def.New(v)
	if err != nil {
		return value.Value{}, err
	}
	input, err := call.Init(ctx, e.Vars)
	if err != nil {
		return value.Value{}, err
	}
	output, err := callstest.CollectOutput(call.Exec(ctx, e, input))
	if err == nil {
		if problems := def.Info.Output.Check(output); problems != nil {
			t.Errorf("the output does not fit its schema: %v", problems)
		}
	}
	return output, err
}

// sent writes the request that the parameters give as text.
func sent(t *testing.T, e *calls.Env, with string) (string, error) {
	t.Helper()
	var text strings.Builder
	e.HTTP = doer(func(req *http.Request) (*http.Response, error) {
		text.WriteString(req.Method + " " + req.URL.String())
		for _, name := range []string{"Content-Type", "X-Key", "X-Tenant"} {
			if v := req.Header.Get(name); v != "" {
				text.WriteString("\n" + name + ": " + v)
			}
		}
		if req.Body != nil {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			text.WriteString("\n\n" + string(body))
		}
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})
	_, err := run(t.Context(), t, e, with)
	return text.String(), err
}

func TestRequest(t *testing.T) {
	for with, want := range map[string]string{
		"url: http://h/p":                         "GET http://h/p",
		"{url: 'https://h/p?a=1', query: {b: 2}}": "GET https://h/p?a=1&b=2",
		"{url: http://h, query: {b: 1.50, a: [x y, true], n: null, z: 'ü&='}}":                                                "GET http://h?b=1.50&a=x+y&a=true&z=%C3%BC%26%3D",
		"{url: 'http://h/{a}/{b}?q', path: {a: 'x/../?#', b: [1, 2]}}":                                                        "GET http://h/x%2F..%2F%3F%23/1,2?q",
		"{url: 'http://h/%7Ba%7D?{b}'}":                                                                                       "GET http://h/%7Ba%7D?{b}",
		"{method: POST, url: http://h, body: {b: 1.0, a: 2}}":                                                                 "POST http://h\nContent-Type: application/json\n\n{\"b\":1.0,\"a\":2}",
		"{method: PUT, url: http://h, body: hello}":                                                                           "PUT http://h\nContent-Type: text/plain; charset=utf-8\n\nhello",
		"{method: PUT, url: http://h, body: ''}":                                                                              "PUT http://h\nContent-Type: text/plain; charset=utf-8\n\n",
		"{method: PUT, url: http://h, headers: {content-type: text/csv, X-Key: 7}, body: 'a,b'}":                              "PUT http://h\nContent-Type: text/csv\nX-Key: 7\n\na,b",
		"{method: PUT, url: http://h, headers: {Content-Type: application/x-www-form-urlencoded}, body: {a: [1, 2], b: x y}}": "PUT http://h\nContent-Type: application/x-www-form-urlencoded\n\na=1&a=2&b=x+y",
		"{method: PUT, url: http://h, headers: {Content-Type: application/merge-patch+json, X-Key: [a, b]}, body: [1]}":       "PUT http://h\nContent-Type: application/merge-patch+json\nX-Key: a,b\n\n[1]",
		"{url: http://h, headers: {X-Key: null}}":                                                                             "GET http://h",
	} {
		if got, err := sent(t, env(t, nil), with); err != nil || got != want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", with, got, err, want)
		}
	}
}

// Whatever a value is, it stays in its place: the host, the other segments and the
// other parameters are those of the flow.
func TestValuesStayInPlace(t *testing.T) {
	e := env(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./\\?#&=%@:;{}a]{1,8}`)).Draw(rt, "text")
		with := value.OfMap(value.Pairs("url", "http://h/a/{x}/b?q=1", "path", value.Pairs("x", text), "query", value.Pairs("p", text)))
		got, err := sent(t, e, with.JSON())
		if text == "" || text == "." || text == ".." {
			if err == nil {
				rt.Errorf("%q was sent: %s", text, got)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		u, err := url.Parse(strings.TrimPrefix(got, "GET "))
		if err != nil {
			rt.Fatal(err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		plain, err := url.PathUnescape(segments[2])
		if u.Host != "h" || len(segments) != 4 || err != nil || plain != text {
			rt.Errorf("%q gives %s", text, got)
		}
		if q := u.Query(); len(q) != 2 || q.Get("q") != "1" || q.Get("p") != text {
			rt.Errorf("%q gives %s", text, got)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	const with = "{url: http://h, idempotency_header: x-key}"
	e := env(t, nil)
	if got, err := sent(t, e, with); err != nil || got != "GET http://h" {
		t.Errorf("outside of a flow: %q, %v", got, err)
	}
	e.Path, e.Vars = "step[3]", &calls.Vars{Run: calls.Run{ID: "r1"}}
	if got, err := sent(t, e, with); err != nil || got != "GET http://h\nX-Key: r1/step[3]" {
		t.Errorf("in a flow: %q, %v", got, err)
	}
}

func TestInvalid(t *testing.T) {
	for with, want := range map[string]string{
		"{}":                                  "nowhere to send",
		"{operation: x}":                      "go together",
		"{openapi: x.yaml}":                   "go together",
		"{url: http://h, timeout: 30}":        "want string",
		"{url: http://h, timeout: soon}":      `invalid duration "soon"`,
		"{url: http://h, timeout: -1s}":       "invalid duration",
		"{url: http://h, headers: {host: x}}": "is made by the program",
		`{url: http://h, headers: {X-Key: "a\r\nX-Evil: hush"}}`:        `headers/"X-Key": the value has a line break`,
		"{url: http://h, headers: {X Key: a}}":                          `headers/"X Key": that is no name`,
		"{url: http://h, headers: {'': a}}":                             "that is no name",
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
		"{openapi: ../up.yaml, operation: x}":                                                            "escapes",
		"{openapi: ., operation: x}":                                                                     "not a regular file",
		"{openapi: {}, operation: x}":                                                                    "openapi: this is no OpenAPI 3 document",
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
		"{url: http://h, query: null, headers: {Host: null}}":    "the header Host is made by the program (take it out)",
		"{openapi: {openapi: 3.1.0}, operation: x, query: null}": `openapi: there is no operation "x": the document has none`,
		"{url: http://h, timeout: 5y}":                           `timeout: invalid duration "5y" (use 500ms or 30s)`,
		"{openapi: x.yaml, operation: x, query: null}":           "",
		"{query: {}}":             "",
		"{url: null}":             "",
		"{url: 5}":                "",
		"{operation: x}":          "openapi and operation go together: one of them is missing",
		"{url: http://h}":         "",
		"{timeout: null, url: x}": "",
	} {
		if got := schema.Problems(httpcall.Definition().Lint(params(t, with), calls.LintEnv{})).Error(); got != want {
			t.Errorf("%s: %s", with, got)
		}
	}
}

func serve(t *testing.T, h http.HandlerFunc) (*calls.Env, string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client, err := guard.NewClient([]string{"127.0.0.1:*"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return env(t, client), server.URL
}

func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string // the body as JSON, or an error
		fails      bool
	}{
		"json":              {200, "application/json", `{"b":1.50,"a":[]}`, `{"b":1.50,"a":[]}`, false},
		"problem":           {422, "application/problem+json; charset=utf-8", `{"b":1}`, `{"b":1}`, false},
		"text":              {200, "text/plain", "hé", `"hé"`, false},
		"no type":           {200, "", "hi", `"hi"`, false},
		"odd type":          {200, ";;", "hi", `"hi"`, false},
		"charset":           {200, "text/html; charset=GBK", "\xc4\xe3\xba\xc3", `"你好"`, false},
		"html in its own":   {200, "text/html", "<!doctype html><meta http-equiv=content-type content='text/html; charset=gb2312'>\xc4\xe3", `"<!doctype html><meta http-equiv=content-type content='text/html; charset=gb2312'>你"`, false},
		"xml in its own":    {200, "text/xml", "<?xml version='1.0' encoding='gbk'?><a>\xc4\xe3</a>", `"<?xml version='1.0' encoding='gbk'?><a>你</a>"`, false},
		"no charset":        {200, "text/html", "<p>charset=gbk</p>\xc4\xe3", "is no text", true},
		"json in a charset": {200, "application/json; charset=gbk", "{\"a\":\"\xc4\xe3\"}", `{"a":"你"}`, false},
		"json with a mark":  {200, "application/json", "\xef\xbb\xbf[1]", `[1]`, false},
		"json in 16 bits":   {200, "text/json; charset=utf-16", "\xfe\xff\x00[\x00\"\x00\xfc\x00\"\x00]", `["ü"]`, false},
		"json, not UTF-8":   {200, "application/json", "[\"\xff\"]", "is no text", true},
		"lines of json":     {200, "application/x-ndjson", "1\n2\n", `"1\n2\n"`, false},
		"huge number":       {200, "application/json", "[1e999999999]", `[1e999999999]`, false},
		"deep":              {200, "application/json", strings.Repeat("[", 5000), "nested deeper", true},
		"empty":             {204, "", "", "null", false},
		"status":            {500, "text/html", "<b>oops</b>", `"<b>oops</b>"`, false},
		"no JSON":           {200, "application/json", "<html>", "said to be JSON", true},
		"no JSON, failing":  {502, "application/json", "<html>\xff", "\"<html>\uFFFD\"", false},
		"binary":            {200, "image/png", "\xff\x00", "is no text", true},
		"forbidden charset": {200, "text/plain; charset=hz-gb-2312", "hello", "unknown charset", true},
		"another forbidden": {200, "application/json; charset=iso-2022-kr", "{}", "unknown charset", true},
		"said twice":        {200, "Application/JSON, application/json", `{"a":1}`, `{"a":1}`, false},
		"broken parameter":  {200, "application/json; charset", `{"a":1}`, `{"a":1}`, false},
		"charset in quotes": {200, "application/json; charset='utf-8'", `{"a":1}`, `{"a":1}`, false},
		"unknown charset":   {200, "text/plain; charset=klingon", "x", "unknown charset", true},
	} {
		t.Run(name, func(t *testing.T) {
			e, at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
				w.Header()["X-Many"] = []string{"a", "b"}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			output, err := run(t.Context(), t, e, "{url: '"+at+"', accept_status: [422, 500, 502]}")
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), c.want) || calls.KindOf(err) != calls.Provider {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			status, _ := output.Get("status")
			body, _ := output.Get("body")
			if status.JSON() != value.OfInt(int64(c.status)).JSON() || body.JSON() != c.want {
				t.Errorf("got %s", output)
			}
			cookies, _ := output.At("/headers/set-cookie")
			many, _ := output.At("/headers/x-many")
			if cookies.JSON() != `"a=1\nb=2"` || many.JSON() != `"a, b"` {
				t.Errorf("got %s and %s", cookies, many)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	e, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			select {
			case <-blocked:
			case <-r.Context().Done():
			}
		case "/big":
			io.WriteString(w, strings.Repeat("x", 1000))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1000 {
				_, _ = z.Write(make([]byte, 1<<16))
			}
			_ = z.Close()
		case "/packed":
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "x")
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "x")
		case "/away":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		default:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(map[string]int{"/404": 404, "/400": 400, "/503": 503, "/429": 429, "/500": 500}[r.URL.Path])
			io.WriteString(w, "\n no such city \nfor you")
		}
	})
	for path, want := range map[string]struct {
		kind calls.Kind
		text string
	}{
		"/slow":   {calls.Timeout, "no complete answer within 50ms"},
		"/big":    {calls.Budget, "more than 100 bytes"},
		"/bomb":   {calls.Budget, "more than 100 bytes"},
		"/packed": {calls.Provider, `compressed as "br"`},
		"/cut":    {calls.Provider, "reading the answer"},
		"/away":   {calls.Invalid, "10.0.0.1 is no public host"},
		"/404":    {calls.Provider, "/404: HTTP 404 Not Found: no such city"},
		"/400":    {calls.Provider, "HTTP 400"},
		"/500":    {calls.Provider, "HTTP 500"},
		"/503":    {calls.Provider, "HTTP 503"},
		"/429":    {calls.Provider, "HTTP 429"},
	} {
		timeout := "30s"
		if path == "/slow" {
			timeout = "50ms"
		}
		_, err := run(t.Context(), t, e, "{url: '"+at+path+"?token=hush', headers: {X-Key: hush}, timeout: "+timeout+", max_bytes: 100}")
		if calls.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %s %v", path, calls.KindOf(err), err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error tells a secret: %v", path, err)
		}
		var status *llm.Error
		if retried := path == "/503" || path == "/429"; errors.As(err, &status) && (status.Temporary != retried || status.RetryAfter != 7*time.Second) {
			t.Errorf("%s: %+v", path, status)
		}
	}
	_, err := run(t.Context(), t, e, "{url: 'http://127.0.0.1:1/?token=hush'}")
	if calls.KindOf(err) != calls.Provider || strings.Contains(err.Error(), "hush") {
		t.Errorf("nobody listens: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, t, e, "url: "+at+"/slow"); calls.KindOf(err) != calls.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := run(t.Context(), t, calls.NewEnv(), "url: https://example.com"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a network: %v", err)
	}
}

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
		"url: http://staging\nmethod: PUT":                                                 "PUT http://staging/cities/S%C3%A3o%20Paulo/days",
	} {
		got, err := sent(t, withAPI(t), base+more)
		if want += "\nContent-Type: application/merge-patch+json\nX-Tenant: t\n\n{\"n\":1}"; err != nil || got != want {
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
		if body = strings.ReplaceAll(body, boundary, "B"); err != nil || body != want {
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

// TestRefusedParameter: what the document describes wrongly cannot be given; the rest can.
func TestRefusedParameter(t *testing.T) {
	e := env(t, nil)
	doc := `{"openapi": "3.1.0", "servers": [{"url": "https://api.test"}], "paths": {"/x": {"get": {"operationId": "x", "parameters": [
  {"name": "bad", "in": "query", "schema": {"type": "string", "minLength": "\/"}}, {"name": "good", "in": "query", "schema": {"type": "integer"}}]}}}}`
	if err := os.WriteFile(filepath.Join(e.Dir, "api.json"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := sent(t, e, "{openapi: api.json, operation: x, query: {good: 1}}"); err != nil || !strings.HasPrefix(got, "GET https://api.test/x?good=1") {
		t.Errorf("got %q, %v", got, err)
	}
	for query, want := range map[string]string{"{bad: x}": "minLength", "{good: x}": "/query/good"} {
		if _, err := sent(t, e, "{openapi: api.json, operation: x, query: "+query+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
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
	} {
		if _, err := sent(t, withAPI(t), "{openapi: api.yaml, "+with+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
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

// What the document says of the operation is what tells a model what the parameters
// are for.
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
