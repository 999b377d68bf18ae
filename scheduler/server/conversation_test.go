package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestConversationDoors: the same conversation makes the same prompt through /v1 and POST /runs, and a flow that reads none
// says that it was ignored.
func TestConversationDoors(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	const talk = `
inputs: {type: object, required: [question], properties: {question: {type: string}}}
steps: [{id: say, call: template, with: {template: "{% for m in conversation %}{{ m.role }}: {{ m.content }}; {% endfor %}{{ question }}"}}]
outputs: {reply: "{{ say.text }}"}
`
	if err := os.WriteFile(filepath.Join(dir, "flows", "talk.yaml"), []byte(talk), 0o600); err != nil {
		t.Fatal(err)
	}
	const before = `{"role": "system", "content": "Rhyme."}, {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}`
	const want = "system: Rhyme.; user: one; assistant: two; three"
	r := f.chat(token, "talk", `[`+before+`, {"role": "user", "content": "three"}]`, "")
	if r.at(said) != want || strings.Contains(r.text, "ignored") {
		t.Errorf("by /v1: %d %s", r.status, r.text)
	}
	started := f.do(token, "POST", "/api/v1/runs?wait=20s", `{"flow": "talk", "inputs": {"question": "three"}, "conversation": [`+before+`]}`)
	if !strings.Contains(started.text, want) {
		t.Errorf("by POST /runs: %d %s", started.status, started.text)
	}
	r = f.chat(token, "echo", `[`+before+`, {"role": "user", "content": "three"}]`, "")
	if !strings.Contains(r.text, `"ignored":["messages"]`) {
		t.Errorf("a flow that reads the last message only: %s", r.text)
	}
	wrong := f.do(token, "POST", "/api/v1/runs", `{"flow": "talk", "inputs": {"question": "three"}, "conversation": [{"role": "robot"}]}`)
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.text, "conversation[0]") {
		t.Errorf("a message that is none: %d %s", wrong.status, wrong.text)
	}
}
