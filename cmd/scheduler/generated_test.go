package main

import (
	"fmt"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/test/golden"
)

//go:generate go test . -run ^(TestFlowSchema|TestTestSchema|TestFlowReference|TestCallReference)$ -update

// TestFlowSchema holds configs/flow.schema.json to the program's own types. Run
// with -update to write it.
func TestFlowSchema(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../configs/flow.schema.json", string(flow.EditorSchema(registry).AppendIndented(nil, "  "))+"\n")
}

// TestTestSchema holds configs/test.schema.json to what test files are read by, in the same way.
func TestTestSchema(t *testing.T) {
	golden.Check(t, "../../configs/test.schema.json", string(suite.EditorSchema().AppendIndented(nil, "  "))+"\n")
}

// TestFlowReference holds configs/flow.md to the program's own types, in the same way.
func TestFlowReference(t *testing.T) {
	golden.Check(t, "../../configs/flow.md", flow.Reference("en"))
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
	golden.Check(t, "../../configs/calls.md", string(page))
}
