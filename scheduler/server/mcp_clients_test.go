package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/test/slow"
)

// TestMCPTypeScriptClients: the two TypeScript clients find and call the tools, in both eras.
func TestMCPTypeScriptClients(t *testing.T) {
	slow.Test(t)
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "mcp-clients"))); err != nil {
		t.Fatal(err)
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	for _, client := range []string{"sdk", "legacy", "auto"} {
		t.Run(client, func(t *testing.T) {
			cmd := exec.Command("node", "run.mjs", client, f.base+"/mcp", token)
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			doc, err := value.ParseJSON(out)
			if err != nil {
				t.Fatal(err)
			}
			for pointer, want := range map[string]string{
				"/echo/outputs/reply": "hello there", "/echo/state": "finished", "/wait/state": "finished", "/asked": "1", "/wrong": "true",
				"/run": "finished", "/tools/0": "answer_run",
			} {
				if got := textAt(doc, pointer); got != want {
					t.Errorf("%s is %s: %s", pointer, got, doc.JSON())
				}
			}
		})
	}
}
