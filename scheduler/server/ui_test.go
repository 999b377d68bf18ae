package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/callnode/scheduler/scheduler/server"
)

// zipped returns a file as the page's files are kept.
func zipped(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

// newPageFixture starts a server with a page of two files.
func newPageFixture(t *testing.T) *fixture {
	page := fstest.MapFS{
		"index.html.gz":     zipped(t, `<html nonce="NONCE-OF-THIS-ANSWER">page</html>`),
		"assets/a-12.js.gz": zipped(t, "let a = 1"),
		"icon.svg.gz":       zipped(t, "<svg/>"),
	}
	return newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Page = page })
}

// getPage returns the answer to a request as a browser sends it, and its body as it came.
func getPage(t *testing.T, f *fixture, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*")
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestPage checks the page in the browser: its document for every path that is not the API's, without a login,
// with a nonce of its own.
func TestPage(t *testing.T) {
	f := newPageFixture(t)
	nonces := map[string]bool{}
	for _, path := range []string{"/", "/runs", "/runs/01a2", "/flows/sub~wait", "/login"} {
		answer, text := getPage(t, f, http.MethodGet, path)
		policy := answer.Header.Get("Content-Security-Policy")
		_, nonce, _ := strings.Cut(text, `nonce="`)
		nonce, _, _ = strings.Cut(nonce, `"`)
		if answer.StatusCode != http.StatusOK || len(nonce) < 16 || !strings.Contains(policy, "'nonce-"+nonce+"'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d, nonce %q, policy %q", path, answer.StatusCode, nonce, policy)
		}
		nonces[nonce] = true
	}
	if len(nonces) != 5 {
		t.Errorf("5 answers have %d nonces", len(nonces))
	}
	for path, status := range map[string]int{
		"/api/v1/nothing": http.StatusNotFound, "/assets/gone.js": http.StatusNotFound, "/api/v1/runs": http.StatusUnauthorized, "/login?code=wrong": http.StatusUnauthorized,
	} {
		if answer, text := getPage(t, f, http.MethodGet, path); answer.StatusCode != status || strings.Contains(text, "page") {
			t.Errorf("%s: %d %q, want %d", path, answer.StatusCode, text, status)
		}
	}
	if answer, _ := getPage(t, f, http.MethodGet, "/nothing", "Accept", "application/json"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a program gets %d for an unknown path", answer.StatusCode)
	}
	if answer, _ := getPage(t, f, http.MethodPost, "/runs"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("POST of a page: %d", answer.StatusCode)
	}
}

// TestPageAssets checks that files with a hash in their name are kept for good, and that a
// client that cannot inflate them gets them plain.
func TestPageAssets(t *testing.T) {
	f := newPageFixture(t)
	for encoding, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "*": "gzip", "gzip;q=0": "", "br": "", "identity": ""} {
		answer, text := getPage(t, f, http.MethodGet, "/assets/a-12.js", "Accept-Encoding", encoding)
		if got := answer.Header.Get("Content-Encoding"); got != want || (got == "") != (text == "let a = 1") {
			t.Errorf("Accept-Encoding %q: Content-Encoding %q, body %q", encoding, got, text)
		}
		if cache := answer.Header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
			t.Errorf("Cache-Control %q", cache)
		}
	}
	if answer, text := getPage(t, f, http.MethodGet, "/icon.svg"); text != "<svg/>" || answer.Header.Get("Cache-Control") != "no-cache" || answer.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("icon: %q %v", text, answer.Header)
	}
}

// TestNoPage checks that a server without a page names the place of its API's description.
func TestNoPage(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	if answer, text := getPage(t, f, http.MethodGet, "/"); answer.StatusCode != http.StatusOK || !strings.Contains(text, "openapi.json") {
		t.Errorf("%d %q", answer.StatusCode, text)
	}
	if answer, _ := getPage(t, f, http.MethodGet, "/runs"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("/runs: %d", answer.StatusCode)
	}
}

// TestBrokenPage checks that a missing build of the page is reported at the start.
func TestBrokenPage(t *testing.T) {
	for name, page := range map[string]fstest.MapFS{"empty": {}, "plain": {"index.html": {Data: []byte("x")}}} {
		if _, err := server.New(server.Options{Page: page}); err == nil || !strings.Contains(err.Error(), "make web") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGuides reads the guides as the page and as a model does, without a token.
func TestGuides(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/llms.txt":                     "- [Tutorial](/docs/tutorial.md)",
		"/docs/tutorial.md":             "# Tutorial\n",
		"/docs/tutorial.md?language=zh": "# 教程\n",
		"/docs/zh/tutorial.md":          "# 教程\n",
		"/docs/zh/README.md":            "# 指南\n",
		"/docs/compare.md?language=zh":  "# How it compares\n",
		"/docs/README.md":               "# Guides\n",
	} {
		answer := w.do("", "GET", path, "")
		if answer.status != 200 || !strings.Contains(answer.text, want) {
			t.Errorf("%s: status %d, without %q", path, answer.status, want)
		}
	}
	for _, path := range []string{"/docs/nothing.md", "/docs/tutorial", "/docs/..%2fREADME.md"} {
		if answer := w.do("", "GET", path, ""); answer.status != 404 {
			t.Errorf("%s: status %d", path, answer.status)
		}
	}
}
