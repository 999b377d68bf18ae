package http_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	httpcall "github.com/callnode/scheduler/calls/http"
	"github.com/callnode/scheduler/llm/value"
)

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

// Any value stays in its place: the host, the other segments and the other parameters come from the flow.
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
	const required = `{idempotency_header: X-Key, operation: pay, openapi: {openapi: 3.1.0, servers: [{url: 'http://h'}], paths: {/pay: {post: {operationId: pay, parameters: [` +
		`{name: x-key, in: header, required: true, schema: {type: string}}, {name: x-other, in: header, required: true, schema: {type: string}}]}}}}, headers: `
	if got, err := sent(t, e, required+"{x-other: o}}"); err != nil || !strings.Contains(got, "X-Key: r1/step[3]") {
		t.Errorf("a key that the operation requires: %q, %v", got, err)
	}
	if _, err := sent(t, e, required+"{}}"); err == nil || strings.Contains(err.Error(), "x-key") || !strings.Contains(err.Error(), "x-other") {
		t.Errorf("beside another header that is required: %v", err)
	}
	if problems := httpcall.Definition().Lint(params(t, required+"{x-other: o}}"), calls.LintEnv{}); len(problems) > 0 {
		t.Errorf("lint: %v", problems)
	}
}
