package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
)

//go:generate go test . -run ^(TestFlowSchema|TestFlowReference)$ -update

// TestFlowSchema holds configs/flow.schema.json to the program's own types. Run
// with -update to write it.
func TestFlowSchema(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	checkGenerated(t, "flow.schema.json", append(flow.EditorSchema(registry).AppendIndented(nil, "  "), '\n'))
}

// TestFlowReference holds configs/flow.md to the program's own types, in the same way.
func TestFlowReference(t *testing.T) {
	checkGenerated(t, "flow.md", []byte(flow.Reference()))
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
