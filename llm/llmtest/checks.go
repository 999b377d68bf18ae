package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
)

// requestOfAll returns a request that uses every field.
func requestOfAll() *llm.Request {
	warm := 0.5
	return &llm.Request{
		Messages: []llm.Message{
			llm.Message(`{"role":"assistant","content":"a < b & c","reasoning_content":"hm","vendor":{"n":1.50},"response_items":[],"content_blocks":[]}`),
			llm.TextMessage("user", "你好"),
		},
		Temperature: &warm, MaxTokens: 9,
		Tools:          []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)},
		ResponseSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
		Extra:          map[string]json.RawMessage{"top_k": json.RawMessage("3"), "max_tokens": json.RawMessage("5"), "stream_options": json.RawMessage("null")},
	}
}

// checkRequest demands that everything in a request reaches the server.
func (s *suite) checkRequest(t *testing.T) {
	type seen struct {
		body   []byte
		header http.Header
	}
	requests := make(chan seen, 1)
	base := s.startServer(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- seen{body, r.Header}
		writeStream(w, s.wholeAnswer("Hello")...)
	})
	if _, err := llm.Collect(s.open(base).Chat(t.Context(), requestOfAll())); err != nil {
		t.Fatal(err)
	}
	got := <-requests
	var body map[string]any
	if err := json.Unmarshal(got.body, &body); err != nil {
		t.Fatalf("%v in %s", err, got.body)
	}
	if diff := cmp.Diff(s.request, body); diff != "" {
		t.Errorf("body (-want +got)\n%s", diff)
	}
	if key := got.header.Get(s.keyHeader); key != s.key {
		t.Errorf("%s is %q", s.keyHeader, key)
	}
}

// checkRedirect demands that no other host gets the key.
func (s *suite) checkRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host got the request")
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		base := s.startServer(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, other.URL+s.path+"?k="+APIKey, status)
		})
		_, err := llm.Collect(s.open(base).Chat(t.Context(), Request()))
		if e := checkError(t, err); e.Status != status || e.Temporary {
			t.Errorf("got %+v", e)
		}
	}
}

// checkEnds demands that the server sees the request closed when the reader of the answer calls stop at the first
// delta.
func (s *suite) checkEnds(t *testing.T, stop func(context.CancelFunc, llm.Delta) bool, want error) {
	closed := make(chan struct{})
	base := s.startServer(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		writeStream(w, s.cutAnswer("Hel")...)
		<-r.Context().Done()
		close(closed)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for d, err := range s.open(base).Chat(ctx, Request()) {
		last = err
		if err != nil {
			_ = checkError(t, err)
			continue
		}
		if !stop(cancel, d) {
			break
		}
	}
	if !errors.Is(last, want) {
		t.Errorf("got error %v, want %v", last, want)
	}
	<-closed
}
