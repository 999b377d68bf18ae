package flow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// Schemas in override_input are of the draft that the parameters of the call are of, as in a run.
func TestOverrideOfAnotherDraft(t *testing.T) {
	doc, err := yaml.ParseValue([]byte(`{$schema: "https://json-schema.org/draft/2020-12/schema", type: object, properties: {pair: {type: array}}}`))
	if err != nil {
		t.Fatal(err)
	}
	def := schedulertest.Fakes()[0]
	info := *def.Info
	info.Name = "later"
	info.Params, err = schema.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	def.Info = &info
	registry, err := calls.NewRegistry(append(builtin.Calls(), def)...)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := (&flow.Loader{Registry: registry}).LoadText("f.yaml", []byte(`steps:
  - {id: a, call: later, enable_filling: true, override_input: {pair: {prefixItems: [{type: integer}], default: [x]}}}
  - {id: b, call: later, enable_filling: true, override_input: {pair: {prefixItems: 5}}}
  - {id: c, call: chat, enable_filling: true, override_input: {user: {items: [{type: string}], default: [5]}}}
`), nil)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		`f.yaml:2:114: override_input/pair/default/0: want integer, got string`,
		`f.yaml:3:85: override_input/pair/prefixItems: not a JSON Schema: expected array, but got number`,
		`f.yaml:4:106: override_input/user/default/0: want string, got integer`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
