// Package llmtest is the conformance suite of providers: [Run] for those that talk
// to an OpenAI-compatible server, against a local server that bends the protocol
// in the ways real ones do; [Basics] for any provider.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/callnode/scheduler/llm"
)

// What the provider under test is to be configured with.
const (
	// APIKey is the key. The server echoes it, and no error may show it.
	APIKey = "sk-llmtest-0123456789/+x"
	// Model is the model of requests that name none.
	Model = "llmtest-model"
)

// Request is a plain request: one user message.
func Request() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "Say hello.")}}
}

// Run checks a provider of OpenAI-compatible servers. open makes one for the API
// at baseURL with [APIKey] and [Model], streaming, with two retries after short
// waits and a timeout of a few seconds.
func Run(t *testing.T, open func(baseURL string) llm.Provider) {
	t.Helper()
	for _, q := range quirks() {
		t.Run(q.name, func(t *testing.T) { q.run(t, open) })
	}
	t.Run("request", func(t *testing.T) { checkRequest(t, open) })
	t.Run("redirect to another host", func(t *testing.T) { checkRedirect(t, open) })
	t.Run("break closes the request", func(t *testing.T) {
		checkEnds(t, open, func(_ context.CancelFunc, _ llm.Delta) bool { return false }, nil)
	})
	t.Run("cancel ends the answer", func(t *testing.T) {
		checkEnds(t, open, func(cancel context.CancelFunc, _ llm.Delta) bool { cancel(); return true }, context.Canceled)
	})
	t.Run("basics", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { stream(w, hello...) })
		Basics(t, func() llm.Provider { return open(server) })
	})
}

// Basics checks what holds for any provider. open makes one that answers
// [Request] with some text, however often it is asked.
func Basics(t *testing.T, open func() llm.Provider) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := goleak.Find(leaks); err != nil {
			t.Error(err)
		}
	})
	provider := open()
	t.Run("answers", func(t *testing.T) {
		answer, err := llm.Collect(provider.Chat(t.Context(), Request()))
		if err != nil || answer.Text == "" {
			t.Errorf("got %q, %v", answer.Text, err)
		}
	})
	t.Run("a request is only read", func(t *testing.T) {
		req, before := Request(), Request()
		if _, err := llm.Collect(provider.Chat(t.Context(), req)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, req); diff != "" {
			t.Errorf("the provider changed its request (-before +after)\n%s", diff)
		}
	})
	t.Run("break", func(t *testing.T) {
		for _, err := range provider.Chat(t.Context(), Request()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
	t.Run("canceled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		answer, err := llm.Collect(provider.Chat(ctx, Request()))
		_ = checkError(t, err)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %q and error %v, want the context's", answer.Text, err)
		}
	})
	t.Run("concurrent", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := llm.Collect(provider.Chat(t.Context(), Request())); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// checkError demands a provider's error that shows no secret.
func checkError(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v (%T), want an *llm.Error", err, err)
	}
	if text := fmt.Sprintf("%v %+v %s", err, *e, e.Hint); strings.Contains(text, APIKey) {
		t.Errorf("the error shows the API key: %s", text)
	}
	return e
}

// serve starts a server that calls handle with the number of the request, from 1,
// and gives the base URL of its API.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int)) string {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
			http.Error(w, "no such path: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
			return
		}
		mu.Lock()
		n++
		this := n
		mu.Unlock()
		handle(w, r, this)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// stream sends raw pieces of a text/event-stream, one by one.
func stream(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush(w)
	for _, piece := range pieces {
		io.WriteString(w, piece) //nolint:errcheck // the client may have gone
		flush(w)
	}
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
}

// hello is a plain answer in two pieces.
var hello = []string{text("Hel"), text("lo"), finish("stop"), usage, done}

const (
	usage = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
	done  = "data: [DONE]\n\n"
)

// delta is an event whose choice has that delta.
func delta(members string) string {
	return `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + members + "},\"finish_reason\":null}]}\n\n"
}

func text(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return delta(`"content":` + string(quoted))
}

func finish(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + "\"}]}\n\n"
}
