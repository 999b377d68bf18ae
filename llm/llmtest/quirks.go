package llmtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
)

// quirk is one way in which servers bend or break the protocol.
type quirk struct {
	name   string
	handle func(w http.ResponseWriter, r *http.Request, n int)
	// want is the answer, or what there is of it before the error.
	want llm.Answer
	// pieces are the texts of the deltas; nil where they do not matter.
	pieces []string
	// fails is what the error must look like; nil where there is none.
	fails *llm.Error
	// requests is how many the server must get; 0 is one.
	requests int
}

func (q quirk) run(t *testing.T, open func(baseURL string) llm.Provider) {
	requests := make(chan int, 16)
	base := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		requests <- n
		q.handle(w, r, n)
	})
	var got llm.AnswerBuilder
	var pieces []string
	var err error
	for d, failure := range open(base).Chat(t.Context(), Request()) {
		if err = failure; err != nil {
			continue // a sequence that goes on after its error is caught below
		}
		got.Add(d)
		if d.Text != "" {
			pieces = append(pieces, d.Text)
		}
	}
	if diff := cmp.Diff(q.want, got.Answer()); diff != "" {
		t.Errorf("answer (-want +got)\n%s", diff)
	}
	if q.pieces != nil {
		if diff := cmp.Diff(q.pieces, pieces); diff != "" {
			t.Errorf("pieces (-want +got)\n%s", diff)
		}
	}
	if n := len(requests); n != max(q.requests, 1) {
		t.Errorf("the server got %d requests, want %d", n, max(q.requests, 1))
	}
	switch {
	case q.fails == nil && err != nil:
		t.Errorf("unexpected error: %v", err)
	case q.fails != nil:
		e := checkError(t, err)
		if e.Status != q.fails.Status || e.Temporary != q.fails.Temporary || !strings.Contains(e.Error(), q.fails.Message) ||
			e.RetryAfter != q.fails.RetryAfter {
			t.Errorf("got %+v, want %+v", e, q.fails)
		}
	}
}

// sends is a handler that streams pieces.
func sends(pieces ...string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { stream(w, pieces...) }
}

// says is a handler that answers with a status and a body.
func says(status int, contentType, body string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		w.Write([]byte(body)) //nolint:errcheck // the client may have gone
	}
}

// first is a handler whose first requests go to one handler, the others to another.
func first(n int, early, late func(http.ResponseWriter, *http.Request, int)) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, i int) {
		if i <= n {
			early(w, r, i)
			return
		}
		late(w, r, i)
	}
}

func quirks() []quirk {
	counted := llm.Usage{InputTokens: 7, OutputTokens: 2, CachedTokens: 4}
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted}
	uncounted := llm.Answer{Text: "Hello", FinishReason: "stop"}
	list := []quirk{
		{name: "plain stream", handle: sends(hello...), want: plain, pieces: []string{"Hel", "lo"}},
		{
			name:   "comments and keep-alives",
			handle: sends(": OPENROUTER PROCESSING\n\n", text("Hel"), ":\n\n", ": ping\nid: 7\nretry: 100\n\n", text("lo"), finish("stop"), usage, done),
			want:   plain,
		},
		{name: "CRLF line ends", handle: sends(strings.ReplaceAll(strings.Join(hello, ""), "\n", "\r\n")), want: plain},
		{name: "CR line ends", handle: sends(strings.ReplaceAll(strings.Join(hello, ""), "\n", "\r")), want: plain},
		{name: "no space after the colon", handle: sends(strings.ReplaceAll(strings.Join(hello, ""), "data: ", "data:")), want: plain},
		{name: "byte order mark", handle: sends("\ufeff" + strings.Join(hello, "")), want: plain},
		{
			name:   "data on several lines",
			handle: sends("event: message\ndata: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", usage, done),
			want:   plain,
		},
		{name: "no blank lines between chunks", handle: sends(strings.ReplaceAll(strings.Join(hello, ""), "\n\n", "\n") + "\n"), want: plain},
		{name: "a character cut between packets", handle: sends("data: {\"choices\":[{\"delta\":{\"content\":\"\xe4\xbd", "\xa0好\"}}]}\n\n", finish("stop"), done), want: llm.Answer{Text: "你好", FinishReason: "stop"}},
		{name: "missing DONE", handle: sends(text("Hel"), text("lo"), finish("stop"), usage), want: plain},
		{name: "missing DONE and last line end", handle: sends(text("Hel"), text("lo"), strings.TrimSpace(finish("stop"))), want: uncounted},
		{name: "missing finish reason", handle: sends(text("Hello"), done), want: llm.Answer{Text: "Hello"}},
		{name: "finish reason repeated or empty", handle: sends(strings.Replace(text("Hello"), "null", `""`, 1), finish("stop"), finish("stop"), done), want: uncounted},
		{name: "usage with every chunk", handle: sends(
			`data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`+"\n\n", usage, done), want: plain},
		{name: "usage in the choice", handle: sends(
			`data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_cache_hit_tokens":4}}]}`+"\n\n", done), want: plain},
		{name: "usage of another shape", handle: sends(text("Hello"), `data: {"choices":[],"usage":"7"}`+"\n\n", finish("stop"), done), want: uncounted},
		{name: "chunks of other choices", handle: sends(text("Hello"), `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}`+"\n\n", finish("stop"), done), want: uncounted},
		{name: "content as parts", handle: sends(delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hello"}]`), finish("stop"), done),
			want: llm.Answer{Text: "Hello", Reasoning: "hm", FinishReason: "stop"}},
		{name: "slow first byte", want: plain, handle: func(w http.ResponseWriter, _ *http.Request, _ int) {
			time.Sleep(100 * time.Millisecond)
			stream(w, hello...)
		}},
		{name: "a huge line", handle: sends(text(strings.Repeat("x", 1<<20)), finish("stop"), done), want: llm.Answer{Text: strings.Repeat("x", 1<<20), FinishReason: "stop"}},
	}
	return append(append(append(list, bodyQuirks(plain)...), toolQuirks()...), failingQuirks(plain)...)
}

// bodyQuirks are answers that are no stream, and vendors' fields.
func bodyQuirks(plain llm.Answer) []quirk {
	const body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`
	return []quirk{
		{name: "JSON instead of a stream", handle: says(200, "application/json", body), want: plain},
		{name: "JSON called a stream", handle: says(200, "text/event-stream", "\n"+body), want: plain},
		{name: "whole message in a stream", handle: sends("data: "+body+"\n\n", done), want: plain},
		{
			name: "reasoning and vendor fields",
			handle: sends(delta(`"role":"assistant","content":"","reasoning_content":"h"`), delta(`"reasoning":"m","content":null`),
				delta(`"reasoning":"!","reasoning_content":"!"`),
				delta(`"content":"Hello","annotations":[{"a":1}],"refusal":null`), delta(`"annotations":[{"b":2.50}]`), finish("stop"), done),
			want: llm.Answer{
				Text: "Hello", Reasoning: "hm!", FinishReason: "stop",
				Extra: map[string]json.RawMessage{"annotations": json.RawMessage(`[{"a":1},{"b":2.50}]`)},
			},
		},
	}
}

func toolQuirks() []quirk {
	tool := func(piece string) string { return delta(`"tool_calls":[` + piece + `]`) }
	two := llm.Answer{FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{
		{Index: 0, ID: "a", Name: "f", Arguments: `{"x":1}`},
		{Index: 1, ID: "b", Name: "g", Arguments: `{}`},
	}}
	signed := two
	signed.ToolCalls = []llm.ToolCall{{ID: "a", Name: "f", Arguments: `{}`, Extra: map[string]json.RawMessage{"extra_content": json.RawMessage(`{"s":"x"}`)}}}
	unnamed := two
	unnamed.ToolCalls = []llm.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"x":1}`}, {Index: 1, ID: "call_1", Name: "g", Arguments: `{}`}}
	end := []string{finish("tool_calls"), done}
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
		handle: says(200, "application/json", `{"choices":[{"message":{"content":null,"tool_calls":[`+
			`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},`+
			`{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
		want: two,
	}}
	for _, c := range cases {
		list = append(list, quirk{name: c.name, handle: sends(append(c.pieces, end...)...), want: c.want})
	}
	return list
}

// failingQuirks are answers that fail, for good or at first.
func failingQuirks(plain llm.Answer) []quirk {
	refuse := func(status int, header, headerValue, message string) func(http.ResponseWriter, *http.Request, int) {
		return func(w http.ResponseWriter, r *http.Request, n int) {
			if header != "" {
				w.Header().Set(header, headerValue)
			}
			says(status, "application/json", `{"error":{"message":"`+message+`","type":"x","code":null}}`)(w, r, n)
		}
	}
	ok := sends(hello...)
	return []quirk{
		{name: "429 then success", handle: first(1, refuse(429, "Retry-After", "0", "slow down"), ok), want: plain, requests: 2},
		{name: "503 and 500 then success", handle: first(1, refuse(503, "", "", "busy"), first(2, refuse(500, "", "", "oops"), ok)), want: plain, requests: 3},
		{name: "408 then success", handle: first(1, refuse(408, "", "", "late"), ok), want: plain, requests: 2},
		{name: "connection closed then success", handle: first(1, hangUp, ok), want: plain, requests: 2},
		{name: "cut before the first delta, then success", handle: first(1, sends(": hi\n\n"), ok), want: plain, requests: 2},
		{name: "overloaded inside the stream, then success", handle: first(1, sends(`data: {"error":{"message":"busy","code":529}}`+"\n\n"), ok), want: plain, requests: 2},
		{name: "500 for good", handle: refuse(500, "", "", "the model crashed"), requests: 3, fails: &llm.Error{Status: 500, Temporary: true, Message: "the model crashed"}},
		{name: "a long Retry-After is not waited for", handle: refuse(429, "Retry-After", "3600", "quota"), fails: &llm.Error{Status: 429, Temporary: true, Message: "quota", RetryAfter: time.Hour}},
		{name: "no credit is not retried", handle: says(429, "application/json", `{"error":{"message":"no money","code":"insufficient_quota"}}`), fails: &llm.Error{Status: 429, Message: "no money"}},
		{name: "400 is not retried", handle: refuse(400, "", "", "unknown parameter: foo"), fails: &llm.Error{Status: 400, Message: "unknown parameter: foo"}},
		{name: "401 that echoes the key", handle: refuse(401, "", "", "Incorrect API key provided: "+APIKey), fails: &llm.Error{Status: 401, Message: "Incorrect API key provided: ***"}},
		{name: "error as text", handle: says(404, "application/json", `{"error":"model 'x' not found"}`), fails: &llm.Error{Status: 404, Message: "model 'x' not found"}},
		{name: "error as detail", handle: says(422, "application/json", `{"detail":[{"loc":["body"],"msg":"field required"}]}`), fails: &llm.Error{Status: 422, Message: "field required"}},
		{name: "error as a web page", handle: says(502, "text/html", "<html><head><title>Bad Gateway</title></head>"+APIKey+"</html>"), requests: 3, fails: &llm.Error{Status: 502, Temporary: true, Message: "Bad Gateway"}},
		{name: "error without a body", handle: says(403, "text/plain", ""), fails: &llm.Error{Status: 403, Message: "Forbidden"}},
		{name: "a body that is not JSON", handle: says(200, "text/html", "<!doctype html><p>"+APIKey+" welcome"), fails: &llm.Error{Message: "welcome"}},
		{name: "a body that is plain text", handle: says(200, "text/plain", "It works! "+APIKey), fails: &llm.Error{Message: "It works!"}},
		{name: "JSON that is no answer", handle: says(200, "application/json", `{"object":"error","message":"no such model","code":404}`), fails: &llm.Error{Message: "no such model"}},
		{name: "error with status 200", handle: says(200, "application/json", `{"error":{"message":"bad model","code":400}}`), fails: &llm.Error{Status: 400, Message: "bad model"}},
		{name: "an event that is not JSON", handle: sends(text("Hel"), "data: {nonsense\n\n", done), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Message: "nonsense"}},
		{name: "error inside the stream", handle: sends(text("Hel"), `data: {"error":{"message":"overloaded","code":503}}`+"\n\n"),
			want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Status: 503, Temporary: true, Message: "overloaded"}},
		{name: "error event", handle: sends(text("Hel"), "event: error\ndata: {\"message\":\"bad luck\"}\n\n"),
			want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Message: "bad luck"}},
		{name: "stream cut in the middle", handle: sends(text("Hel"), text("lo")), want: llm.Answer{Text: "Hello"}, fails: &llm.Error{Temporary: true, Message: "cut"}},
		{name: "stream cut in the middle of an event", handle: sends(text("Hel"), `data: {"choices":[{"del`), want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Temporary: true, Message: "cut"}},
		{name: "connection lost in the middle", want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Temporary: true},
			handle: func(w http.ResponseWriter, r *http.Request, n int) { stream(w, text("Hel")); hangUp(w, r, n) }},
		{name: "empty stream", handle: sends(done), requests: 3, fails: &llm.Error{Temporary: true, Message: "without an answer"}},
		{name: "empty body", handle: says(200, "application/json", ""), requests: 3, fails: &llm.Error{Temporary: true, Message: "empty body"}},
	}
}

// hangUp breaks the connection off.
func hangUp(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) }
