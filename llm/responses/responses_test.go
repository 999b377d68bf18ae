package responses_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/llmtest"
	"github.com/callnode/scheduler/llm/responses"
)

func TestConformance(t *testing.T) {
	llmtest.Run(t, llmtest.Responses(), func(baseURL string) llm.Provider {
		p, err := responses.New(responses.Config{
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

const whole = `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`

// sent returns the body, the address and the headers of the request that is sent.
func sent(t *testing.T, config responses.Config, req *llm.Request) (body string, r *http.Request) {
	t.Helper()
	config.Transport = roundTrip(func(request *http.Request) (*http.Response, error) {
		text, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		body, r = string(text), request
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(whole)), Request: request}, nil
	})
	p, err := responses.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := llm.Collect(p.Chat(t.Context(), req)); err != nil || answer.Text != "ok" {
		t.Fatalf("got %q, %v", answer.Text, err)
	}
	return body, r
}

func messagesOf(t *testing.T, text string) (messages []llm.Message) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &messages); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return messages
}

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestInput(t *testing.T) {
	const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	const calls = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]`
	const items = `"response_items":[{"type":"reasoning","id":"rs_1","status":"completed","summary":[],"encrypted_content":"R1"},{"type":"message","phase":"commentary","bytes":5},` +
		`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"R2"},{"type":"function_call","call_id":"a"},{"type":"message","phase":"final_answer","bytes":4},` +
		`{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"R3"}]`
	text := func(role, kind, words string) string {
		return `{"type":"message","role":"` + role + `","content":[{"type":"` + kind + `","text":"` + words + `"}]}`
	}
	phased := func(words, phase string) string {
		return `{"type":"message","role":"assistant","phase":"` + phase + `","content":[{"type":"output_text","text":"` + words + `"}]}`
	}
	thought := func(sealed string) string {
		return `{"type":"reasoning","summary":[],"encrypted_content":"` + sealed + `"}`
	}
	const call = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
	tests := []struct{ name, messages, want string }{
		{"instructions in their place", `[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},{"role":"developer","content":[{"type":"text","text":"Rhyme.","cache_control":{}}]}]`,
			`[` + text("system", "input_text", "Be brief.") + `,` + text("user", "input_text", "hi") + `,` + text("developer", "input_text", "Rhyme.") + `]`},
		{"parts", `[{"role":"user","name":"Ann","content":[{"type":"text","text":""},{"type":"image_url","image_url":{"url":"` + png + `","detail":"low"}},{"type":"image_url","image_url":"https://a.example/x.png"},
			{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}},{"type":"input_audio","input_audio":{"data":"x"}}]},{"role":"user","content":""}]`,
			`[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"` + png + `","detail":"low"},{"type":"input_image","image_url":"https://a.example/x.png","detail":"auto"},
			{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="},{"type":"input_audio","input_audio":{"data":"x"}}]}]`},
		{"tools and their results", `[{"role":"user","content":"go"},{"role":"assistant","content":"Wait.","reasoning_content":"hm",` + calls + `},{"role":"tool","tool_call_id":"a","name":"f","content":"one"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"b","function":{"name":"g","arguments":" "}}]},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"two"}]},{"role":"tool","tool_call_id":"c","content":null}]`,
			`[` + text("user", "input_text", "go") + `,` + text("assistant", "output_text", "Wait.") + `,` + call + `,{"type":"function_call_output","call_id":"a","output":"one"},
			{"type":"function_call","call_id":"b","name":"g","arguments":"{}"},{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"two"}]},
			{"type":"function_call_output","call_id":"c","output":""}]`},
		{"items in their order", `[{"role":"assistant","content":"Wait.Done",` + calls + `,` + items + `}]`,
			`[` + thought("R1") + `,` + phased("Wait.", "commentary") + `,` + thought("R2") + `,` + call + `,` + phased("Done", "final_answer") + `]`},
		{"items of a text that was changed", `[{"role":"assistant","content":"Wait!!!",` + calls + `,` + items + `}]`,
			`[` + thought("R1") + `,` + phased("Wait!!!", "commentary") + `,` + thought("R2") + `,` + call + `]`},
		{"items of a call that was dropped, and one that was added", `[{"role":"assistant","content":"Wait.Done","tool_calls":[{"id":"a_2","function":{"name":"f","arguments":"{\"x\":1}"}}],` + items + `}]`,
			`[` + thought("R1") + `,` + phased("Wait.", "commentary") + `,` + thought("R2") + `,` + phased("Done", "final_answer") + `,` + thought("R3") + `,` + strings.Replace(call, `"a"`, `"a_2"`, 1) + `]`},
		{"thoughts that nobody can read", `[{"role":"user","content":"x"},{"role":"assistant","content":"Done","response_items":[{"type":"reasoning","id":"rs_1","summary":[{"text":"h"}]},{"type":"web_search_call","id":"ws_1"},{"type":"message","bytes":4}]}]`,
			`[` + text("user", "input_text", "x") + `,{"type":"web_search_call","id":"ws_1"},` + text("assistant", "output_text", "Done") + `]`},
		{"items of a content that is a list", `[{"role":"assistant","content":[{"type":"text","text":"Wait."},{"type":"refusal","refusal":"no"}],` + calls + `,` + items + `}]`,
			`[` + thought("R1") + `,{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Wait."},{"type":"refusal","refusal":"no"}]},` + thought("R2") + `,` + call + `]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, _ := sent(t, responses.Config{Model: "m"}, &llm.Request{Messages: messagesOf(t, tt.messages)})
			var got struct{ Input json.RawMessage }
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tt.want), decode(t, string(got.Input))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRequestMembers(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	req := llmtest.Request()
	req.Tools = []json.RawMessage{
		raw(`{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"x":{"type":"integer"}}},"strict":true}}`),
		raw(`{"type":"web_search"}`),
	}
	req.ResponseSchema = raw(`{"type":"object"}`)
	req.Extra = map[string]json.RawMessage{
		"tool_choice": raw(`{"type":"function","function":{"name":"f"}}`), "max_completion_tokens": raw("70"),
		"reasoning_effort": raw(`"low"`), "verbosity": raw(`"low"`), "metadata": raw(`{"a":"b"}`), "service_tier": raw("null"), "include": raw(`["x"]`),
	}
	body, r := sent(t, responses.Config{
		Model: "m", BaseURL: "https://a.example/base/v1/responses?q=1", APIKey: "sk-1", Headers: []endpoint.Header{{Name: "X-Title", Value: "b"}},
		Extra: map[string]json.RawMessage{"service_tier": raw(`"auto"`), "reasoning": raw(`{"summary":"auto"}`)},
	}, req)
	want := `{"model":"m","max_output_tokens":70,"stream":true,"store":false,"include":["x"],"metadata":{"a":"b"},
		"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Say hello."}]}],
		"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object","properties":{"x":{"type":"integer"}}},"strict":true},{"type":"web_search"}],
		"text":{"verbosity":"low","format":{"type":"json_schema","name":"answer","schema":{"type":"object"}}},
		"reasoning":{"effort":"low","summary":"auto"},"tool_choice":{"type":"function","name":"f"}}`
	if diff := cmp.Diff(decode(t, want), decode(t, body)); diff != "" {
		t.Errorf("body (-want +got)\n%s", diff)
	}
	if got := r.URL.String(); got != "https://a.example/base/v1/responses?q=1" {
		t.Errorf("asked %s", got)
	}
	if r.Header.Get("X-Title") != "b" || r.Header.Get("Authorization") != "Bearer sk-1" {
		t.Errorf("headers %v", r.Header)
	}
	for extra, want := range map[string]string{
		`{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"a":1},"strict":true}}}`: `"text":{"format":{"name":"n","schema":{"a":1},"strict":true,"type":"json_schema"}}`,
		`{"response_format":{"type":"json_object"},"text":{"verbosity":"high"}}`:                               `"text":{"format":{"type":"json_object"},"verbosity":"high"}`,
		`{"tool_choice":"required","reasoning_effort":null}`:                                                   `"tool_choice":"required"`,
		`{"text":null,"include":null}`:                                                                         `"store":false`,
	} {
		req := llmtest.Request()
		if err := json.Unmarshal([]byte(extra), &req.Extra); err != nil {
			t.Fatal(err)
		}
		body, r := sent(t, responses.Config{Model: "m"}, req)
		if !strings.Contains(body, want) || strings.Contains(body, `"reasoning"`) || r.URL.String() != "https://api.openai.com/v1/responses" {
			t.Errorf("%s: sent %s to %s", extra, body, r.URL)
		}
	}
}

func TestRefusesRequests(t *testing.T) {
	p, err := responses.New(responses.Config{Name: "test", Model: "m", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})})
	if err != nil {
		t.Fatal(err)
	}
	for messages, want := range map[string]string{
		`[]`:                                  "no messages",
		`[{"role":"user","content":""}]`:      "no messages",
		`["hi"]`:                              "messages/0",
		`[{"role":"function","content":"x"}]`: `no role "function"`,
		`[{"role":"user","content":5}]`:       "neither text nor a list",
		`[{"role":"user","content":["x"]}]`:   "content/0: a part is not an object",
		`[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]`:                                               "must be {url} or a text",
		`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,bm90IGFuIGltYWdl"}}]}]`: `sent as "image/png" is not an image`,
	} {
		_, err = llm.Collect(p.Chat(t.Context(), &llm.Request{Messages: messagesOf(t, messages)}))
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary || e.Provider != "test" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", messages, err, want)
		}
	}
}

// A model that refuses encrypted thoughts is asked for them once.
func TestRemembersRefusedThoughts(t *testing.T) {
	var asked []bool
	p, err := responses.New(responses.Config{Model: "m", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		text, _ := io.ReadAll(r.Body)
		withThoughts := strings.Contains(string(text), "include")
		asked = append(asked, withThoughts)
		status, body := http.StatusOK, whole
		if withThoughts {
			status, body = http.StatusBadRequest, `{"error":{"message":"Encrypted content is not supported with this model."}}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := llm.Collect(p.Chat(llm.SentOnce(t.Context()), llmtest.Request())); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]bool{true, false, false}, asked); diff != "" {
		t.Errorf("asked for thoughts (-want +got)\n%s", diff)
	}
}

func TestHints(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"too long","code":"context_length_exceeded"}}`:                                      "too long for the model",
		`{"error":{"message":"could not be verified","code":"invalid_encrypted_content"}}`:                       "leave response_items out",
		`{"error":{"message":"Invalid 'max_output_tokens': integer below minimum value."}}`:                      "16 or more",
		`{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model."}}`:         "leave temperature out",
		`{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"not_found"}}`: "",
	} {
		p, err := responses.New(responses.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		_, err = llm.Collect(p.Chat(t.Context(), llmtest.Request()))
		var e *llm.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, want) || want == "" && e.Hint != "" {
			t.Errorf("%s: hint of %+v, want %s", body, e, want)
		}
	}
}

func TestOpen(t *testing.T) {
	s := responses.Settings{}
	s.Name, s.Model, s.APIKeyEnv = "main", "m", "LLMTEST_KEY"
	if _, err := responses.Open(s); err == nil || !strings.Contains(err.Error(), "LLMTEST_KEY") {
		t.Errorf("without a key: %v", err)
	}
	t.Setenv("LLMTEST_KEY", "sk-secret-1")
	p, err := responses.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sk-secret-1"}, p.Secrets()); diff != "" {
		t.Error(diff)
	}
	if text := p.String(); text != "openai-responses provider main" {
		t.Errorf("printed as %s", text)
	}
}
