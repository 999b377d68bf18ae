package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// Anthropic returns the dialect of the Messages API, with the quirks of gateways.
func Anthropic() Dialect {
	counted := llm.Usage{InputTokens: 12, OutputTokens: 2, CachedTokens: 4, CacheWriteTokens: 1}
	return Dialect{
		path:  "/v1/messages",
		begin: []string{messageStart, blockStart(0, `{"type":"text","text":""}`)},
		text:  func(s string) string { return blockDelta(0, `{"type":"text_delta","text":`+quoteJSON(s)+`}`) },
		end:   append([]string{blockStop(0)}, messageEnd("end_turn")...),
		usage: counted,
		quirks: append(append(anthropicStreams(counted), anthropicBlocks(counted)...),
			anthropicFailures(counted)...),
		request: map[string]any{
			"model": Model, "stream": true, "temperature": 0.5, "max_tokens": 5.0, "top_k": 3.0,
			"messages": []any{
				map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": "a < b & c"}}},
				map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "你好"}}},
			},
			"tools": []any{map[string]any{"name": "f", "input_schema": map[string]any{"type": "object", "properties": map[string]any{}}}},
			"output_config": map[string]any{"format": map[string]any{
				"type": "json_schema", "schema": map[string]any{"type": "object", "additionalProperties": false},
			}},
		},
		keyHeader: "X-Api-Key", key: APIKey,
	}
}

// namedEvent returns an event of the Messages API; its data has the name too.
func namedEvent(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
}

var (
	messageStart = namedEvent("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],`+
		`"stop_reason":null,"usage":{"input_tokens":7,"cache_read_input_tokens":4,"cache_creation_input_tokens":1,"output_tokens":1}}`)
	messageStop = namedEvent("message_stop", "")
)

func blockStart(index int, block string) string {
	return namedEvent("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, index, block))
}

func blockDelta(index int, delta string) string {
	return namedEvent("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, index, delta))
}

func blockStop(index int) string {
	return namedEvent("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
}

// messageEnd returns the events that end an answer of 2 tokens.
func messageEnd(reason string) []string {
	return []string{namedEvent("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":2}`), messageStop}
}

// anthropicStreams are streams that are bent and whole.
func anthropicStreams(counted llm.Usage) []quirk {
	d := Dialect{begin: []string{messageStart, blockStart(0, `{"type":"text","text":""}`)}}
	word := blockDelta(0, `{"type":"text_delta","text":"Hello"}`)
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted}
	around := func(end ...string) []string { return append(append(append([]string{}, d.begin...), word), end...) }
	const body = `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":7,"cache_read_input_tokens":4,"cache_creation_input_tokens":1,"output_tokens":2}}`
	limit := plain
	limit.FinishReason = "length"
	refused := plain
	refused.FinishReason = "content_filter"
	stopped := plain
	stopped.Extra = map[string]json.RawMessage{"stop_sequence": json.RawMessage(`"END"`)}
	return []quirk{
		{name: "pings between events", handle: streamHandler(around(namedEvent("ping", ""), blockStop(0), namedEvent("ping", ""), strings.Join(messageEnd("end_turn"), ""))...), want: plain},
		{name: "events and blocks of later versions", handle: streamHandler(around(namedEvent("message_notice", `,"notice":{}`), blockDelta(0, `{"type":"mood_delta","mood":"glad"}`),
			blockStop(0), strings.Join(messageEnd("end_turn"), ""))...), want: plain},
		{name: "missing message_stop", handle: streamHandler(around(blockStop(0), messageEnd("end_turn")[0])...), want: plain},
		{name: "missing content_block_stop", handle: streamHandler(around(messageEnd("end_turn")...)...), want: plain},
		{name: "the input counted at the end", handle: streamHandler(
			namedEvent("message_start", `,"message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":0,"output_tokens":0}}`),
			d.begin[1], word, blockStop(0),
			namedEvent("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7,"cache_read_input_tokens":4,"cache_creation_input_tokens":1,"output_tokens":2}`), messageStop), want: plain},
		{name: "text in the start of the block", handle: streamHandler(append([]string{messageStart, blockStart(0, `{"type":"text","text":"Hello"}`), blockStop(0)}, messageEnd("end_turn")...)...), want: plain},
		{name: "JSON instead of a stream", handle: bodyHandler(200, "application/json", body), want: plain},
		{name: "JSON called a stream", handle: bodyHandler(200, "text/event-stream", body), want: plain},
		{name: "the limit reached", handle: streamHandler(around(append([]string{blockStop(0)}, messageEnd("max_tokens")...)...)...), want: limit},
		{name: "refused by the model", handle: streamHandler(around(append([]string{blockStop(0)}, messageEnd("refusal")...)...)...), want: refused},
		{name: "a stop sequence", handle: streamHandler(around(blockStop(0),
			namedEvent("message_delta", `,"delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":2}`), messageStop)...), want: stopped},
	}
}

// anthropicBlocks are answers of more than text.
func anthropicBlocks(counted llm.Usage) []quirk {
	input := func(index int, piece string) string {
		return blockDelta(index, `{"type":"input_json_delta","partial_json":`+quoteJSON(piece)+`}`)
	}
	end := strings.Join(messageEnd("tool_use"), "")
	two := llm.Answer{Usage: counted, FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{
		{Index: 0, ID: "a", Name: "f", Arguments: `{"x":1}`},
		{Index: 1, ID: "b", Name: "g", Arguments: `{}`},
	}}
	late := two
	late.Text = "Wait."
	return []quirk{
		{name: "tool calls in pieces", want: two, handle: streamHandler(messageStart,
			blockStart(0, `{"type":"tool_use","id":"a","name":"f","input":{}}`), input(0, ""), input(0, `{"x"`), input(0, `:1}`), blockStop(0),
			blockStart(1, `{"type":"tool_use","id":"b","name":"g","input":{}}`), input(1, ""), blockStop(1), end)},
		{name: "tool calls in their start, after text", want: late, handle: streamHandler(messageStart,
			blockStart(0, `{"type":"text","text":"Wait."}`), blockStop(0),
			blockStart(1, `{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`), blockStop(1),
			blockStart(2, `{"type":"tool_use","id":"b","name":"g"}`), blockStop(2), end)},
		{
			name: "thoughts with their signature",
			handle: streamHandler(messageStart, blockStart(0, `{"type":"thinking","thinking":"","signature":""}`),
				blockDelta(0, `{"type":"thinking_delta","thinking":"h"}`), blockDelta(0, `{"type":"thinking_delta","thinking":"m"}`),
				blockDelta(0, `{"type":"signature_delta","signature":"s1"}`), blockStop(0),
				blockStart(1, `{"type":"redacted_thinking","data":"d"}`), blockStop(1),
				blockStart(2, `{"type":"text","text":"Hello"}`), blockStop(2), strings.Join(messageEnd("end_turn"), "")),
			want: llm.Answer{Text: "Hello", Reasoning: "hm", FinishReason: "stop", Usage: counted, Extra: map[string]json.RawMessage{
				"content_blocks": json.RawMessage(`[{"signature":"s1","thinking":"hm","type":"thinking"},{"type":"redacted_thinking","data":"d"}]`),
			}},
		},
		{
			name: "tools of the vendor, with citations",
			handle: streamHandler(messageStart, blockStart(0, `{"type":"server_tool_use","id":"t","name":"web_search","input":{}}`),
				input(0, `{"query":"q"}`), blockStop(0),
				blockStart(1, `{"type":"web_search_tool_result","tool_use_id":"t","content":[]}`), blockStop(1),
				blockStart(2, `{"type":"text","text":"Hello"}`), blockDelta(2, `{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"u"}}`),
				blockStop(2), strings.Join(messageEnd("end_turn"), "")),
			want: llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted, Extra: map[string]json.RawMessage{
				"citations":      json.RawMessage(`[{"type":"web_search_result_location","url":"u"}]`),
				"content_blocks": json.RawMessage(`[{"id":"t","input":{"query":"q"},"name":"web_search","type":"server_tool_use"},{"type":"web_search_tool_result","tool_use_id":"t","content":[]}]`),
			}},
		},
	}
}

// anthropicFailures are answers that fail in ways of this API, for good or at first.
func anthropicFailures(counted llm.Usage) []quirk {
	hello := append([]string{messageStart, blockStart(0, `{"type":"text","text":"Hello"}`), blockStop(0)}, messageEnd("end_turn")...)
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted}
	begun := []string{messageStart, blockStart(0, `{"type":"text","text":"Hel"}`)}
	failed := func(kind, message string) string {
		return namedEvent("error", `,"error":{"type":"`+kind+`","message":"`+message+`"}`)
	}
	refused := func(status int, kind, message string) quirk {
		return quirk{handle: bodyHandler(status, "application/json", `{"type":"error","error":{"type":"`+kind+`","message":"`+message+`"},"request_id":"r"}`)}
	}
	credit := refused(400, "invalid_request_error", "Your credit balance is too low to access the API.")
	credit.name, credit.fails = "no credit", &llm.Error{Status: 400, Message: "credit balance"}
	overloaded := refused(529, "overloaded_error", "Overloaded")
	overloaded.name, overloaded.requests, overloaded.fails = "overloaded for good", 3, &llm.Error{Status: 529, Temporary: true, Message: "Overloaded"}
	return []quirk{
		credit, overloaded,
		{name: "overloaded inside the stream, then success", handle: firstThen(1, streamHandler(failed("overloaded_error", "busy")), streamHandler(hello...)), want: plain, requests: 2},
		{name: "error inside the stream", handle: streamHandler(append(begun, failed("api_error", "oops"))...), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Temporary: true, Message: "oops"}},
		{name: "error for good inside the stream", handle: streamHandler(append(begun, failed("invalid_request_error", "no "+APIKey))...), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Message: "no ***"}},
		{name: "an event that is not JSON", handle: streamHandler(append(begun, "event: content_block_delta\ndata: {nonsense\n\n")...), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Message: "Messages API"}},
		{name: "a piece of no block", handle: streamHandler(messageStart, blockDelta(3, `{"type":"text_delta","text":"x"}`)), fails: &llm.Error{Message: "has not begun"}},
		{name: "an answer of another API", handle: streamHandler(`data: {"choices":[{"delta":{"content":"Hello"}}]}` + "\n\n"), requests: 3, fails: &llm.Error{Temporary: true, Message: "no event of the Messages API"}},
	}
}
