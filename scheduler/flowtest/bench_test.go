package flowtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// copyFlows copies the example flows, with a test file beside the quickstart.
func copyFlows(t testing.TB, tests string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../flows")); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "quickstart.test.yaml")
	if err := os.WriteFile(path, []byte(tests), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// BenchmarkPrompt is the prompt test of the quickstart, from the file to the results: under 100 ms.
func BenchmarkPrompt(b *testing.B) {
	dir, path := copyFlows(b, quickstartTests)
	for b.Loop() {
		w := newWorld(b, nil)
		w.run(b, w.load(b, dir, path))
	}
}

// BenchmarkReplay plays 1,000 recorded cases of the quickstart: under 20 s on two cores.
func BenchmarkReplay(b *testing.B) {
	const cases = 1000
	dir, path := copyFlows(b, `
dataset: {file: rows.csv}
cases:
  - name: answers
    expect:
      - {output: reply, contains: museum}
      - {prompt: answer, includes: {kind: input}, in: {role: user}}
`)
	var rows strings.Builder
	rows.WriteString("id,question\n")
	for i := range cases {
		fmt.Fprintf(&rows, "%d,Is the lighthouse open on day %d?\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(rows.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	w := newWorld(b, func(string) (llm.Provider, error) {
		return llmFunc(func(*llm.Request) string { return "The museum is open." }), nil
	})
	s := w.load(b, dir, path)
	w.options.Mode = result.Record
	w.run(b, s)
	w.options.Mode = result.Replay
	for b.Loop() {
		r := w.run(b, w.load(b, dir, path))
		if counts := r.Counts(); counts.Passed != cases {
			b.Fatalf("%+v\n%s", counts, lines(b, r)[:2000])
		}
	}
}
