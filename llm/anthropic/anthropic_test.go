package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/anthropic"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/llmtest"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value/secret"
)

func TestConformance(t *testing.T) {
	// The vendor's own clients read these, and the provider must not.
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: 1")
	llmtest.Run(t, llmtest.Anthropic(), func(baseURL string) llm.Provider {
		p, err := anthropic.New(anthropic.Config{
			Name: "test", BaseURL: baseURL, APIKey: llmtest.APIKey, Model: llmtest.Model,
			MaxRetries: 2, RetryWait: time.Millisecond, Timeout: 5 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// roundTrip makes a transport from a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const whole = `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`

// sent returns the body, the address and the headers that are sent for a request.
func sent(t *testing.T, config anthropic.Config, req *llm.Request) (body string, r *http.Request) {
	t.Helper()
	config.Transport = roundTrip(func(request *http.Request) (*http.Response, error) {
		text, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		body, r = string(text), request
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(whole)), Request: request}, nil
	})
	p, err := anthropic.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := llm.Collect(p.Chat(t.Context(), req)); err != nil || answer.Text != "ok" {
		t.Fatalf("got %q, %v", answer.Text, err)
	}
	return body, r
}

func TestMessages(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	tests := []struct{ name, messages, system, want string }{
		{
			"instructions in front, and later ones as words of the user",
			`[{"role":"system","content":"Be brief."},{"role":"developer","content":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}]},
			  {"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"system","content":"Now rhyme."},{"role":"user","content":"go"}]`,
			`[{"text":"Be brief.","type":"text"},{"text":"Be kind.","cache_control":{"type":"ephemeral"},"type":"text"}]`,
			`[{"content":[{"text":"hi","type":"text"}],"role":"user"},{"content":[{"text":"hello","type":"text"}],"role":"assistant"},
			  {"content":[{"text":"Now rhyme.","type":"text"},{"text":"go","type":"text"}],"role":"user"}]`,
		},
		{"instructions alone", `[{"role":"system","content":"Say hello."}]`, ``, `[{"content":[{"text":"Say hello.","type":"text"}],"role":"user"}]`},
		{
			"tools and their results",
			`[{"role":"user","content":"go"},
			  {"role":"assistant","content":null,"content_blocks":[{"type":"thinking","thinking":"hm","signature":"s"}],"tool_calls":[
			    {"id":"a","type":"function","function":{"name":"f","arguments":"{\"b\":1.50,\"a\":[]}"}},
			    {"id":"b","type":"function","function":{"name":"g","arguments":""}},{"id":"c","type":"function","function":{"name":"h","arguments":"not JSON"}}]},
			  {"role":"tool","tool_call_id":"a","content":"one"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"two"}]},
			  {"role":"tool","tool_call_id":"c","content":""},{"role":"user","content":"and?"}]`, ``,
			`[{"content":[{"text":"go","type":"text"}],"role":"user"},
			  {"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"id":"a","input":{"b":1.50,"a":[]},"name":"f","type":"tool_use"},
			    {"id":"b","input":{},"name":"g","type":"tool_use"},{"id":"c","input":{"arguments":"not JSON"},"name":"h","type":"tool_use"}],"role":"assistant"},
			  {"content":[{"tool_use_id":"a","content":[{"text":"one","type":"text"}],"type":"tool_result"},
			    {"tool_use_id":"b","content":[{"text":"two","type":"text"}],"type":"tool_result"},{"tool_use_id":"c","type":"tool_result"},{"text":"and?","type":"text"}],"role":"user"}]`,
		},
		{
			"images and documents",
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,` + png + `"}},{"type":"image_url","image_url":"https://a.example/x.png"},
			  {"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERg=="}},{"type":"document","source":{"type":"url","url":"u"}},{"type":"text","text":""}]}]`, ``,
			`[{"content":[{"source":{"data":"` + png + `","media_type":"image/png","type":"base64"},"type":"image"},{"source":{"url":"https://a.example/x.png","type":"url"},"type":"image"},
			  {"source":{"data":"JVBERg==","media_type":"application/pdf","type":"base64"},"type":"document"},{"type":"document","source":{"type":"url","url":"u"}}],"role":"user"}]`,
		},
		{"the beginning of the answer", `[{"role":"user","content":"hi"},{"role":"assistant","content":"Once \n","cache_control":{"type":"ephemeral","ttl":"1h"}}]`, ``,
			`[{"content":[{"text":"hi","type":"text"}],"role":"user"},{"content":[{"text":"Once","cache_control":{"type":"ephemeral","ttl":"1h"},"type":"text"}],"role":"assistant"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var messages []llm.Message
			if err := json.Unmarshal([]byte(tt.messages), &messages); err != nil {
				t.Fatal(err)
			}
			body, _ := sent(t, anthropic.Config{Model: "m"}, &llm.Request{Messages: messages})
			var got struct{ System, Messages json.RawMessage }
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			for _, part := range []struct{ name, want, got string }{{"system", tt.system, string(got.System)}, {"messages", tt.want, string(got.Messages)}} {
				if diff := cmp.Diff(decode(t, part.want), decode(t, part.got)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", part.name, diff)
				}
			}
		})
	}
}

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestRequestMembers(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	req := llmtest.Request()
	req.Tools = []json.RawMessage{
		raw(`{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"x":{"type":"integer"}}},"strict":true}}`),
		raw(`{"type":"web_search_20250305","name":"web_search"}`),
	}
	req.ResponseSchema = raw(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`)
	req.Extra = map[string]json.RawMessage{
		"tool_choice": raw(`{"type":"function","function":{"name":"f"}}`), "stop": raw(`"END"`),
		"max_completion_tokens": raw("7"), "thinking": raw(`{"type":"adaptive"}`), "service_tier": raw("null"),
	}
	body, r := sent(t, anthropic.Config{
		Model: "m", BaseURL: "https://a.example/base/v1/", APIKey: "sk-1",
		Headers: []endpoint.Header{{Name: "Anthropic-Beta", Value: "b"}},
		Extra:   map[string]json.RawMessage{"service_tier": raw(`"auto"`), "cache_control": raw(`{"type":"ephemeral"}`)},
	}, req)
	want := `{"model":"m","max_tokens":7,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"Say hello."}]}],
		"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{"x":{"type":"integer"}}},"strict":true},{"type":"web_search_20250305","name":"web_search"}],
		"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"integer","description":"{minimum: 1}"}},"required":["n"],"additionalProperties":false}}},
		"tool_choice":{"type":"tool","name":"f"},"stop_sequences":["END"],"thinking":{"type":"adaptive"},"cache_control":{"type":"ephemeral"}}`
	if diff := cmp.Diff(decode(t, want), decode(t, body)); diff != "" {
		t.Errorf("body (-want +got)\n%s", diff)
	}
	if got := r.URL.String(); got != "https://a.example/base/v1/messages" {
		t.Errorf("asked %s", got)
	}
	if r.Header.Get("Anthropic-Beta") != "b" || r.Header.Get("X-Api-Key") != "sk-1" || r.Header.Get("Anthropic-Version") == "" {
		t.Errorf("headers %v", r.Header)
	}
	for choice, want := range map[string]string{`"auto"`: `{"type":"auto"}`, `"required"`: `{"type":"any"}`, `"none"`: `{"type":"none"}`, `{"type":"any"}`: `{"type":"any"}`} {
		req := llmtest.Request()
		req.Extra = map[string]json.RawMessage{"tool_choice": raw(choice)}
		body, _ := sent(t, anthropic.Config{Model: "m"}, req)
		if !strings.Contains(body, `"tool_choice":`+want) {
			t.Errorf("%s: sent %s", choice, body)
		}
	}
}

func TestRefusesRequests(t *testing.T) {
	never := roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})
	for messages, want := range map[string]string{
		`[]`:                                  "no messages",
		`[{"role":"user","content":""}]`:      "no messages",
		`["hi"]`:                              "messages/0",
		`[{"role":"function","content":"x"}]`: `no role "function"`,
		`[{"role":"user","content":5}]`:       "neither text nor a list",
		`[{"role":"user","content":["x"]}]`:   "content/0: a part is not an object",
		`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,bm90IGFuIGltYWdl"}}]}]`: `sent as "image/png" is not an image`,
	} {
		p, err := anthropic.New(anthropic.Config{Name: "test", Model: "m", Transport: never})
		if err != nil {
			t.Fatal(err)
		}
		var list []llm.Message
		if err := json.Unmarshal([]byte(messages), &list); err != nil {
			t.Fatal(err)
		}
		_, err = llm.Collect(p.Chat(t.Context(), &llm.Request{Messages: list}))
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary || e.Provider != "test" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", messages, err, want)
		}
	}
	p, err := anthropic.New(anthropic.Config{Transport: never})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Collect(p.Chat(t.Context(), llmtest.Request())); err == nil || !strings.Contains(err.Error(), "model") {
		t.Errorf("without a model: %v", err)
	}
}

// An answer with thoughts is recorded, played, and sent back as it was.
func TestCassette(t *testing.T) {
	const thoughtful = `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ok"}],` +
		`"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":2,"output_tokens":1}}`
	requests := 0
	inner, err := anthropic.New(anthropic.Config{
		Model: "m", Prices: llm.Prices{{Input: 1, Output: 1}},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(thoughtful)), Request: r}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.yaml")
	cassette, err := replay.Open(replay.Options{Path: path, Hidden: secret.NewSet(nil)})
	if err != nil {
		t.Fatal(err)
	}
	record := cassette.Record(replay.Header{})
	var answers []llm.Answer
	for _, p := range []llm.Provider{record.Provider("main", inner), cassette.Play(replay.Header{}, true).Provider("main", nil)} {
		answer, err := llm.Collect(p.Chat(t.Context(), llmtest.Request()))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
		if err := record.End(true); err != nil {
			t.Fatal(err)
		}
	}
	if requests != 1 || answers[0].Usage.Cost == 0 {
		t.Errorf("%d requests, a cost of %v", requests, answers[0].Usage.Cost)
	}
	answers[0].Usage.Cost, answers[1].Usage.Cost = 0, 0 // whether a played answer has one is the cassette's
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		t.Errorf("(-recorded +played)\n%s", diff)
	}
	if got := string(answers[1].Extra["content_blocks"]); !strings.Contains(got, `"signature":"s"`) {
		t.Errorf("the thoughts are lost: %s", got)
	}
}

func TestOpen(t *testing.T) {
	s := anthropic.Settings{MaxTokens: 5}
	s.Name, s.Model, s.APIKeyEnv = "main", "m", "LLMTEST_KEY"
	if _, err := anthropic.Open(s); err == nil || !strings.Contains(err.Error(), "LLMTEST_KEY") {
		t.Errorf("without a key: %v", err)
	}
	t.Setenv("LLMTEST_KEY", "sk-secret-1")
	p, err := anthropic.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sk-secret-1"}, p.Secrets()); diff != "" {
		t.Error(diff)
	}
	if text := p.String(); text != "anthropic provider main" {
		t.Errorf("printed as %s", text)
	}
	t.Setenv("LLMTEST_KEY", "two\nlines")
	if _, err := anthropic.Open(s); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("a key of two lines: %v", err)
	}
}
