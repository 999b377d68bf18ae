package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// thinkingServer is a model server whose first answer has thoughts and calls a tool. It does not
// answer the second request until the client is gone, and answers each later one with text.
type thinkingServer struct {
	first, last string
	asked       chan struct{} // closed when the second request is there

	mu       sync.Mutex // guards the field below
	requests []string
}

func (s *thinkingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, string(body))
	n := len(s.requests)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	switch n {
	case 1:
		fmt.Fprint(w, s.first)
	case 2:
		close(s.asked)
		<-r.Context().Done()
	default:
		fmt.Fprint(w, s.last)
	}
}

// TestThoughtsOfKilledAgent kills the program between two rounds of an agent: the run continues with the thoughts
// of the first round, signed or encrypted as the server sent them, without which the server would refuse the
// tool's answer. The first round is not requested again.
func TestThoughtsOfKilledAgent(t *testing.T) {
	event := func(name, members string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
	}
	block := func(index int, start, delta string) string {
		at := fmt.Sprintf(`,"index":%d`, index)
		return event("content_block_start", at+`,"content_block":`+start) + event("content_block_delta", at+`,"delta":`+delta) + event("content_block_stop", at)
	}
	begin := event("message_start", `,"message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":7,"output_tokens":1}}`)
	end := func(reason string) string {
		return event("message_delta", `,"delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":2}`) + event("message_stop", "")
	}
	thought := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA-secret-thought"}`
	item := func(index int, item string) string {
		return event("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, index, item))
	}
	for _, tt := range []struct {
		provider    string
		first, last string
		want        []string // parts of each later request
	}{
		{
			provider: "anthropic",
			first: begin + block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Which hours?"}`) +
				block(1, `{"type":"thinking","thinking":"Look.","signature":""}`, `{"type":"signature_delta","signature":"signed-thought"}`) +
				block(2, `{"type":"tool_use","id":"call_1","name":"hours","input":{}}`, `{"type":"input_json_delta","partial_json":"{}"}`) + end("tool_use"),
			last: begin + block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"We open at nine."}`) + end("end_turn"),
			want: []string{`"signature":"signed-thought"`, `"thinking":"Look."`, `"tool_use_id":"call_1"`},
		},
		{
			provider: "openai-responses",
			first: item(0, thought) + item(1, `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"hours","arguments":"{}","status":"completed"}`) +
				event("response.completed", `,"response":{"object":"response","status":"completed","output":[]}`),
			last: event("response.output_text.delta", `,"output_index":0,"item_id":"m","delta":"We open at nine."`) +
				event("response.completed", `,"response":{"object":"response","status":"completed","output":[]}`),
			want: []string{`"encrypted_content":"gAAA-secret-thought"`, `"call_id":"call_1"`, `"type":"function_call_output"`},
		},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			server := &thinkingServer{first: tt.first, last: tt.last, asked: make(chan struct{})}
			model := httptest.NewServer(server)
			defer model.Close()
			dir := writeThinkingAgent(t, tt.provider, model.URL)
			run := newProgram(t, dir, "run", "desk.yaml")
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- run.Wait() }()
			select {
			case <-server.asked:
			case err := <-ended:
				t.Fatalf("the run ended early: %v\n%s", err, run.Stderr)
			}
			if err := run.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended

			resume := newProgram(t, dir, "resume", "last")
			out, err := resume.Output()
			if err != nil || !strings.Contains(string(out), "We open at nine.") {
				t.Fatalf("resume: %v\n%s%s", err, out, resume.Stderr)
			}
			if len(server.requests) != 3 {
				t.Fatalf("the server was asked %d times", len(server.requests))
			}
			for i, request := range server.requests[1:] {
				for _, part := range tt.want {
					if !strings.Contains(request, part) {
						t.Errorf("request %d lacks %s:\n%s", i+2, part, request)
					}
				}
			}
		})
	}
}

// writeThinkingAgent writes a project whose flow has an agent with a tool.
func writeThinkingAgent(t *testing.T, provider, url string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"scheduler.yaml": fmt.Sprintf("llm:\n  default: m\n  providers:\n    - {name: m, type: %s, base_url: %q, model: thinker, max_retries: 0}\n", provider, url),
		"hours.yaml":     "name: hours\ndescription: When the shop is open.\nsteps:\n  - {id: t, call: template, with: {template: from nine}}\noutputs: {text: \"{{ t.text }}\"}\n",
		"desk.yaml": "steps:\n  - id: clerk\n    call: agent\n    with:\n      messages: [{role: user, content: When are you open}]\n" +
			"      tools: {flows: [{path: hours.yaml}]}\n    to_user: true\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newProgram returns a command that runs the program, which this test binary is by that name.
func newProgram(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "scheduler")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Stderr = &strings.Builder{}
	return cmd
}
