package http_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

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
		"no charset":        {200, "text/html", "<p>charset=gbk</p>\xc4\xe3", "is not text", true},
		"json in a charset": {200, "application/json; charset=gbk", "{\"a\":\"\xc4\xe3\"}", `{"a":"你"}`, false},
		"json with a mark":  {200, "application/json", "\xef\xbb\xbf[1]", `[1]`, false},
		"json in 16 bits":   {200, "text/json; charset=utf-16", "\xfe\xff\x00[\x00\"\x00\xfc\x00\"\x00]", `["ü"]`, false},
		"json, not UTF-8":   {200, "application/json", "[\"\xff\"]", "is not text", true},
		"lines of json":     {200, "application/x-ndjson", "1\n2\n", `"1\n2\n"`, false},
		"huge number":       {200, "application/json", "[1e999999999]", `[1e999999999]`, false},
		"deep":              {200, "application/json", strings.Repeat("[", 5000), "nested deeper", true},
		"empty":             {204, "", "", "null", false},
		"status":            {500, "text/html", "<b>oops</b>", `"<b>oops</b>"`, false},
		"no JSON":           {200, "application/json", "<html>", "said to be JSON", true},
		"no JSON, failing":  {502, "application/json", "<html>\xff", "\"<html>\uFFFD\"", false},
		"binary":            {200, "image/png", "\xff\x00", "is not text", true},
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
		"/away":   {calls.Invalid, "10.0.0.1 is not a public host"},
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
