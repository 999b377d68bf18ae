package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/chat"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, chat.Definition()) }

// run runs the call with YAML parameters.
func run(t *testing.T, p llm.Provider, with string) (texts []string, output value.Value, err error) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	def := chat.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		return nil, output, problems
	}
	call, err := def.New(params)
	if err != nil {
		return nil, output, err
	}
	env := calls.NewEnv()
	env.LLM = p
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		return nil, output, err
	}
	for chunk, failure := range call.Exec(t.Context(), env, input) {
		switch {
		case failure != nil:
			return texts, output, failure
		case chunk.Data != nil:
			output = *chunk.Data
		default:
			texts = append(texts, chunk.Text)
		}
	}
	if problems := def.Info.Output.Check(output); problems != nil {
		t.Errorf("the output does not fit its schema: %v", problems)
	}
	return texts, output, nil
}

func TestRequest(t *testing.T) {
	p := scripted.Texts("ok")
	_, _, err := run(t, p, `
messages:
  - {role: system, content: Be kind., source: {id: 1}, name: rules}
  - {role: thinking, content: hm}
  - {role: user, content: [{type: text, text: 你好}], vendor: {n: 1.50}}
model: m
temperature: 0.50
max_tokens: 9
response_schema: {type: string}
tools: [{type: function, function: {name: f, parameters: {type: object}}}, {type: web_search}]
extra: {top_k: 3, stop: null}
`)
	if err == nil {
		t.Error("an answer that is no JSON string was accepted")
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	half := 0.5
	want := []*llm.Request{{
		Messages: []llm.Message{
			raw(`{"role":"system","content":"Be kind.","name":"rules"}`),
			raw(`{"role":"user","content":[{"type":"text","text":"你好"}],"vendor":{"n":1.50}}`),
		},
		Model: "m", Temperature: &half, MaxTokens: 9, ResponseSchema: raw(`{"type":"string"}`),
		Tools: []json.RawMessage{raw(`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`), raw(`{"type":"web_search"}`)},
		Extra: map[string]json.RawMessage{"top_k": raw("3"), "stop": raw("null")},
	}}
	if diff := cmp.Diff(want, p.Requests()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestShortForm(t *testing.T) {
	p := scripted.Texts("ok", "ok")
	for _, with := range []string{"{system: s, user: u}", "{user: u}"} {
		if _, _, err := run(t, p, with); err != nil {
			t.Fatal(err)
		}
	}
	user := llm.TextMessage("user", "u")
	for i, want := range [][]llm.Message{{llm.TextMessage("system", "s"), user}, {user}} {
		if diff := cmp.Diff(want, p.Requests()[i].Messages); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestOutput(t *testing.T) {
	usage := &llm.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 1}
	tests := []struct {
		name   string
		with   string
		answer scripted.Answer
		texts  []string
		want   string
	}{
		{
			"streamed", "user: hi",
			scripted.Answer{Deltas: []llm.Delta{{Reasoning: "hm"}, {Text: "Hel"}, {Text: "lo"}}, Usage: usage},
			[]string{"Hel", "lo"},
			`{"text":"Hello","tool_calls":[],"usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":1},"finish_reason":"stop","reasoning":"hm"}`,
		},
		{
			"tool calls and vendor fields", "{user: hi, response_schema: {type: object}}",
			scripted.Answer{
				Deltas: []llm.Delta{{Extra: map[string]json.RawMessage{"note": json.RawMessage(`[1]`)}}},
				ToolCalls: []llm.ToolCall{
					{ID: "a", Name: "f", Arguments: `{"x":1}`, Extra: map[string]json.RawMessage{"extra_content": json.RawMessage(`{"s":1}`)}},
					{ID: "b", Name: "g", Arguments: `{`},
				},
			},
			nil,
			`{"text":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"},"extra_content":{"s":1}},` +
				`{"id":"b","type":"function","function":{"name":"g","arguments":"{"}}],"usage":{"input_tokens":0,"output_tokens":0},"finish_reason":"tool_calls",` +
				`"extra":{"note":[1]},"warnings":["the arguments of the tool call b (g) are not JSON"]}`,
		},
		{
			"cut", "user: hi", scripted.Answer{Text: "Hel", FinishReason: "length"}, []string{"Hel"},
			`{"text":"Hel","tool_calls":[],"usage":{"input_tokens":0,"output_tokens":0},"finish_reason":"length","warnings":["the answer was cut at the limit of tokens: raise max_tokens"]}`,
		},
		{
			"filtered", "user: hi", scripted.Answer{FinishReason: "content_filter"}, nil,
			`{"text":"","tool_calls":[],"usage":{"input_tokens":0,"output_tokens":0},"finish_reason":"content_filter","warnings":["the vendor's content filter cut the answer"]}`,
		},
		{
			"empty", "messages: [{role: thinking, content: x}, {role: user, content: y}]", scripted.Answer{Text: " "}, []string{" "},
			`{"text":" ","tool_calls":[],"usage":{"input_tokens":0,"output_tokens":0},"finish_reason":"stop",` +
				`"warnings":["1 of the messages have the role thinking and were left out: models do not take it","the model gave no text"]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts, output, err := run(t, scripted.New(tt.answer), tt.with)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.texts, texts); diff != "" {
				t.Errorf("texts (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, output.JSON()); diff != "" {
				t.Errorf("output (-want +got)\n%s", diff)
			}
		})
	}
}

func TestResponseSchema(t *testing.T) {
	const order = "{user: hi, response_schema: {type: object, required: [n], properties: {n: {type: integer}}}}"
	tests := []struct{ name, with, text, want, fails string }{
		{name: "plain", text: `{"n": 1, "z": 1.50, "a": null}`, want: `{"n":1,"z":1.50,"a":null}`},
		{name: "fenced", text: "Here:\n```json\n{\"n\": 2}\n```\nBye.", want: `{"n":2}`},
		{name: "thoughts", text: "<think>{\"n\": 0}</think> {\"n\": 3}", want: `{"n":3}`},
		{name: "prose with brackets", text: `As [1] says {see below}: {"n": 4}.`, want: `{"n":4}`},
		{name: "the one that fits", text: `{"m": 1} {"n": 5}`, want: `{"n":5}`},
		{name: "a scalar", with: "{user: hi, response_schema: {type: integer}}", text: "42", want: "42"},
		{name: "null", with: "{user: hi, response_schema: {type: 'null'}}", text: "null", want: "null"},
		{name: "does not fit", text: `{"n": "x"}`, fails: "/n: want integer, got string"},
		{name: "a part is not the answer", text: `{"a": {"n": 1},}`, fails: "there is no JSON in it"},
		{name: "cut", text: `{"a": {"n": 1}, "b"`, fails: "there is no JSON in it"},
		{name: "no JSON", text: "Sorry, no.", fails: "there is no JSON in it"},
		{name: "nothing", text: "", fails: "there is no JSON in it"},
		{name: "brackets without end", text: strings.Repeat("[", 5000), fails: "there is no JSON in it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			with := tt.with
			if with == "" {
				with = order
			}
			_, output, err := run(t, scripted.Texts(tt.text), with)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || calls.KindOf(err) != calls.Provider || calls.HintOf(err) == "" {
					t.Errorf("got %v, want %s", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := output.Get("json"); got.JSON() != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	_, _, err := run(t, scripted.New(scripted.Answer{Text: "{", FinishReason: "length"}), order)
	if hint := calls.HintOf(err); !strings.Contains(hint, "max_tokens") {
		t.Errorf("hint %q of %v", hint, err)
	}
}

// TestDraftOfResponseSchema: $schema says how the answer is checked, the model does not get it.
func TestDraftOfResponseSchema(t *testing.T) {
	p := scripted.Texts(`[1]`)
	_, _, err := run(t, p, `{user: hi, response_schema: {$schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{type: string}]}}`)
	if err == nil || !strings.Contains(err.Error(), "/0: want string") {
		t.Errorf("got %v", err)
	}
	if got := string(p.Requests()[0].ResponseSchema); got != `{"prefixItems":[{"type":"string"}]}` {
		t.Errorf("the model got %s", got)
	}
}

func TestInvalid(t *testing.T) {
	for with, want := range map[string]string{
		"{}":                                                           "messages is not given, and user is empty",
		"{system: s}":                                                  "user is empty",
		"{user: ''}":                                                   "user is empty",
		"{user: u, messages: []}":                                      "use one",
		"{system: s, messages: []}":                                    "use one",
		"{messages: []}":                                               "messages is empty",
		"{messages: [null]}":                                           "want object, got null",
		"{messages: [hi]}":                                             "want object, got string",
		"{messages: [{content: x}]}":                                   "messages/0: the message has no role",
		"{messages: [{role: asistant}]}":                               `messages/0: unknown role "asistant" (did you mean "assistant"?)`,
		"{messages: [{role: robot}]}":                                  `messages/0: unknown role "robot" (known are system`,
		"{messages: [{role: user}]}":                                   "messages/0: the user message has no content",
		"{messages: [{role: assistant}]}":                              "messages/0: the assistant message has no content",
		"{messages: [{role: user, content: 5}]}":                       "messages/0: the content is of type integer",
		"{messages: [{role: thinking, content: x}]}":                   "messages is empty",
		"{user: u, temperature: 3}":                                    "temperature",
		"{user: u, max_tokens: 0}":                                     "max_tokens",
		"{user: u, response_schema: {type: strin}}":                    "response_schema: not a JSON Schema",
		"{user: u, tools: [{}]}":                                       "tools/0: the type is missing",
		"{user: u, tools: [{type: function, function: {}}]}":           "tools/0: function.name is missing",
		"messages: [{role: tool, tool_call_id: c, content: x}]":        `messages/0: the tool result is left out: no message before it calls "c"`,
		"{user: u, tools: [{type: x}, {type: function, name: get_x}]}": "tools/1: function.name is missing",
	} {
		_, _, err := run(t, scripted.Texts(), with)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
		var e *calls.Error
		if errors.As(err, &e) && e.Kind != calls.Invalid {
			t.Errorf("%s: kind %s", with, e.Kind)
		}
	}
}

func TestPairing(t *testing.T) {
	const asks = `{role: assistant, content: null, tool_calls: [{id: a, type: function, function: {name: f, arguments: "{}"}}, {id: b, type: function, function: {name: f, arguments: "{}"}}]}`
	for name, tt := range map[string]struct {
		messages string
		want     []string
	}{
		"paired": {asks + ", {role: tool, tool_call_id: b, content: x}, {role: thinking, content: y}, {role: tool, tool_call_id: a, content: x}, {role: user, content: z}",
			[]string{"1 of the messages have the role thinking and were left out: models do not take it"}},
		"unanswered": {"{role: user, content: x}, " + asks + ", {role: user, content: x}", []string{`messages/1: the tool call "a" is left out: no result follows it`, `messages/1: the tool call "b" is left out: no result follows it`}},
		"at the end": {asks + ", {role: tool, tool_call_id: a, content: x}", []string{`messages/0: the tool call "b" is left out: no result follows it`}},
		"unasked":    {"{role: user, content: x}, {role: tool, tool_call_id: c, content: x}", []string{`messages/1: the tool result is left out: no message before it calls "c"`}},
		"twice": {asks + ", {role: tool, tool_call_id: a, content: x}, {role: tool, tool_call_id: a, content: x}, {role: tool, tool_call_id: b, content: x}",
			[]string{`messages/2: the tool result is left out: it is another result of the call "a"`}},
		"without id": {"{role: user, content: x}, {role: tool, content: x}", []string{"messages/1: the tool result is left out: it has no tool_call_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, output, err := run(t, scripted.Texts("ok"), "messages: ["+tt.messages+"]")
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Warnings []string `json:"warnings"`
			}
			if err := value.Decode(output, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Warnings); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProviderFails(t *testing.T) {
	failure := &llm.Error{Provider: "p", Status: 400, Message: "no", Hint: "ask otherwise"}
	texts, _, err := run(t, scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "par"}}, Error: failure}), "user: hi")
	if !errors.Is(err, failure) || calls.KindOf(err) != calls.Provider || calls.HintOf(err) != "ask otherwise" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"par"}, texts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	stopped := scripted.New(scripted.Answer{Before: func(context.Context, *llm.Request) error { return context.DeadlineExceeded }})
	if _, _, err := run(t, stopped, "user: hi"); calls.KindOf(err) != calls.Timeout {
		t.Errorf("kind %s of %v", calls.KindOf(err), err)
	}
}
