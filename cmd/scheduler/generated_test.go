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

// TestTestSchema holds configs/test.schema.json to the schema by which test files are read, in the same way.
func TestTestSchema(t *testing.T) {
	golden.Check(t, "../../configs/test.schema.json", string(suite.EditorSchema().AppendIndented(nil, "  "))+"\n")
}

// references are the languages of the generated guides, with the folder and the last line of each.
var references = []struct{ language, folder, nextOfKeys, nextOfCalls string }{
	{"en", "", "Next: [Calls](calls.md) has the parameters of each call.", "Next: [Extending the program](extend.md) shows how a call is written."},
	{"zh", "zh/", "下一步：[调用](calls.md)列出每个调用的参数。", "下一步：[扩展程序](../extend.md)说明怎样写一个调用。"},
}

// TestFlowReference holds docs/keys.md to the program's own types, in the same way.
func TestFlowReference(t *testing.T) {
	for _, r := range references {
		golden.Check(t, "../../docs/"+r.folder+"keys.md", flow.Reference(r.language)+"\n"+r.nextOfKeys+"\n")
	}
}

// TestCallReference holds docs/calls.md to the output of calls NAME --all.
func TestCallReference(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]string{
		"en": "# Calls\n\nMade by `go generate` of what the program reads; `scheduler calls NAME --all` prints the same.\n",
		"zh": "# 调用\n\n由 `go generate` 根据程序所读取的内容生成；`scheduler calls NAME --all` 输出同样的内容。\n",
	}
	for _, r := range references {
		page := []byte(headings[r.language])
		for _, name := range registry.CallNames() {
			def, _ := registry.Call(name)
			page = fmt.Appendf(page, "\n## %s\n\n```text\n%s```\n", name, describeCall(def, r.language, true))
		}
		golden.Check(t, "../../docs/"+r.folder+"calls.md", fmt.Sprintf("%s\n%s\n", page, r.nextOfCalls))
	}
}
