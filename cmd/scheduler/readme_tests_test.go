package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readmeFiles returns the blocks of the section Test of the README that begin with the name of a file, as in
// "# guard.test.yaml".
func readmeFiles(t *testing.T) map[string]string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(readme), "\n## Test\n")
	if !ok {
		t.Fatal("the README has no section Test")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	files := map[string]string{}
	for i, block := range strings.Split(section, "```") {
		if i%2 == 0 {
			continue
		}
		_, block, _ = strings.Cut(block, "\n")
		if name, text, ok := strings.Cut(block, "\n"); ok && strings.HasPrefix(name, "# ") {
			files[strings.TrimPrefix(name, "# ")] = text
		}
	}
	return files
}

// answerAs is a server that answers as a model, and as a judge who finds all criteria met.
func answerAs(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		text := "On Sunday from 11:00 to 16:00."
		if n := strings.Count(string(asked), "Invents nothing"); n > 0 || strings.Contains(string(asked), "Names the opening hours") {
			verdicts := []map[string]any{{"reason": "It does.", "met": true}}
			if n > 0 {
				verdicts = append(verdicts, verdicts[0])
			}
			judged, err := json.Marshal(map[string]any{"criteria": verdicts})
			if err != nil {
				t.Error(err)
			}
			text = string(judged)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}, "finish_reason": "stop"}}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte("data: " + string(delta) + "\n\ndata: [DONE]\n\n")) // a test that ended does not read it
	}))
	t.Cleanup(server.Close)
	return server
}

// TestReadmeTests runs the test files that the README shows, as people would who copied them beside the example
// flows.
func TestReadmeTests(t *testing.T) {
	files := readmeFiles(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../flows")); err != nil {
		t.Fatal(err)
	}
	files["scheduler.yaml"] = "llm: {providers: [" +
		"{name: main, base_url: \"" + answerAs(t).URL + "\", api_key_env: README_KEY, model: m}, {name: judge, base_url: \"" + answerAs(t).URL + "\", api_key_env: README_KEY, model: j}]}\n"
	files["labels.jsonl"] = `{"text": "On Sunday from 11:00.", "pass": true}` + "\n" + `{"text": "Come by.", "pass": false}` + "\n"
	tests := 0
	for name, text := range files {
		if strings.HasSuffix(name, ".test.yaml") {
			tests++
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if tests != 5 {
		t.Fatalf("the README shows %d test files", tests)
	}
	t.Chdir(dir)
	t.Setenv("README_KEY", "a-key-of-the-readme")
	runTest := func(want string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := runProgram(append([]string{"test"}, args...), strings.NewReader(""), &stdout, &stderr)
		if code != exitDone || !strings.Contains(stdout.String(), want) {
			t.Errorf("%v: exit code %d, and %q is wanted\n%s%s", args, code, want, &stdout, &stderr)
		}
	}
	runTest("1 passed", "guard.test.yaml")
	runTest("1 passed", "lorebook.test.yaml")
	runTest("2 passed", "retrieval.test.yaml")
	runTest("1 passed", "shop.test.yaml")
	runTest("1 passed", "judged.test.yaml", "--record")
	runTest("1 passed", "judged.test.yaml")
	runTest("agreement 0.50", "calibrate", "labels.jsonl", "--record", "--llm", "judge", "--criterion", "Names the opening hours of Sunday")
	runTest("", "./...", "--bless", "main")
	runTest("main", "./...", "--against", "main", "--report", "junit=out/junit.xml,html=out/tests.html")
	for _, file := range []string{"out/junit.xml", "out/tests.html", "main.test.baseline.json", "judges.calibration.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), "a-key-of-the-readme") {
			t.Errorf("the key is in %s", file)
		}
	}
}
