package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
)

// TestManPages writes a man page for each command: into the folder MAN_PAGES for a release (.ci/release-docs),
// else into one that is removed again. The code that writes them is in a test, so that the program does not need
// it.
func TestManPages(t *testing.T) {
	dir := os.Getenv("MAN_PAGES")
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRoot(&app{Terminal: &terminal.Terminal{}})
	root.DisableAutoGenTag = true // it has today's date
	root.InitDefaultCompletionCmd()
	header := &doc.GenManHeader{Title: "SCHEDULER", Section: "1", Source: "scheduler " + buildVersion(), Manual: "scheduler"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for page, text := range map[string]string{
		"scheduler.1": "", "scheduler-memory-add.1": "", "scheduler-completion-bash.1": "", "scheduler-run.1": "scheduler run FLOW",
	} {
		got, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !strings.Contains(string(got), text) {
			t.Errorf("%s: %v in %.200s", page, err, got)
		}
	}
}
