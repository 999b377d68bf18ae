package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

//go:generate go test . -run ^(TestFlowSchema|TestTestSchema|TestFlowReference|TestCallReference)$ -update

// TestFlowSchema holds configs/flow.schema.json to the program's own types. Run
// with -update to write it.
func TestFlowSchema(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	checkGenerated(t, "flow.schema.json", append(flow.EditorSchema(registry).AppendIndented(nil, "  "), '\n'))
}

// TestTestSchema holds configs/test.schema.json to what test files are read by, in the same way.
func TestTestSchema(t *testing.T) {
	checkGenerated(t, "test.schema.json", append(suite.EditorSchema().AppendIndented(nil, "  "), '\n'))
}

// TestFlowReference holds configs/flow.md to the program's own types, in the same way.
func TestFlowReference(t *testing.T) {
	checkGenerated(t, "flow.md", []byte(flow.Reference("en")))
}

// TestCallReference holds configs/calls.md to what calls NAME --all prints.
func TestCallReference(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	page := []byte("# Calls\n\nMade by `go generate` of what the program reads; `scheduler calls NAME --all` prints the same.\n")
	for _, name := range registry.CallNames() {
		def, _ := registry.Call(name)
		page = fmt.Appendf(page, "\n## %s\n\n```text\n%s```\n", name, describeCall(def, "en", true))
	}
	checkGenerated(t, "calls.md", page)
}

// checkGenerated compares a file of configs with what the program makes; with -update it
// writes the file.
func checkGenerated(t *testing.T, name string, want []byte) {
	t.Helper()
	path := "../../configs/" + name
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("configs/" + name + " is stale: run 'make generate'")
	}
}
