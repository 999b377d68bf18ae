package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// busyFlows are a run with all that depends on the outside: parallel items, steps that try again, sub-flows, lists
// of providers some of which fail, an agent with tools, the memory, a secret in answers, and two stops for
// answers. SERVER is the address of the server.
var busyFlows = map[string]string{
	"inner.yaml": `
name: inner
inputs: {type: object, required: [x], properties: {x: {type: string}}}
llm: [bad, main]
steps:
  - {id: get, call: http, with: {url: "SERVER/in/{{ inputs.x }}"}}
  - {id: say, call: chat, with: {user: "inner {{ inputs.x }} {{ get.body.n }}"}}
outputs: {said: "{{ say.text }}", drawn: "{{ [1, 2, 3, 4, 5, 6, 7]|random }}"}
`,
	"busy.yaml": `
name: busy
memory: {user: ann, session: s}
steps:
  - {id: recall, call: memory-retrieve, with: {current_query: tea, include: [content], min_relevance: 0}}
  - {id: each, needs: [], call: http, for_each: [a, b, c, d, e], max_parallel: 5, with: {url: "SERVER/count"}}
  - {id: flaky, needs: [], call: http, with: {url: "SERVER/flaky", headers: {Authorization: "Bearer {{ secrets.TOKEN }}"}}, retry: {max_attempts: 4, initial_interval: 1ms}}
  - {id: seen, needs: [flaky], call: template, with: {template: "{{ secrets.TOKEN in flaky.body.auth }} {{ flaky.body.auth | length }}"}}
  - {id: subs, needs: [], call: flow, for_each: [p, q, r], max_parallel: 3, with: {path: inner.yaml, inputs: {x: "{{ item }}"}}}
  - {id: fall, needs: [], llm: [dead, bad, main], call: chat, with: {user: "so is it as it was {{ secrets.TOKEN }}"}, to_user: true}
  - {id: same, needs: [], call: chat, for_each: [1, 2, 3], max_parallel: 3, with: {user: same}}
  - id: clerk
    needs: [fall]
    llm: [dead, main]
    call: agent
    with:
      prompt: go on
      max_rounds: 3
      tools: {flows: [{path: inner.yaml, name: look, description: Looks.}], http: [{name: web, description: Gets., with: {url: "SERVER/count"}}]}
  - {id: ask, needs: [recall, clerk, subs, seen, same, each], call: slot, with: {stages: [], current_schema: {type: object, required: [city, n], properties: {city: {type: string}, n: {type: integer}}}}}
  - {id: save, call: memory-save, with: {content: "She said {{ ask.slot_data.city }}"}}
  - {id: last, call: chat, with: {user: "{{ ask.slot_data }} {{ run.started_at }} {{ run.id }} {{ seen.text }} {{ vars.current_time }}"}}
outputs: {last: "{{ last.text }}", each: "{{ each }}", subs: "{{ subs }}", clerk: "{{ clerk.text }}", same: "{{ same }}", recall: "{{ recall }}", save: "{{ save }}"}
`,
	"scheduler.yaml": `
secrets: [TOKEN]
llm:
  default: main
  providers:
    - {name: main, base_url: "SERVER/v1", model: m, max_retries: 0}
    - {name: dead, base_url: "http://127.0.0.1:9/v1", model: d, max_retries: 0}
    - {name: bad, base_url: "SERVER/bad", model: b, max_retries: 0}
http: {allow_hosts: ["127.0.0.1:*"]}
`,
}

// newBusyServer is a server whose every answer differs from the earlier ones; /bad is a model that fails.
func newBusyServer(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	total, flaky := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		total++
		n := total
		if r.URL.Path == "/flaky" {
			flaky++
		}
		isDown := r.URL.Path == "/flaky" && flaky < 3 || strings.HasPrefix(r.URL.Path, "/bad")
		mu.Unlock()
		switch {
		case isDown:
			http.Error(w, `{"error": {"message": "down"}}`, http.StatusServiceUnavailable)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"n": %d, "auth": %q}`, n, r.Header.Get("Authorization"))
		default:
			streamAnswer(w, r, n)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// streamAnswer is the answer of a model: it uses all tools once, then repeats the end of the conversation.
func streamAnswer(w http.ResponseWriter, r *http.Request, n int) {
	var req struct {
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	_ = json.NewDecoder(r.Body).Decode(&req) // an empty one is answered too
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta any, finish string) {
		choice := map[string]any{"index": 0, "delta": delta}
		if finish != "" {
			choice["finish_reason"] = finish
		}
		text, _ := json.Marshal(map[string]any{"choices": []any{choice}})
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	last := req.Messages[len(req.Messages)-1]
	if len(req.Tools) > 0 && last.Role != "tool" {
		for i, tool := range req.Tools {
			send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprint("c", i), "function": map[string]any{"name": tool.Function.Name, "arguments": `{"x": "o"}`}}}}, "")
		}
		send(map[string]any{}, "tool_calls")
	} else {
		text := fmt.Sprintf("%d: %s", n, last.Content)
		for len(text) > 0 {
			size := min(5, len(text))
			send(map[string]any{"content": text[:size]}, "")
			text = text[size:]
		}
		send(map[string]any{}, "stop")
	}
	// A server that does not count would leave it to an estimate, which depends on the letters of the secret.
	fmt.Fprint(w, `data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}`+"\n\ndata: [DONE]\n\n")
}

// TestBusyRunReplays records a run that stops twice, takes the server, the journal, the memory and the settings away, and plays it in another
// folder: with the secret, without it, and with another one. The events are equal except for times.
func TestBusyRunReplays(t *testing.T) {
	server := newBusyServer(t)
	recorded := t.TempDir()
	for name, text := range busyFlows {
		writeFile(t, filepath.Join(recorded, name), strings.ReplaceAll(text, "SERVER", server.URL))
	}
	t.Chdir(recorded)
	t.Setenv("TOKEN", "sk-live-0pen-sesame")
	runs := [][]string{
		{"run", "busy.yaml", "--record", "--json"}, {"resume", "last", "--set", "/city=Oslo", "--json"}, {"resume", "last", "--set", "/n=3", "--json"},
	}
	play := func(dir string) (events []string) {
		for _, args := range runs {
			events = append(events, strings.ReplaceAll(playableEvents(t, args), dir, "DIR")) // warnings of sub-flows name their file
		}
		return events
	}
	before := play(recorded)
	server.Close()
	runs[0][2] = "--replay"
	cassette := filepath.Join(recorded, "busy.cassette.yaml")
	if text, err := os.ReadFile(cassette); err != nil || strings.Contains(string(text), "sesame") {
		t.Fatalf("the cassette has a part of the secret, or is not there: %v", err)
	}
	for name, token := range map[string]string{"with the secret": "sk-live-0pen-sesame", "without": "", "with another": "another-one-that-is-longer"} {
		t.Run(name, func(t *testing.T) {
			played := t.TempDir()
			for _, file := range []string{"busy.yaml", "inner.yaml", "busy.cassette.yaml"} {
				text, err := os.ReadFile(filepath.Join(recorded, file))
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, filepath.Join(played, file), string(text))
			}
			settings := "{}"
			if token != "" {
				settings = "secrets: [TOKEN]"
			}
			writeFile(t, filepath.Join(played, "scheduler.yaml"), settings)
			t.Setenv("TOKEN", token)
			t.Chdir(played)
			for i, after := range play(played) {
				if diff := cmp.Diff(before[i], after); diff != "" {
					t.Errorf("part %d is another one (-recorded +played)\n%s", i, diff)
				}
			}
		})
	}
}
