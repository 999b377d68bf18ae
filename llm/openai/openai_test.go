package openai_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/llmtest"
	"github.com/callnode/scheduler/llm/openai"
	"github.com/callnode/scheduler/test/slow"
)

func TestConformance(t *testing.T) {
	llmtest.Run(t, llmtest.OpenAI(), func(baseURL string) llm.Provider {
		p, err := openai.New(openai.Config{
			Name: "test", BaseURL: baseURL, APIKey: llmtest.APIKey, Model: llmtest.Model,
			MaxRetries: 2, RetryWait: time.Millisecond, Timeout: 5 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		give openai.Config
	}{
		{"no scheme", openai.Config{BaseURL: "api.example.com/v1"}},
		{"another scheme", openai.Config{BaseURL: "ftp://api.example.com/v1"}},
		{"no URL", openai.Config{BaseURL: "https://[::1"}},
		{"key of two lines", openai.Config{BaseURL: "https://api.example.com", APIKey: "sk-secret\nsk-other"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openai.New(tt.give)
			if err == nil || strings.Contains(err.Error(), "sk-") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// roundTrip makes a transport from a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body string) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func ask(t *testing.T, config openai.Config, req *llm.Request) (llm.Answer, error) {
	t.Helper()
	if config.BaseURL == "" {
		config.BaseURL = "https://api.example.com/v1"
	}
	p, err := openai.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Collect(p.Chat(t.Context(), req))
}

func TestEndpoint(t *testing.T) {
	for give, want := range map[string]string{
		"https://a.example/v1":                          "https://a.example/v1/chat/completions",
		"https://a.example/v1/":                         "https://a.example/v1/chat/completions",
		"https://a.example":                             "https://a.example/chat/completions",
		"https://a.example/v1/chat/completions":         "https://a.example/v1/chat/completions",
		"https://a.example/openai?api-version=2026-1-1": "https://a.example/openai/chat/completions?api-version=2026-1-1",
	} {
		_, err := ask(t, openai.Config{BaseURL: give, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if got := r.URL.String(); got != want {
				t.Errorf("%s: asks %s, want %s", give, got, want)
			}
			return respond(200, `{"choices":[{"message":{"content":"a"}}]}`)(r)
		})}, llmtest.Request())
		if err != nil {
			t.Error(err)
		}
	}
}

func TestConfiguredBody(t *testing.T) {
	_, err := ask(t, openai.Config{
		NoStream: true, Model: "m", Extra: map[string]json.RawMessage{"seed": json.RawMessage("1"), "top_k": json.RawMessage("2")},
		Headers: []endpoint.Header{{Name: "Authorization", Value: "Key abc"}, {Name: "X-Title", Value: "t"}}, APIKey: "sk-1",
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if want := `{"messages":[{"role":"user","content":"Say hello."}],"model":"other","seed":1,"stream":false,"top_k":3}`; string(body) != want || err != nil {
				t.Errorf("body %s, want %s", body, want)
			}
			if r.Header.Get("Authorization") != "Key abc" || r.Header.Get("X-Title") != "t" {
				t.Errorf("headers %v", r.Header)
			}
			return respond(200, `{"choices":[{"message":{"content":"a"}}]}`)(r)
		}),
	}, &llm.Request{Model: "other", Messages: llmtest.Request().Messages, Extra: map[string]json.RawMessage{"top_k": json.RawMessage("3")}})
	if err != nil {
		t.Error(err)
	}
}

func TestCost(t *testing.T) {
	const answer = `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":10,"cost":0.5}}`
	prices := llm.Prices{{Model: "priced", Input: 2, Output: 10}}
	for model, want := range map[string]float64{"priced": 0.0021, "other": 0.5} {
		req := llmtest.Request()
		req.Model = model
		got, err := ask(t, openai.Config{Transport: respond(200, answer), Prices: prices}, req)
		if err != nil || got.Usage.Cost != want {
			t.Errorf("%s: the cost is %v, want %v (%v)", model, got.Usage.Cost, want, err)
		}
	}
}

func TestRefusesRequests(t *testing.T) {
	never := roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})
	for name, req := range map[string]*llm.Request{
		"no messages": {},
		"no JSON":     {Messages: []llm.Message{llm.Message("{")}},
	} {
		_, err := ask(t, openai.Config{Transport: never}, req)
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSecretsStayOut(t *testing.T) {
	config := openai.Config{
		BaseURL: "https://user:p4ssword@api.example.com/v1?key=urlkey123",
		APIKey:  "sk-abc/def+ghi", Headers: []endpoint.Header{{Name: "X-Api-Key", Value: "headkey123"}, {Name: "Proxy-Authorization", Value: "Basic c2VjcmV0"}},
	}
	echo := "sk-abc/def+ghi sk-abc%2Fdef%2Bghi headkey123 c2VjcmV0 urlkey123 p4ssword"
	for name, transport := range map[string]roundTrip{
		"refused":    respond(400, `{"error":{"message":"`+echo+`"}}`),
		"plain":      respond(500, echo),
		"no answer":  respond(200, echo),
		"in stream":  respond(200, `data: {"error":{"message":"`+echo+`"}}`+"\n\n"),
		"bad event":  respond(200, "data: {"+echo+"\n\n"),
		"connection": func(*http.Request) (*http.Response, error) { return nil, errors.New("dialing: " + echo) },
	} {
		config.Transport = transport
		_, err := ask(t, config, llmtest.Request())
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: got %v", name, err)
		}
		for _, secret := range append(strings.Fields(echo), "api.example.com") {
			if text := e.Error() + e.Hint; strings.Contains(text, secret) {
				t.Errorf("%s: %q shows %s", name, text, secret)
			}
		}
	}
	p, err := openai.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %s", p, p, p); strings.Contains(text, "sk-") {
		t.Errorf("printing shows the key: %s", text)
	}
}

// silent is a body that never comes until it is closed.
type silent struct {
	head io.Reader
	ctx  context.Context
}

func (s silent) Read(b []byte) (int, error) {
	if n, err := s.head.Read(b); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s silent) Close() error { return nil }

func TestSilence(t *testing.T) {
	const started = `data: {"choices":[{"delta":{"content":"Hel"}}]}` + "\n\n"
	const finished = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	stall := func(head string) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: silent{strings.NewReader(head), r.Context()}}, nil
		}
	}
	for name, tt := range map[string]struct {
		transport roundTrip
		text      string
		fails     bool
	}{
		"before the response": {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, "", true},
		"before the answer":   {stall(""), "", true},
		"in the answer":       {stall(started), "Hel", true},
		"after the answer":    {stall(started + finished), "Hel", false},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := ask(t, openai.Config{Transport: tt.transport, Timeout: 20 * time.Millisecond}, llmtest.Request())
			var e *llm.Error
			if tt.fails != errors.As(err, &e) || tt.fails && (!e.Temporary || !strings.Contains(e.Message, "no data")) {
				t.Errorf("got %v", err)
			}
			if answer.Text != tt.text {
				t.Errorf("text %q, want %q", answer.Text, tt.text)
			}
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := openai.New(openai.Config{
		BaseURL: "https://api.example.com", MaxRetries: 5, RetryWait: time.Minute / 2,
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			time.AfterFunc(10*time.Millisecond, cancel)
			return respond(503, "busy")(r)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.Collect(p.Chat(ctx, llmtest.Request()))
	var e *llm.Error
	if !errors.As(err, &e) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestConnectionErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		err       error
		temporary bool
		unsent    bool
	}{
		"refused":     {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true, true},
		"closed":      {io.EOF, true, false},
		"reset":       {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, false},
		"no host":     {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, false, true},
		"certificate": {&tls.CertificateVerificationError{Err: errors.New("expired")}, false, true},
	} {
		calls := 0
		_, err := ask(t, openai.Config{MaxRetries: 1, RetryWait: time.Millisecond, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			calls++
			return nil, tt.err
		})}, llmtest.Request())
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary != tt.temporary || e.Unsent != tt.unsent || e.Hint == "" {
			t.Errorf("%s: got %+v", name, e)
		}
		if want := map[bool]int{true: 2, false: 1}[tt.temporary]; calls != want {
			t.Errorf("%s: %d attempts, want %d", name, calls, want)
		}
	}
}

// endless repeats a text.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestBounds(t *testing.T) {
	for name, text := range map[string]string{
		"one event": "data: " + strings.Repeat("x", 1<<16),
		"the whole": ": " + strings.Repeat("x", 1<<16) + "\n\n",
	} {
		_, err := ask(t, openai.Config{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(&endless{text: text})}, nil
		})}, llmtest.Request())
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary || !strings.Contains(e.Message, "too long") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestHints(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"Use 'max_completion_tokens' instead."}}`:            "max_completion_tokens: ...",
		`{"error":{"message":"too long","code":"context_length_exceeded"}}`:       "too long for the model",
		`{"error":{"message":"no money","type":"x","code":"insufficient_quota"}}`: "no credit",
	} {
		_, err := ask(t, openai.Config{Transport: respond(400, body)}, llmtest.Request())
		var e *llm.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: hint of %+v, want %s", body, e, want)
		}
	}
	for status, want := range map[int]string{401: "API key", 404: "name of the model", 413: "too large", 308: "base_url", 400: ""} {
		_, err := ask(t, openai.Config{Transport: respond(status, "")}, llmtest.Request())
		var e *llm.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, want) || want == "" && e.Hint != "" || e.Status != status {
			t.Errorf("%d: hint of %+v, want %s", status, e, want)
		}
	}
}

// An answer that does not end is cut off, before anybody joins megabytes.
func TestEndlessAnswer(t *testing.T) {
	word := strings.Repeat("word ", 20_000)
	calls := strings.Repeat(`{"id":"","function":{"name":"f"}},`, 2000) + `{"function":{"name":"f"}}`
	tests := []struct{ name, chunk, limit string }{
		{"text", `{"content":"` + word + `"}`, "4 MB"},
		{"thoughts", `{"reasoning":"` + word + `"}`, "4 MB"},
		{"arguments", `{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"` + word + `"}}]}`, "4 MB"},
		{"tool calls", `{"tool_calls":[` + calls + `]}`, "1024 tool calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name != "text" {
				slow.Test(t)
			}
			chunk := `data: {"choices":[{"delta":` + tt.chunk + "}]}\n\n"
			endless := func() (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(&repeat{text: chunk})}, nil
			}
			requests := 0
			answer, err := ask(t, openai.Config{MaxRetries: 2, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				requests++
				return endless()
			})}, llmtest.Request())
			var e *llm.Error
			if !errors.As(err, &e) || e.Temporary || e.Hint == "" || !strings.Contains(e.Message, tt.limit) || requests != 1 {
				t.Errorf("%d requests: %v", requests, err)
			}
			if n := len(answer.Text) + len(answer.Reasoning); n > 4<<20 {
				t.Errorf("%d bytes were passed on", n)
			}
		})
	}
}

// repeat reads a text again and again.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(b []byte) (int, error) {
	n := copy(b, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}
