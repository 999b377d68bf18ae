// Package llmtest is the conformance suite of providers: [Run] for providers that ask a server, against a local
// one that speaks their protocol and bends it as real ones do, for example with an error in the middle of a
// stream; [Basics] for any provider.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/callnode/scheduler/llm"
)

// Settings for the provider under test.
const (
	// APIKey is the key. The server echoes it, and no error may show it.
	APIKey = "sk-llmtest-0123456789/+x"
	// Model is the model of requests that name none.
	Model = "llmtest-model"
)

// Request returns a plain request: one user message.
func Request() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "Say hello.")}}
}

// Dialect is a protocol of servers, with the ways in which real ones bend it. [OpenAI]
// and [Anthropic] return one; it does not change.
type Dialect struct {
	// base is the end of the base URL, path the path of requests.
	base, path string
	// begin has the events before the first piece of text, text returns an event with a piece, end has the events
	// that complete an answer.
	begin []string
	text  func(piece string) string
	end   []string
	// usage is the usage that end reports.
	usage llm.Usage
	// quirks are the quirks of this protocol; the ones of any protocol are separate.
	quirks []quirk
	// request is the body that checkRequest demands for requestOfAll, and key the header that has the API key.
	request   map[string]any
	keyHeader string
	key       string
}

// wholeAnswer returns a whole stream with these pieces of text.
func (d *Dialect) wholeAnswer(pieces ...string) []string {
	events := slices.Clone(d.begin)
	for _, piece := range pieces {
		events = append(events, d.text(piece))
	}
	return append(events, d.end...)
}

// cutAnswer returns a stream that ends after a piece of text.
func (d *Dialect) cutAnswer(piece string) []string {
	return append(slices.Clone(d.begin), d.text(piece))
}

// Run checks a provider that asks a server of the dialect. open makes one for the API at baseURL with [APIKey] and
// [Model], streaming, with two retries after short waits and a timeout of a few seconds.
func Run(t *testing.T, dialect Dialect, open func(baseURL string) llm.Provider) {
	t.Helper()
	s := &suite{dialect, open}
	for _, q := range slices.Concat(s.commonQuirks(), dialect.quirks) {
		t.Run(q.name, func(t *testing.T) { s.checkQuirk(t, q) })
	}
	t.Run("request", s.checkRequest)
	t.Run("redirect to another host", s.checkRedirect)
	t.Run("break closes the request", func(t *testing.T) {
		s.checkEnds(t, func(_ context.CancelFunc, _ llm.Delta) bool { return false }, nil)
	})
	t.Run("cancel ends the answer", func(t *testing.T) {
		s.checkEnds(t, func(cancel context.CancelFunc, _ llm.Delta) bool { cancel(); return true }, context.Canceled)
	})
	t.Run("basics", func(t *testing.T) {
		server := s.startServer(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			writeStream(w, dialect.wholeAnswer("Hel", "lo")...)
		})
		Basics(t, func() llm.Provider { return open(server) })
	})
}

// suite is one [Run].
type suite struct {
	Dialect
	open func(baseURL string) llm.Provider
}

// Basics checks the rules for any provider. open makes one that answers [Request] with some text, however often it
// is asked.
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

// startServer starts a server that calls handle with the number of the request, from 1,
// and returns the base URL of its API.
func (s *suite) startServer(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int)) string {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != s.path || r.Method != http.MethodPost {
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
	return server.URL + s.base
}

// writeStream sends raw pieces of a text/event-stream, one by one.
func writeStream(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flushResponse(w)
	for _, piece := range pieces {
		io.WriteString(w, piece) //nolint:errcheck // the client may have gone
		flushResponse(w)
	}
}

func flushResponse(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
}

// quoteJSON returns s as a JSON string.
func quoteJSON(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(quoted)
}
