package scheduler_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// TestOtherRoot: a run continues on a machine with the project in another folder, without the files of its flow.
func TestOtherRoot(t *testing.T) {
	var e *scheduler.StepExecutor
	r := schedulertest.Run(t, `
steps:
  - {id: a, call: echo, with: {x: !file data/x.json}}
  - {id: again, call: once, with: {path: "{{ 'inner.yaml' }}"}}
  - {id: sub, call: flow, with: {path: "{{ 'inner.yaml' }}"}}
-- data/x.json --
[1]
-- inner.yaml --
steps: [{id: y, call: echo, with: {y: !file data/x.json}}]
`, journaled(t), captured(&e), schedulertest.With(flowcall.Definition(), failOnce()), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Root, _ = os.Getwd()
	}))
	if r.Err == nil {
		t.Fatal("the step did not fail")
	}
	header, err := e.Journal.Header(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	if header.File != "flow.yaml" || string(header.Text.Files["data/x.json"]) != "[1]\n" {
		t.Errorf("the journal has %s and %v", header.File, header.Text.Files)
	}
	elsewhere := t.TempDir()
	for _, name := range []string{"inner.yaml", "data/x.json"} { // only its step knows that it runs inner.yaml
		content, err := os.ReadFile(name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(elsewhere, name), content, 0o600)
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	e.Root = elsewhere
	r = r.Resume(scheduler.Resumption{})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if diff := cmp.Diff(`{"sub":{"y":{"y":[1]}}}`, r.Outputs.JSON()); diff != "" {
		t.Error(diff)
	}
	header, err = e.Journal.Header(t.Context(), "run-1")
	if err != nil || header.Text.Files["inner.yaml"] == nil {
		t.Errorf("the journal has %v, %v", header.Text.Files, err)
	}
}
