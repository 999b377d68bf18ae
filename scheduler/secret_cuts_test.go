package scheduler_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const cutKey = "sk-Qw7z9-Plmokn-4711"

// echo answers with a status and a text.
type echo struct {
	status int
	text   string
}

func (e echo) Do(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: e.status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader(e.text)), Request: req}, nil
}

// showsKey reports whether a text has the beginning or the end of cutKey.
func showsKey(text string) bool {
	return strings.Contains(text, cutKey[:5]) || strings.Contains(text, cutKey[len(cutKey)-5:])
}

// No event has a part of a secret that a server repeats around a cut, and no prompt that is made of it.
func TestSecretsAroundCuts(t *testing.T) {
	const flow = `
steps:
  - {id: failed, call: http, with: {url: "http://example.com/", headers: {X-Key: "{{ secrets.KEY }}"}}, on_error: continue}
  - id: work
    call: agent
    with: {prompt: Go, max_result_bytes: 256, tools: {http: [{name: look, with: {url: "http://example.com/", headers: {X-Key: "{{ secrets.KEY }}"}}}]}}
  - {id: told, call: chat, with: {user: "{{ failed.error.message }}"}}
`
	for status, limit := range map[int]int{500: 200, 200: 256} { // http cuts texts of errors, agent results of tools
		for offset := limit - len(cutKey) - 3; offset <= limit; offset++ {
			text := strings.Repeat("w", offset) + cutKey + strings.Repeat(" tail", 40)
			use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "look", Arguments: "{}"}}}
			model := scripted.New(use, scripted.Answer{Text: "done"}, scripted.Answer{Text: "done"})
			r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", cutKey), schedulertest.LLM(model),
				schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.HTTP = echo{status, text} }))
			if r.Err != nil && status == 500 {
				t.Fatal(r.Err)
			}
			for _, ev := range r.Events {
				if data, err := json.Marshal(ev); err != nil || showsKey(string(data)) {
					t.Fatalf("status %d, the key at %d: %s %v", status, offset, data, err)
				}
			}
			for _, req := range model.Requests() {
				for _, m := range req.Messages {
					if showsKey(string(m)) {
						t.Fatalf("status %d, the key at %d: the model reads %s", status, offset, m)
					}
				}
			}
		}
	}
}

// A text that is cut to a budget of tokens is not cut inside a secret.
func TestSecretsAroundBudgets(t *testing.T) {
	const flow = `
inputs: {type: object, properties: {text: {type: string}}}
steps:
  - {id: prompt, call: context, with: {current_message: hi, max_tokens: 100, memories: [{content: "{{ inputs.text }}"}], history: [{role: user, content: "{{ inputs.text }} {{ secrets.KEY }}"}]}}
  - {id: told, call: chat, with: {messages: "{{ prompt.messages }}"}}
`
	for offset := range 60 {
		text := strings.Repeat("w ", 100+offset) + cutKey + strings.Repeat(" tail", 100)
		r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", cutKey), schedulertest.LLM(scripted.Texts("fine")),
			schedulertest.Inputs(`{"text": "`+text+`"}`))
		for _, ev := range r.Events {
			if data, err := json.Marshal(ev); err != nil || showsKey(string(data)) {
				t.Fatalf("the key at %d: %s %v", offset, data, err)
			}
		}
	}
}

// The keys of the program itself are masked in answers, whole and in pieces.
func TestKeysOfProgram(t *testing.T) {
	for _, text := range []string{"your key is " + cutKey, `{\"key\": \"` + strings.ReplaceAll(cutKey, "-", `\u002d`) + `\"}`, "&#115;" + cutKey[1:]} {
		r := schedulertest.Run(t, "steps: [{id: a, call: chat, with: {user: hi}, to_user: true}]", schedulertest.With(builtin.Calls()...),
			schedulertest.LLM(scripted.New(scripted.Answer{Text: text})),
			schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Keys = func() []string { return []string{cutKey} } }))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		shown := ""
		for _, ev := range r.Events {
			if data, err := json.Marshal(ev); err != nil || showsKey(string(data)) || strings.Contains(string(data), cutKey[5:12]) {
				t.Errorf("%s: %s %v", text, data, err)
			}
			if ev.Data != nil {
				shown += ev.Data.Text
			}
		}
		if !strings.Contains(shown, "***") {
			t.Errorf("%s: shown as %q", text, shown)
		}
	}
}
