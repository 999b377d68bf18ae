package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// streamed returns the text of a streamed completion, and its last document.
func streamed(t *testing.T, r *reply) (text string, last value.Value) {
	t.Helper()
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "text/event-stream" || !strings.HasSuffix(r.text, "data: [DONE]\n\n") {
		t.Fatalf("got %d %s", r.status, r.text)
	}
	for line := range strings.Lines(r.text) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		doc, err := value.ParseJSON([]byte(data))
		if err != nil {
			t.Fatal(err, data)
		}
		piece, _ := doc.At("/choices/0/delta/content")
		s, _ := piece.Str()
		text, last = text+s, doc
	}
	return text, last
}

// openWebUI are the headers of Open WebUI (backend/open_webui/routers/openai.py) if
// ENABLE_FORWARD_USER_INFO_HEADERS is set.
func openWebUI(chat string) []string {
	headers := []string{
		"Accept", "*/*", "Accept-Encoding", "identity", "User-Agent", "Python/3.11 aiohttp/3.12.15",
		"X-OpenWebUI-User-Name", "Lin%20Mei", "X-OpenWebUI-User-Id", "6c1f", "X-OpenWebUI-User-Email", "lin@example.com", "X-OpenWebUI-User-Role", "user",
	}
	if chat != "" {
		headers = append(headers, "X-OpenWebUI-Chat-Id", chat)
	}
	return headers
}

// TestOpenWebUI sends the requests of Open WebUI: the list of models, turns of a chat with a run that waits, and
// between them its requests beside the chat.
func TestOpenWebUI(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	models := f.do(token, "GET", "/v1/models", "", openWebUI("")...)
	if models.status != http.StatusOK || models.at("/data/0/id") == "null" {
		t.Fatalf("got %d %s", models.status, models.text)
	}
	ask := func(messages string) string {
		t.Helper()
		body := `{"stream": true, "model": "sub~wait", "messages": ` + messages + `, "temperature": 0.7, "stream_options": {"include_usage": true}}`
		text, last := streamed(t, f.do(token, "POST", "/v1/chat/completions", body, openWebUI("chat-1")...))
		if usage, _ := last.At("/usage/total_tokens"); usage.Kind() != value.Int {
			t.Errorf("the last document is %s", last.JSON())
		}
		return text
	}
	aside := func(prompt string) {
		t.Helper()
		body := value.OfMap(value.Pairs("model", "sub~wait", "messages", value.Must([]any{map[string]any{"role": "user", "content": prompt}}),
			"stream", false, "max_completion_tokens", 1000)).JSON()
		if r := f.do(token, "POST", "/v1/chat/completions", body, openWebUI("chat-1")...); r.status != http.StatusOK || r.at("/scheduler/run") != "null" || r.at("/scheduler/ignored/0") != "max_completion_tokens" || r.at(said) == "" {
			t.Errorf("got %d %s", r.status, r.text)
		}
	}
	first := ask(messages("Snow"))
	if !strings.Contains(first, "town") {
		t.Errorf("the first answer is %q", first)
	}
	aside("### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Chat History:\n<chat_history>\nUSER: Snow\n</chat_history>")
	aside("### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.\n### Chat History:\n<chat_history>\nUSER: Snow\n</chat_history>")
	second := ask(messages("Snow", first, "Hangzhou"))
	if third := ask(messages("Snow", first, "Hangzhou", second, "2")); third != "Snow in Hangzhou for 2" {
		t.Errorf("the last answer is %q", third)
	}
	if runs := f.do(token, "GET", "/api/v1/runs", ""); strings.Count(runs.text, `"run":`) != 1 {
		t.Errorf("the runs are %s", runs.text)
	}
}

// TestSillyTavern sends the requests of SillyTavern to a custom endpoint
// (src/endpoints/backends/chat-completions.js): examples with names, and instructions of the system after the last
// message of the user.
func TestSillyTavern(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	headers := []string{"Accept", "*/*", "User-Agent", "node-fetch"}
	if r := f.do(token, "GET", "/v1/models", "", headers...); r.status != http.StatusOK || !strings.Contains(r.text, `"id":"echo"`) {
		t.Fatalf("got %d %s", r.status, r.text)
	}
	const dialogue = `[{"role": "system", "content": "Write Mei's next reply in a fictional chat between Mei and Lin."},
		{"role": "system", "content": "[Example Chat]"},
		{"role": "system", "name": "example_user", "content": "Is there tea?"}, {"role": "system", "name": "example_assistant", "content": "Always."},
		{"role": "system", "content": "[Start a new Chat]"}, {"role": "assistant", "content": "Welcome!"}, {"role": "user", "content": "What is on the menu?"},
		{"role": "system", "content": "[Stay in character.]"}]`
	const settings = `, "temperature": 1, "max_tokens": 300, "presence_penalty": 0, "frequency_penalty": 0, "top_p": 1, "logit_bias": {}, "stop": ["\nLin:"], "seed": 7`
	for _, stream := range []string{"true", "false"} {
		r := f.do(token, "POST", "/v1/chat/completions", `{"messages": `+dialogue+`, "model": "echo", "stream": `+stream+settings+`}`, headers...)
		text := r.at(said)
		if stream == "true" {
			text, _ = streamed(t, r)
		}
		if text != "What is on the menu?" {
			t.Errorf("stream %s: got %q in %d %s", stream, text, r.status, r.text)
		}
	}
	r := f.do("", "POST", "/v1/chat/completions", `{"messages": `+dialogue+`, "model": "echo"}`, "Authorization", "Bearer undefined")
	if r.status != http.StatusUnauthorized || r.at("/error/message") == "" {
		t.Errorf("without a key: %d %s", r.status, r.text)
	}
}
