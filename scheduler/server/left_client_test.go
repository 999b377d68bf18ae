package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// leavingReader is the body of a request whose client leaves once it has sent it.
type leavingReader struct {
	text  io.Reader
	leave context.CancelFunc
}

// Read reads on, and lets the client leave at the end.
func (l *leavingReader) Read(b []byte) (int, error) {
	n, err := l.text.Read(b)
	if err != nil {
		l.leave()
	}
	return n, err
}

// countRuns returns how many runs lin has.
func (w *world) countRuns() int {
	w.t.Helper()
	items, _ := w.do(w.lin, "GET", "/api/v1/runs?limit=200", "").doc.Get("items")
	return len(items.List())
}

// TestWorkEndsWithItsRequest walks the document: each endpoint that takes a body stops working on it once its client has
// left. For example, a flow that no client waits for is not checked to its end, and no run begins.
func TestWorkEndsWithItsRequest(t *testing.T) {
	w := newWorld(t)
	w.renew()
	doc := w.do(w.lin, "GET", "/api/v1/openapi.json", "").doc
	known := requests()
	for _, op := range operations(t, doc) {
		r := known[op.id]
		if r.body == "" {
			continue
		}
		t.Run(op.id, func(t *testing.T) {
			w := &world{fixture: &fixture{t: t, base: w.base, store: w.store, server: w.server}, lin: w.lin, names: w.names}
			token := w.token("lin", store.Admin)
			if r.status == http.StatusForbidden {
				token = w.token("", store.Admin)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			body := &leavingReader{text: strings.NewReader(w.names.Replace(r.body)), leave: cancel}
			q := httptest.NewRequestWithContext(ctx, op.method, w.base+w.names.Replace(r.path), body)
			q.Header.Set("Authorization", "Bearer "+token)
			q.Header.Set("Content-Type", "application/json")
			if r.media != "" {
				q.Header.Set("Content-Type", r.media)
			}
			if r.header != nil {
				q.Header.Set(r.header[0], r.header[1])
			}
			before := w.countRuns()
			got := httptest.NewRecorder()
			w.server.ServeHTTP(got, q)
			if n := w.countRuns() - before; n != 0 {
				t.Errorf("%d runs have begun", n)
			}
			hasNoAnswer := got.Code == http.StatusOK && got.Body.Len() == 0 // the head of a stream that then ends
			if got.Code < http.StatusMultipleChoices && !hasNoAnswer {
				t.Errorf("the work is done: %d %s", got.Code, got.Body)
			}
		})
	}
}
