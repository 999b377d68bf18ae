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

// checkRequest demands that everything in a request reaches the server.
func checkRequest(t *testing.T, open func(baseURL string) llm.Provider) {
	type seen struct {
		body   []byte
		header http.Header
	}
	requests := make(chan seen, 1)
	base := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- seen{body, r.Header}
		stream(w, hello...)
	})
	warm := 0.5
	_, err := llm.Collect(open(base).Chat(t.Context(), &llm.Request{
		Messages: []llm.Message{
			llm.Message(`{"role":"assistant","content":"a < b & c","reasoning_content":"hm","vendor":{"n":1.50}}`),
			llm.TextMessage("user", "你好"),
		},
		Temperature: &warm, MaxTokens: 9,
		Tools:          []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)},
		ResponseSchema: json.RawMessage(`{"type":"object"}`),
		Extra:          map[string]json.RawMessage{"top_k": json.RawMessage("3"), "max_tokens": json.RawMessage("5"), "stream_options": json.RawMessage("null")},
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := <-requests
	want := map[string]any{
		"model": Model, "stream": true, "temperature": 0.5, "max_tokens": 5.0, "top_k": 3.0,
		"messages": []any{
			map[string]any{"role": "assistant", "content": "a < b & c", "reasoning_content": "hm", "vendor": map[string]any{"n": 1.5}},
			map[string]any{"role": "user", "content": "你好"},
		},
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "f"}}},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "answer", "schema": map[string]any{"type": "object"},
		}},
	}
	var body map[string]any
	if err := json.Unmarshal(got.body, &body); err != nil {
		t.Fatalf("%v in %s", err, got.body)
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got)\n%s", diff)
	}
	if key := got.header.Get("Authorization"); key != "Bearer "+APIKey {
		t.Errorf("Authorization is %q", key)
	}
}

// checkRedirect demands that no other host gets the key.
func checkRedirect(t *testing.T, open func(baseURL string) llm.Provider) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host got the request")
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, other.URL+"/v1/chat/completions?k="+APIKey, status)
		})
		_, err := llm.Collect(open(base).Chat(t.Context(), Request()))
		if e := checkError(t, err); e.Status != status || e.Temporary {
			t.Errorf("got %+v", e)
		}
	}
}

// checkEnds demands that the server sees the request closed when the reader of
// the answer does what stop does at the first delta.
func checkEnds(t *testing.T, open func(baseURL string) llm.Provider, stop func(context.CancelFunc, llm.Delta) bool, want error) {
	closed := make(chan struct{})
	base := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		stream(w, text("Hel"))
		<-r.Context().Done()
		close(closed)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for d, err := range open(base).Chat(ctx, Request()) {
		if last = err; err != nil {
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
