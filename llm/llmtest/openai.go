package llmtest

import (
	"encoding/json"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// OpenAI returns the dialect of the chat-completions API, as the many servers speak it that
// call themselves compatible.
func OpenAI() Dialect {
	counted := llm.Usage{InputTokens: 7, OutputTokens: 2, CachedTokens: 4}
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted}
	return Dialect{
		base: "/v1", path: "/v1/chat/completions",
		text:   textEvent,
		end:    []string{finishEvent("stop"), usage, done},
		usage:  counted,
		quirks: append(append(append(streamQuirks(plain), bodyQuirks(plain)...), toolQuirks()...), failingQuirks(plain)...),
		request: map[string]any{
			"model": Model, "stream": true, "temperature": 0.5, "max_tokens": 5.0, "top_k": 3.0,
			"messages": []any{
				map[string]any{"role": "assistant", "content": "a < b & c", "reasoning_content": "hm", "vendor": map[string]any{"n": 1.5}},
				map[string]any{"role": "user", "content": "你好"},
			},
			"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "f"}}},
			"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
				"name": "answer", "schema": map[string]any{"type": "object", "additionalProperties": false},
			}},
		},
		keyHeader: "Authorization", key: "Bearer " + APIKey,
	}
}

const (
	usage = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
	done  = "data: [DONE]\n\n"
)

// deltaEvent returns an event with a choice of that delta.
func deltaEvent(members string) string {
	return `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + members + "},\"finish_reason\":null}]}\n\n"
}

func textEvent(s string) string { return deltaEvent(`"content":` + quoteJSON(s)) }

func finishEvent(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + "\"}]}\n\n"
}

// streamQuirks are streams that are bent and whole.
func streamQuirks(plain llm.Answer) []quirk {
	hello := []string{textEvent("Hel"), textEvent("lo"), finishEvent("stop"), usage, done}
	uncounted := llm.Answer{Text: "Hello", FinishReason: "stop"}
	floats := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: llm.Usage{InputTokens: 7, OutputTokens: 5}}
	refusal := llm.Answer{Text: "I cannot help.", FinishReason: "content_filter", Extra: map[string]json.RawMessage{"refusal": json.RawMessage(`"I cannot help."`)}}
	return []quirk{
		{name: "usage as floats", handle: streamHandler(textEvent("Hello"), finishEvent("stop"),
			`data: {"choices":[],"usage":{"prompt_tokens":7.0,"completion_tokens":5.0}}`+"\n\n", done), want: floats},
		{name: "a refusal", handle: streamHandler(deltaEvent(`"refusal":"I cannot "`), deltaEvent(`"content":null,"refusal":"help."`), finishEvent("stop"), done), want: refusal},
		{name: "CR line ends", handle: streamHandler(strings.ReplaceAll(strings.Join(hello, ""), "\n", "\r")), want: plain},
		{
			name:   "data on several lines",
			handle: streamHandler("event: message\ndata: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", usage, done),
			want:   plain,
		},
		{name: "no blank lines between chunks", handle: streamHandler(strings.ReplaceAll(strings.Join(hello, ""), "\n\n", "\n") + "\n"), want: plain},
		{name: "missing DONE", handle: streamHandler(textEvent("Hel"), textEvent("lo"), finishEvent("stop"), usage), want: plain},
		{name: "missing DONE and last line end", handle: streamHandler(textEvent("Hel"), textEvent("lo"), strings.TrimSpace(finishEvent("stop"))), want: uncounted},
		{name: "missing finish reason", handle: streamHandler(textEvent("Hello"), done), want: llm.Answer{Text: "Hello"}},
		{name: "finish reason repeated or empty", handle: streamHandler(strings.Replace(textEvent("Hello"), "null", `""`, 1), finishEvent("stop"), finishEvent("stop"), done), want: uncounted},
		{name: "usage with every chunk", handle: streamHandler(
			`data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`+"\n\n", usage, done), want: plain},
		{name: "usage in the choice", handle: streamHandler(
			`data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_cache_hit_tokens":4}}]}`+"\n\n", done), want: plain},
		{name: "usage of another shape", handle: streamHandler(textEvent("Hello"), `data: {"choices":[],"usage":"7"}`+"\n\n", finishEvent("stop"), done), want: uncounted},
		{name: "chunks of other choices", handle: streamHandler(textEvent("Hello"), `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}`+"\n\n", finishEvent("stop"), done), want: uncounted},
		{name: "content as parts", handle: streamHandler(deltaEvent(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hello"}]`), finishEvent("stop"), done),
			want: llm.Answer{Text: "Hello", Reasoning: "hm", FinishReason: "stop"}},
	}
}

// bodyQuirks are answers in one piece, and vendors' fields.
func bodyQuirks(plain llm.Answer) []quirk {
	const body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`
	return []quirk{
		{name: "JSON instead of a stream", handle: bodyHandler(200, "application/json", body), want: plain},
		{name: "JSON called a stream", handle: bodyHandler(200, "text/event-stream", "\n"+body), want: plain},
		{name: "whole message in a stream", handle: streamHandler("data: "+body+"\n\n", done), want: plain},
		{
			name: "vendor fields beside the choices",
			handle: streamHandler(`data: {"citations":["a"],"choices":[{"delta":{"content":"Hel"}}]}`+"\n\n",
				`data: {"citations":["a","b"],"timings":null,"obfuscation":"x","choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}`+"\n\n", done),
			want: llm.Answer{Text: "Hello", FinishReason: "stop", Extra: map[string]json.RawMessage{"citations": json.RawMessage(`["a","b"]`)}},
		},
		{
			name: "reasoning and vendor fields",
			handle: streamHandler(deltaEvent(`"role":"assistant","content":"","reasoning_content":"h"`), deltaEvent(`"reasoning":"m","content":null`),
				deltaEvent(`"reasoning":"!","reasoning_content":"!"`),
				deltaEvent(`"content":"Hello","annotations":[{"a":1}],"refusal":null`), deltaEvent(`"annotations":[{"b":2.50}]`), finishEvent("stop"), done),
			want: llm.Answer{
				Text: "Hello", Reasoning: "hm!", ReasoningMember: "reasoning_content", FinishReason: "stop",
				Extra: map[string]json.RawMessage{"annotations": json.RawMessage(`[{"a":1},{"b":2.50}]`)},
			},
		},
		{
			name:   "reasoning under its newer name",
			handle: streamHandler(deltaEvent(`"reasoning":"hm"`), textEvent("Hello"), finishEvent("stop"), done),
			want:   llm.Answer{Text: "Hello", Reasoning: "hm", ReasoningMember: "reasoning", FinishReason: "stop"},
		},
		{
			name: "reasoning details in pieces",
			handle: streamHandler(
				deltaEvent(`"reasoning":"h","reasoning_details":[{"type":"reasoning.text","index":0,"text":"h","signature":null}]`),
				deltaEvent(`"reasoning":"m","reasoning_details":[{"type":"reasoning.text","index":0,"text":"m"}]`),
				deltaEvent(`"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s"},{"type":"reasoning.encrypted","index":1,"data":"x"}]`),
				deltaEvent(`"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"y"}]`),
				textEvent("Hello"), finishEvent("stop"), done),
			want: llm.Answer{Text: "Hello", Reasoning: "hm", FinishReason: "stop", Extra: map[string]json.RawMessage{"reasoning_details": json.RawMessage(
				`[{"index":0,"signature":"s","text":"hm","type":"reasoning.text"},{"data":"x","index":1,"type":"reasoning.encrypted"},{"data":"y","index":1,"type":"reasoning.encrypted"}]`)}},
		},
		{
			name: "reasoning_content beside its details",
			handle: streamHandler(
				deltaEvent(`"reasoning_content":"h","reasoning_details":[{"type":"reasoning.text","index":0,"text":"h"}]`),
				deltaEvent(`"reasoning_content":"m","reasoning":"m","reasoning_details":[{"type":"reasoning.text","index":0,"text":"m"}]`),
				textEvent("Hello"), finishEvent("stop"), done),
			want: llm.Answer{
				Text: "Hello", Reasoning: "hm", ReasoningMember: "reasoning_content", FinishReason: "stop",
				Extra: map[string]json.RawMessage{"reasoning_details": json.RawMessage(`[{"index":0,"text":"hm","type":"reasoning.text"}]`)},
			},
		},
	}
}

func toolQuirks() []quirk {
	tool := func(piece string) string { return deltaEvent(`"tool_calls":[` + piece + `]`) }
	two := llm.Answer{FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{
		{Index: 0, ID: "a", Name: "f", Arguments: `{"x":1}`},
		{Index: 1, ID: "b", Name: "g", Arguments: `{}`},
	}}
	signed := two
	signed.ToolCalls = []llm.ToolCall{{ID: "a", Name: "f", Arguments: `{}`, Extra: map[string]json.RawMessage{"extra_content": json.RawMessage(`{"s":"x"}`)}}}
	unnamed := two
	unnamed.ToolCalls = []llm.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"x":1}`}, {Index: 1, ID: "call_1", Name: "g", Arguments: `{}`}}
	end := []string{finishEvent("tool_calls"), done}
	cases := []struct {
		name   string
		pieces []string
		want   llm.Answer
	}{
		{"tool calls in pieces by index", []string{
			tool(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			tool(`{"index":0,"function":{"arguments":"{\"x\":"}}`),
			tool(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{"}}`),
			tool(`{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"}"}}`),
		}, two},
		{"tool calls without index", []string{
			tool(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			tool(`{"function":{"arguments":"1}"}}`),
			tool(`{"id":"b","function":{"name":"g","arguments":"{}"}}`),
		}, two},
		{"tool calls all of index 0", []string{
			tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			tool(`{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`),
		}, two},
		{"tool calls that repeat id and name", []string{
			tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}`),
			tool(`{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`),
			tool(`{"index":1,"id":"b","function":{"name":"g","arguments":"}"}}`),
		}, two},
		{"tool calls with a new id for each piece", []string{
			tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			tool(`{"index":0,"id":"a2","function":{"name":null,"arguments":"1}"}}`),
			tool(`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`),
		}, two},
		{"tool calls without index and id, arguments as objects", []string{
			tool(`{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":{}}}`),
		}, unnamed},
		{"tool call with vendor fields", []string{
			tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"s":"x"}}`),
		}, signed},
	}
	list := []quirk{{
		name: "tool calls in one body",
		handle: bodyHandler(200, "application/json", `{"choices":[{"message":{"content":null,"tool_calls":[`+
			`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},`+
			`{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
		want: two,
	}}
	for _, c := range cases {
		list = append(list, quirk{name: c.name, handle: streamHandler(append(c.pieces, end...)...), want: c.want})
	}
	return list
}

// failingQuirks are answers that fail in ways of this API, for good or at first.
func failingQuirks(plain llm.Answer) []quirk {
	ok := streamHandler(textEvent("Hel"), textEvent("lo"), finishEvent("stop"), usage, done)
	half := llm.Answer{Text: "The first half of"}
	var list []quirk
	for word, reason := range map[string]string{
		"max_tokens": "length", "MAX_TOKENS": "length", "model_length": "length", "model_context_window_exceeded": "length",
		"sensitive": "content_filter", "SAFETY": "content_filter", "refusal": "content_filter", "end_turn": "stop", "own_word": "own_word",
	} {
		want := half
		want.FinishReason = reason
		list = append(list, quirk{name: "the answer ends with " + word, handle: streamHandler(textEvent(half.Text), finishEvent(word), done), want: want})
	}
	for _, word := range []string{"error", "network_error", "abort", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL"} {
		list = append(list, quirk{
			name: "the answer breaks off with " + word, handle: streamHandler(textEvent(half.Text), finishEvent(word), done),
			want: half, fails: &llm.Error{Temporary: true, Message: word},
		})
	}
	return append(list, []quirk{
		{name: "an error in the choice", want: half, fails: &llm.Error{Status: 502, Temporary: true, Message: "Provider disconnected"}, handle: streamHandler(textEvent(half.Text),
			`data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"Provider disconnected"}}]}`+"\n\n", done)},
		{name: "overloaded inside the stream, then success", handle: firstThen(1, streamHandler(`data: {"error":{"message":"busy","code":529}}`+"\n\n"), ok), want: plain, requests: 2},
		{name: "no credit is not retried", handle: bodyHandler(429, "application/json", `{"error":{"message":"no money","code":"insufficient_quota"}}`), fails: &llm.Error{Status: 429, Message: "no money"}},
		{name: "an event that is not JSON", handle: streamHandler(textEvent("Hel"), "data: {nonsense\n\n", done), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Message: "nonsense"}},
		{name: "error inside the stream", handle: streamHandler(textEvent("Hel"), `data: {"error":{"message":"overloaded","code":503}}`+"\n\n"),
			want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Status: 503, Temporary: true, Message: "overloaded"}},
		{name: "error event", handle: streamHandler(textEvent("Hel"), "event: error\ndata: {\"message\":\"bad luck\"}\n\n"),
			want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Message: "bad luck"}},
		{name: "stream cut in the middle of an event", handle: streamHandler(textEvent("Hel"), `data: {"choices":[{"del`), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Temporary: true, Message: "cut"}},
		{name: "empty stream", handle: streamHandler(done), requests: 3, fails: &llm.Error{Temporary: true, Message: "without an answer"}},
	}...)
}
