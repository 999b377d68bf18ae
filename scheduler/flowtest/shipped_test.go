package flowtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/test/slow"
)

// edit is one change of a file of the quickstart.
type edit struct{ file, before, after string }

// promptEdits returns single edits of the quickstart and its files. Each changes the prompt of the model, or
// the output for the user.
func promptEdits() []edit {
	const (
		flow, briefing, presets, history = "quickstart.yaml", "quickstart/briefing.jsonc", "quickstart/presets.json", "quickstart/history.json"
		book, rules, skill               = "quickstart/world_book.yaml", "quickstart/workspace/AGENTS.md", "quickstart/workspace/skills/opening-hours/SKILL.md"
	)
	return []edit{
		// texts
		{flow, "You are the guide", "You are a guide"},
		{flow, "Say only what the material below supports.", ""},
		{flow, "is afraid of narrow stairs", "is fond of narrow stairs"},
		{flow, "on Sunday?", "on Monday?"},
		{flow, "default: Mei", "default: May"},
		{briefing, "The visitor asks: ", "Someone asks: "},
		{briefing, `"\n\n"`, `"\n"`},
		{presets, "at most four", "at most five"},
		{history, "1886", "1887"},
		{book, "143 steps", "134 steps"},
		{rules, "Never promise", "Promise"},
		{skill, "closed on Monday", "open on Monday"},
		{skill, "The timetable of the museum", "The time of the museum"},
		// sources
		{flow, "{{ inputs.visitor }} is afraid", "Mei is afraid"},
		{flow, `user_input: "{{ inputs.question }}"`, "user_input: Do you remember what we said about the lighthouse? And can I go up on Sunday?"},
		{flow, "You speak with {{ inputs.visitor }}", "You speak with Mei"},
		{flow, `current_message: "{{ briefing.prompt }}"`, `current_message: "{{ inputs.question }}"`},
		{flow, "{messages: \"{{ scene.messages }}\"", "{messages: \"{{ prompt.messages }}\""},
		// the user's words in the instructions
		{flow, "Say only what", "{{ inputs.question }} Say only what"},
		// parts that are gone, or new
		{flow, "      workspace: quickstart/workspace\n", ""},
		{flow, "      presets_in_chat: !file quickstart/presets.json\n", ""},
		{flow, "      world_books: !file quickstart/world_book.yaml\n", ""},
		{flow, "      history: !file quickstart/history.json\n      current", "      current"},
		{flow, "        long_term: [{text: \"{{ inputs.visitor }} is afraid of narrow stairs.\", score: 0.82}]\n", ""},
		{history, `  {"role": "user", "content": "My grandmother told me a story about its keeper."},` + "\n", ""},
		{history, `[
`, `[
  {"role": "user", "content": "Good morning."},
`},
		{book, "mode: conditional\n    condition: \"<<keywords:whale,skeleton>>\"", "mode: always"},
		{presets, `"enabled": false`, `"enabled": true`},
		{briefing, `"importance_func": false`, `"importance_func": true`},
		{briefing, `"importance_func": "is_relevant"`, `"importance_func": false`},
		{book, "keywords:keeper,Vesper", "keywords:captain"},
		{book, "name: The keeper", "name: The captain"},
		// reasons
		{flow, "season: autumn", "season: winter"},
		{flow, "visits: 2", "visits: 1"},
		{presets, "getvar('season') == 'winter'", "getvar('visits') == 7"},
		{presets, `"identifier": "winter-notice", "name": "Winter notice", "position": "in-chat", "enabled": true`, `"identifier": "winter-notice", "name": "Winter notice", "position": "in-chat", "enabled": false`},
		// roles and order
		{history, `"role": "assistant"`, `"role": "user"`},
		{presets, `"role": "system"`, `"role": "user"`},
		{presets, `"depth": 0`, `"depth": 3`},
		{book, "depth: 2", "depth: 3"},
		{book, "order: 110", "order: 80"},
		{briefing, `"module_name": "memories"`, `"module_name": "notes"`},
		{flow, "language: en", "language: zh"},
		// parameters
		{flow, "score: 0.82", "score: 0.91"},
		{flow, "temperature: 0.3", "temperature: 0.9"},
		{flow, "max_tokens: 400}", "max_tokens: 4000}"},
		{flow, "temperature: 0.3, ", ""},
		{flow, "max_tokens: 400}", "max_tokens: 400, model: large}"},
		{flow, "max_tokens: 400}", "max_tokens: 400, extra: {top_p: 0.1}}"},
		{flow, "max_tokens: 400}", "max_tokens: 400, response_schema: {properties: {stairs: {type: integer}}}}"},
		{flow, "max_attempts: 3", "max_attempts: 2"},
		{flow, "max_attempts: 3", "max_attempts: 4"},
		{flow, "initial_interval: 500ms", "initial_interval: 5s"},
		{flow, "multiplier: 2", "multiplier: 3"},
		{flow, "max_interval: 10s", "max_interval: 600ms"},
		{flow, "    retry: {max_attempts: 3, initial_interval: 500ms, multiplier: 2, max_interval: 10s}\n", ""},
		{flow, "max_tokens: 4000\n", "max_tokens: 300\n"},
		{flow, "to_user: true", "to_user: false"},
		{flow, `reply: "{{ answer.text }}"`, `reply: "{{ prompt.messages | length }}"`},
	}
}

// projectEdits are single edits of the flow that scheduler init writes, and of its files.
func projectEdits() []edit {
	const flow, rules = "hello.yaml", "hello/workspace/AGENTS.md"
	return []edit{
		{flow, "helpful assistant", "assistant"},
		{flow, "helpful assistant", "helpful assistant. {{ inputs.question }}"},
		{flow, "      identity: You are a helpful assistant.\n", ""},
		{flow, "      workspace: hello/workspace\n", ""},
		{flow, "What can you do", "What do you do"},
		{flow, "current_message: \"{{ inputs.question }}\"", "current_message: What can you do for me?"},
		{flow, "{messages: \"{{ prompt.messages }}\"}", "{user: \"{{ inputs.question }}\"}"},
		{flow, `{{ prompt.messages }}"}`, `{{ prompt.messages }}", temperature: 0.9}`},
		{flow, `{{ prompt.messages }}"}`, `{{ prompt.messages }}", max_tokens: 20}`},
		{flow, "    to_user: true\n", ""},
		{flow, "{{ answer.text }}", "{{ prompt.tokens }}"},
		{rules, "one or two", "two or three"},
	}
}

// The test files of the quickstart and of a new project pass, and any single edit of the flow, or of a file that it reads, fails
// one of their cases. Without slow tests, every fourth edit is tried.
func TestShippedTestsCatchEveryEdit(t *testing.T) {
	for _, shipped := range []struct {
		folder, file string
		edits        []edit
	}{
		{"../../flows", "quickstart.test.yaml", promptEdits()},
		{"../../cmd/scheduler/starter/hello/flows", "hello.test.yaml", projectEdits()},
	} {
		if left := notPassed(t, copyFolder(t, shipped.folder), shipped.file); left != nil {
			t.Fatalf("%s: without an edit: %v", shipped.file, left)
		}
		for i, e := range shipped.edits {
			if i%4 != 0 && !slow.Enabled() {
				continue
			}
			dir := copyFolder(t, shipped.folder)
			e.make(t, dir)
			if left := notPassed(t, dir, shipped.file); len(left) == 0 {
				t.Errorf("%s: %q instead of %q is not caught", e.file, e.after, e.before)
			}
		}
	}
}

// The test files of the other flows pass, and any single edit fails one of their cases, or is an error of the flow.
func TestFlowTestsCatchEveryEdit(t *testing.T) {
	for name, edits := range flowEdits() {
		file := name + ".test.yaml"
		if left := notPassed(t, copyFolder(t, "../../flows"), file); left != nil {
			t.Fatalf("%s: without an edit: %v", file, left)
		}
		for _, e := range edits {
			dir := copyFolder(t, "../../flows")
			e.make(t, dir)
			if left := notPassed(t, dir, file); len(left) == 0 {
				t.Errorf("%s: %q instead of %q is not caught", e.file, e.after, e.before)
			}
		}
	}
}

// make edits a file of a folder.
func (e edit) make(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), e.before, e.after, 1)
	if edited == string(text) {
		t.Errorf("%s has no %q", e.file, e.before)
	}
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyFolder returns a copy of a folder.
func copyFolder(t *testing.T, folder string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// notPassed runs a test file of a folder, and lists the cases that do not pass.
func notPassed(t *testing.T, dir, file string) (ids []string) {
	t.Helper()
	w := newWorld(t, nil)
	for id, outcome := range outcomes(w.run(t, w.load(t, dir, filepath.Join(dir, file)))) {
		if outcome != result.Pass {
			ids = append(ids, id)
		}
	}
	return ids
}
