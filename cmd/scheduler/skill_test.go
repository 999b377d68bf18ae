package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/skills"
	"github.com/callnode/scheduler/test/golden"
)

// skillTasks are the tasks of TestSkill by the names of the flows that solve them.
var skillTasks = []struct{ flow, task string }{
	{"museum", "Write a flow museum: the guide of a harbour museum answers a visitor, who may have a name, and refuses other topics. It is open from 10:00 to 17:00, and closed on Monday."},
	{"topics", "Write a flow topics: sort the message of a customer into complaint, praise or other. Say sorry for a complaint; do not answer the others."},
	{"booking", "Write a flow booking: take the day and the number of people of a table, up to twelve, from the message, and ask for what is missing."},
	{"translate", "Write a flow translate: translate each text of a list into a language, four at a time."},
	{"forecast", "Write a flow forecast: ask https://api.example.com/forecast?city=CITY for the sky, and tell it. Say so if the forecast cannot be had."},
}

// TestSkill: an agent that follows the skill for coding agents writes flows that lint clean, and tests that pass. Its runs are
// played from a cassette.
//
// No model took part: the answers in testdata/skill were written by hand, by following the skill, and -update
// records them from a server that sends them. The test therefore checks that an agent finds the skill and reads
// it, and that a flow written by following the skill is right. It does not show how often a model would write it
// so. The cassette holds the skill: after a change of it, check whether the answers still follow it, and run with
// -update.
func TestSkill(t *testing.T) {
	kept, err := filepath.Abs(filepath.Join("testdata", "skill"))
	if err != nil {
		t.Fatal(err)
	}
	project := t.TempDir()
	if err := os.CopyFS(filepath.Join(project, ".agents", "skills"), skills.Files); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	t.Setenv("SCHEDULER_LANGUAGE", "en")
	t.Setenv("TZ", "UTC")
	copyFile(t, filepath.Join(kept, "writer.yaml"), "writer.yaml")
	mode := "--replay"
	if golden.Updating() {
		mode = "--record"
		server := httptest.NewServer(&flowAuthor{t: t, folder: kept})
		t.Cleanup(server.Close)
		writeFile(t, "scheduler.yaml", fmt.Sprintf(`{llm: {default: author, providers: [{name: author, base_url: "%s/v1", model: by-hand}]}}`, server.URL))
	} else {
		copyFile(t, filepath.Join(kept, "writer.cassette.yaml"), "writer.cassette.yaml")
	}
	for _, task := range skillTasks {
		args := []string{"run", "writer.yaml", mode, "--outputs", "-i", "task=" + task.task}
		if mode == "--record" {
			args = append(args, "--now", "2026-11-28T09:00:00Z")
		}
		var out, told strings.Builder
		if code := runProgram(args, strings.NewReader(""), &out, &told); code != exitDone {
			t.Fatalf("%s: exit code %d\n%s", task.flow, code, told.String())
		}
		var outputs struct {
			Written struct{ Name, Flow, Test string }
		}
		if err := json.Unmarshal([]byte(out.String()), &outputs); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("flows", outputs.Written.Name)
		if outputs.Written.Name != task.flow {
			t.Errorf("%s: the flow is called %s", task.flow, outputs.Written.Name)
		}
		if err := os.MkdirAll("flows", 0o750); err != nil {
			t.Fatal(err)
		}
		writeFile(t, name+".yaml", outputs.Written.Flow)
		writeFile(t, name+".test.yaml", outputs.Written.Test)
	}
	if code, output := runDocs("lint", "flows"); code != exitDone || output != "" {
		t.Errorf("lint: exit code %d\n%s", code, output)
	}
	if code, output := runDocs("test", "flows"); code != exitDone || strings.Count(output, "ok    ") != len(skillTasks) {
		t.Errorf("test: exit code %d\n%s", code, output)
	}
	if golden.Updating() {
		copyFile(t, "writer.cassette.yaml", filepath.Join(kept, "writer.cassette.yaml"))
	}
}

// flowAuthor is a model server that reads the skill in the first round, and then sends the flow of the task from a folder.
type flowAuthor struct {
	t      *testing.T
	folder string
}

func (a *flowAuthor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	asked := string(body)
	delta := map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "skill", "type": "function", "function": map[string]any{"name": "read_skill", "arguments": `{"name": "scheduler"}`}}}}
	reason := "tool_calls"
	if strings.Contains(asked, "# Flows of scheduler") { // the skill was read
		reason, delta = "stop", map[string]any{"content": a.answer(asked)}
	}
	chunk, err := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
		"usage":   map[string]any{"prompt_tokens": len(asked) / 4, "completion_tokens": 300},
	})
	if err != nil {
		a.t.Error(err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

// answer returns the flow and the test of the task that was asked for.
func (a *flowAuthor) answer(asked string) string {
	for _, task := range skillTasks {
		if !strings.Contains(asked, "Write a flow "+task.flow+":") {
			continue
		}
		written := map[string]string{"name": task.flow}
		for member, file := range map[string]string{"flow": task.flow + ".yaml", "test": task.flow + ".test.yaml"} {
			text, err := os.ReadFile(filepath.Join(a.folder, file))
			if err != nil {
				a.t.Error(err)
			}
			written[member] = string(text)
		}
		answer, err := json.Marshal(written)
		if err != nil {
			a.t.Error(err)
		}
		return string(answer)
	}
	a.t.Errorf("no task is asked for: %s", asked)
	return "{}"
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, string(text))
}
