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
	const path = "../../configs/flow.schema.json"
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	want := append(flow.EditorSchema(registry).AppendIndented(nil, "  "), '\n')
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
		t.Error("configs/flow.schema.json is stale: run 'make generate'")
	}
}

// TestFlowReference holds configs/flow.md to the program's own types, in the same way.
func TestFlowReference(t *testing.T) {
	const path = "../../configs/flow.md"
	want := []byte(flow.Reference())
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
		t.Error("configs/flow.md is stale: run 'make generate'")
	}
}
