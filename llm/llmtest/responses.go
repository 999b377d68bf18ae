package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// Responses returns the dialect of the Responses API: as OpenAI speaks it, and as the servers
// of Open Responses do.
func Responses() Dialect {
	counted := llm.Usage{InputTokens: 12, OutputTokens: 2, CachedTokens: 4, CacheWriteTokens: 1}
	return Dialect{
		base: "/v1", path: "/v1/responses",
		begin:  []string{responseCreated, itemAdded(0, messageItem("in_progress", ""))},
		text:   func(s string) string { return itemEvent("output_text.delta", 0, `"delta":`+quoteJSON(s)) },
		end:    []string{responseEnd("completed", "")},
		usage:  counted,
		quirks: append(append(append(responseStreams(counted), responseItems(counted)...), responseEnds(counted)...), responseFailures(counted)...),
		request: map[string]any{
			"model": Model, "stream": true, "store": false, "include": []any{"reasoning.encrypted_content"},
			"temperature": 0.5, "max_output_tokens": 5.0, "top_k": 3.0,
			"input": []any{
				map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "a < b & c"}}},
				map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "你好"}}},
			},
			"tools": []any{map[string]any{"type": "function", "name": "f", "strict": false, "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}},
			"text": map[string]any{"format": map[string]any{
				"type": "json_schema", "name": "answer", "schema": map[string]any{"type": "object", "additionalProperties": false},
			}},
		},
		keyHeader: "Authorization", key: "Bearer " + APIKey,
	}
}

// responseEvent returns an event of the Responses API; its data has the name too.
func responseEvent(name, members string) string {
	return "event: response." + name + "\ndata: {\"type\":\"response." + name + "\"," + members + "}\n\n"
}

var responseCreated = responseEvent("created", `"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}`) +
	responseEvent("in_progress", `"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}`)

// itemEvent returns an event about an item.
func itemEvent(name string, index int, members string) string {
	return responseEvent(name, fmt.Sprintf(`"output_index":%d,"item_id":"i%d",`, index, index)+members)
}

func itemAdded(index int, item string) string {
	return itemEvent("output_item.added", index, `"item":`+item)
}
func itemDone(index int, item string) string {
	return itemEvent("output_item.done", index, `"item":`+item)
}

func messageItem(status, content string, phase ...string) string {
	members := ""
	for _, p := range phase {
		members = `,"phase":"` + p + `"`
	}
	return `{"id":"msg_1","type":"message","role":"assistant","status":"` + status + `","content":[` + content + `]` + members + `}`
}

func outputText(s string) string {
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quoteJSON(s) + `}`
}

func callItem(id, name, arguments string) string {
	return `{"id":"fc_` + id + `","type":"function_call","status":"completed","call_id":"` + id + `","name":"` + name + `","arguments":` + quoteJSON(arguments) + `}`
}

// wholeResponse returns a response with the usual counts.
func wholeResponse(status, more string, items ...string) string {
	return `{"id":"resp_1","object":"response","status":"` + status + `","error":null,"incomplete_details":null,"output":[` + strings.Join(items, ",") + `],` +
		`"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"output_tokens":2}` + more + `}`
}

// responseEnd returns the event that ends an answer; more are members of its response.
func responseEnd(status, more string, items ...string) string {
	return responseEvent(status, `"response":`+wholeResponse(status, more, items...))
}

// responseStreams are streams that are bent and whole.
func responseStreams(counted llm.Usage) []quirk {
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted}
	word := itemEvent("output_text.delta", 0, `"delta":"Hello"`)
	whole := messageItem("completed", outputText("Hello"))
	end := responseEnd("completed", "", whole)
	nameless := strings.NewReplacer("event: ", "x-event: ").Replace(responseCreated + word + end)
	unnumbered := strings.NewReplacer(`"output_index":0,`, "").Replace(itemAdded(0, messageItem("in_progress", "")) + word + itemDone(0, whole))
	return []quirk{
		{name: "events without names", handle: streamHandler(nameless), want: plain},
		{name: "events without indexes", handle: streamHandler(unnumbered, end), want: plain},
		{name: "DONE after the end", handle: streamHandler(word, end, done), want: plain},
		{name: "all events of a message", handle: streamHandler(responseCreated, itemAdded(0, messageItem("in_progress", "")),
			itemEvent("content_part.added", 0, `"part":{"type":"output_text","text":""}`), word,
			itemEvent("output_text.done", 0, `"text":"Hello"`), itemEvent("content_part.done", 0, `"part":`+outputText("Hello")),
			itemDone(0, whole), end), want: plain},
		{name: "events of later versions", handle: streamHandler(word, "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n",
			responseEvent("mood.delta", `"delta":"glad"`), "event: acme:note\ndata: {\"type\":\"acme:note\"}\n\n", end), want: plain},
		{name: "text in the done item only", handle: streamHandler(responseCreated, itemAdded(0, messageItem("in_progress", "")), itemDone(0, whole), end), want: plain},
		{name: "the rest of the text in the done item", handle: streamHandler(itemEvent("output_text.delta", 0, `"delta":"Hel"`), itemDone(0, whole), end), want: plain},
		{name: "text at the end only", handle: streamHandler(responseCreated, end), want: plain},
		{name: "JSON instead of a stream", handle: bodyHandler(200, "application/json", wholeResponse("completed", "", whole)), want: plain},
		{name: "JSON called a stream", handle: bodyHandler(200, "text/event-stream", wholeResponse("completed", "", whole)), want: plain},
		{name: "usage as floats", handle: streamHandler(word, strings.NewReplacer(":12,", ":12.0,", ":2}", ":2.0}").Replace(end)), want: plain},
	}
}

// responseItems are answers of more than text.
func responseItems(counted llm.Usage) []quirk {
	arguments := func(index int, piece string) string {
		return itemEvent("function_call_arguments.delta", index, `"delta":`+quoteJSON(piece))
	}
	thought := func(members string) string { return `{"id":"rs_1","type":"reasoning",` + members + `}` }
	two := llm.Answer{Usage: counted, FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{
		{Index: 0, ID: "a", Name: "f", Arguments: `{"x":1}`}, {Index: 1, ID: "b", Name: "g", Arguments: `{}`},
	}}
	thinking := func(reasoning, items string) llm.Answer {
		a := llm.Answer{Text: "Hello", Reasoning: reasoning, FinishReason: "stop", Usage: counted}
		if items != "" {
			a.Extra = map[string]json.RawMessage{"response_items": json.RawMessage(items)}
		}
		return a
	}
	hello := itemAdded(1, messageItem("in_progress", "")) + itemEvent("output_text.delta", 1, `"delta":"Hello"`) + itemDone(1, messageItem("completed", outputText("Hello")))
	end := responseEnd("completed", "")
	sealed := thought(`"summary":[],"encrypted_content":"gAAA"`)
	both := thought(`"summary":[{"type":"summary_text","text":"h"},{"type":"summary_text","text":"m"}]`)
	open := thought(`"summary":[],"content":[{"type":"reasoning_text","text":"hm"}]`)
	phases := two
	phases.Text = "Wait.Done"
	phases.ToolCalls = two.ToolCalls[:1]
	phases.Extra = map[string]json.RawMessage{"response_items": json.RawMessage(`[` + sealed + `,{"type":"message","phase":"commentary","bytes":5},` +
		`{"type":"function_call","call_id":"a"},{"type":"message","phase":"final_answer","bytes":4}]`)}
	search := `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`
	return []quirk{
		{name: "tool calls in pieces, mixed", want: two, handle: streamHandler(responseCreated,
			itemAdded(0, callItem("a", "f", "")), itemAdded(1, callItem("b", "g", "")), arguments(0, `{"x"`), arguments(1, "{"), arguments(0, `:1}`), arguments(1, "}"),
			itemDone(0, callItem("a", "f", `{"x":1}`)), itemDone(1, callItem("b", "g", "{}")), end)},
		{name: "tool calls in done items only", want: two, handle: streamHandler(itemDone(0, callItem("a", "f", `{"x":1}`)), itemDone(1, callItem("b", "g", "{}")), end)},
		{name: "tool calls at the end only", want: two, handle: streamHandler(responseEnd("completed", "", callItem("a", "f", `{"x":1}`), callItem("b", "g", "{}")))},
		{name: "encrypted thoughts", want: thinking("", `[`+sealed+`,{"type":"message","bytes":5}]`),
			handle: streamHandler(itemAdded(0, thought(`"summary":[],"encrypted_content":"gA"`)), itemDone(0, sealed), hello, end)},
		{name: "a summary in two parts", want: thinking("h\n\nm", ""), handle: streamHandler(
			itemEvent("reasoning_summary_text.delta", 0, `"summary_index":0,"delta":"h"`), itemEvent("reasoning_summary_text.delta", 0, `"summary_index":1,"delta":"m"`),
			itemDone(0, both), hello, end)},
		{name: "a summary in the done item only", want: thinking("h\n\nm", ""), handle: streamHandler(itemDone(0, both), hello, end)},
		{name: "thoughts as reasoning_text", want: thinking("hm", `[`+open+`,{"type":"message","bytes":5}]`), handle: streamHandler(
			itemEvent("reasoning_text.delta", 0, `"delta":"h"`), itemEvent("reasoning_text.delta", 0, `"delta":"m"`), itemDone(0, open), hello, end)},
		{name: "thoughts as reasoning, and twice", want: thinking("hm", ""), handle: streamHandler(
			itemEvent("reasoning.delta", 0, `"delta":"hm"`), itemEvent("reasoning_summary_text.delta", 0, `"summary_index":0,"delta":"hm"`), hello, end)},
		{name: "phases, and text after a call", want: phases, handle: streamHandler(itemDone(0, sealed),
			itemDone(1, messageItem("completed", outputText("Wait."), "commentary")), itemDone(2, callItem("a", "f", `{"x":1}`)),
			itemDone(3, messageItem("completed", outputText("Done"), "final_answer")), end)},
		{name: "tools of the vendor", want: thinking("", `[`+search+`,{"type":"message","bytes":5}]`), handle: streamHandler(itemDone(0, search), hello, end)},
	}
}

// responseEnds are ends of answers.
func responseEnds(counted llm.Usage) []quirk {
	word := itemEvent("output_text.delta", 0, `"delta":"Hello"`)
	ending := func(reason string) llm.Answer {
		return llm.Answer{Text: "Hello", FinishReason: reason, Usage: counted}
	}
	refused := ending("content_filter")
	refused.Extra = map[string]json.RawMessage{"refusal": json.RawMessage(`"Hello"`)}
	incomplete := func(reason string) string {
		return strings.Replace(responseEnd("incomplete", ""), `"incomplete_details":null`, `"incomplete_details":{"reason":"`+reason+`"}`, 1)
	}
	return []quirk{
		{name: "the limit reached", handle: streamHandler(word, incomplete("max_output_tokens")), want: ending("length")},
		{name: "cut by the filter", handle: streamHandler(word, incomplete("content_filter")), want: ending("content_filter")},
		{name: "incomplete for a reason of its own", handle: streamHandler(word, incomplete("tired")), want: ending("tired")},
		{name: "refused by the model", handle: streamHandler(itemEvent("refusal.delta", 0, `"delta":"Hello"`), responseEnd("completed", "")), want: refused},
		{name: "refused by the model, in the done item", handle: streamHandler(itemDone(0, messageItem("completed", `{"type":"refusal","refusal":"Hello"}`)), responseEnd("completed", "")), want: refused},
	}
}

// responseFailures are answers that fail in ways of this API, for good or at first.
func responseFailures(counted llm.Usage) []quirk {
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted}
	half := llm.Answer{Text: "Hel"}
	begun := responseCreated + itemEvent("output_text.delta", 0, `"delta":"Hel"`)
	ok := streamHandler(responseEnd("completed", "", messageItem("completed", outputText("Hello"))))
	failed := func(code, message string) string {
		return strings.Replace(responseEnd("failed", ""), `"error":null`, `"error":{"code":"`+code+`","message":"`+message+`"}`, 1)
	}
	flat := "event: error\ndata: {\"type\":\"error\",\"sequence_number\":3,\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\",\"param\":null}\n\n"
	nested := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"code\":\"invalid_prompt\",\"message\":\"no " + APIKey + "\"}}\n\n"
	const refusal = `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`
	return []quirk{
		{name: "failed for now", handle: streamHandler(begun, failed("server_error", "oops")), want: half, fails: &llm.Error{Temporary: true, Message: "oops"}},
		{name: "failed for good", handle: streamHandler(begun, failed("invalid_prompt", "no")), want: half, fails: &llm.Error{Message: "no"}},
		{name: "no credit inside the stream", handle: streamHandler(begun, failed("insufficient_quota", "no money")), want: half, fails: &llm.Error{Message: "no money"}},
		{name: "failed without a reason", handle: streamHandler(begun, responseEnd("failed", "")), want: half, fails: &llm.Error{Temporary: true, Message: "failed"}},
		{name: "cancelled", handle: bodyHandler(200, "application/json", wholeResponse("cancelled", "")), requests: 3, fails: &llm.Error{Temporary: true, Message: "cancelled"}},
		{name: "flat error event", handle: streamHandler(begun, flat), want: half, fails: &llm.Error{Temporary: true, Message: "slow down (rate_limit_exceeded)"}},
		{name: "nested error event", handle: streamHandler(begun, nested), want: half, fails: &llm.Error{Message: "no ***"}},
		{name: "overloaded inside the stream, then success", handle: firstThen(1, streamHandler(failed("overloaded_error", "busy")), ok), want: plain, requests: 2},
		{name: "cut after the last text", handle: streamHandler(begun, itemDone(0, messageItem("completed", outputText("Hel"))), done), want: half, fails: &llm.Error{Temporary: true, Message: "cut"}},
		{name: "an event that is not JSON", handle: streamHandler(begun, "event: response.completed\ndata: {nonsense\n\n"), want: half, fails: &llm.Error{Message: "Responses API"}},
		{name: "a piece of no call", handle: streamHandler(itemEvent("function_call_arguments.delta", 5, `"delta":"{"`)), fails: &llm.Error{Message: "has not begun"}},
		{name: "an answer of another API", handle: streamHandler(`data: {"choices":[{"delta":{"content":"Hello"}}]}` + "\n\n"), requests: 3, fails: &llm.Error{Temporary: true, Message: "no event of the Responses API"}},
		{name: "encrypted thoughts refused", want: plain, requests: 2, handle: func(w http.ResponseWriter, r *http.Request, n int) {
			var body struct {
				Include []string `json:"include"`
			}
			if json.NewDecoder(r.Body).Decode(&body) != nil || body.Include != nil {
				bodyHandler(http.StatusBadRequest, "application/json", refusal)(w, r, n)
				return
			}
			ok(w, r, n)
		}},
	}
}
