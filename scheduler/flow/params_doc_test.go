package flow_test

import (
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// TestParamExamples: every parameter of every call has an example that fits it, also nested ones.
func TestParamExamples(t *testing.T) {
	for _, def := range builtin.Calls() {
		checkExamples(t, def.Info.Name, flow.ParamsDoc(def.Info))
	}
}

func checkExamples(t *testing.T, path string, doc value.Value) {
	t.Helper()
	properties, _ := doc.Get("properties")
	for name, p := range properties.Map().All() {
		at := path + "." + name
		example, ok := p.At("/examples/0")
		if !ok {
			t.Errorf("%s has no example (give the field an example tag)", at)
			continue
		}
		s, err := schema.Parse(p)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if problems := s.Check(example); problems != nil {
			t.Errorf("%s: the example %s does not fit: %v", at, example.JSON(), problems)
		}
		for items, isList := p.Get("items"); isList; items, isList = p.Get("items") {
			p = items
		}
		checkExamples(t, at, p)
	}
}
