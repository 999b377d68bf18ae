package flow_test

import (
	"os"
	"path/filepath"
	"strings"
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

// The parameters of an operation have the draft of its document, and so has override_input.
func TestOverrideOfAnOperation(t *testing.T) {
	registry, err := calls.NewRegistry(builtin.Calls()...)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string][]string{
		"3.1.0": {
			`f.yaml:3:313: override_input/body/items: not a JSON Schema: expected object or boolean, but got array`,
			`f.yaml:4:124: override_input/body/default/0: want integer, got string`,
		},
		"3.0.3": {
			`f.yaml:3:342: override_input/body/default/0: want integer, got string`,
			`f.yaml:4:82: warning: override_input/body: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect (use items: [...])`,
		},
	} {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(`inputs: {properties: {op: {type: string}}}
steps:
  - {id: a, call: http, enable_filling: true, with: &op {openapi: &doc {openapi: `+version+`, info: {title: t, version: "1"}, servers: [{url: "https://h"}], paths: {/x: {put:  {operationId: make, requestBody: {content: {application/json: {schema: {type: array}}}}}}}}, operation: make}, override_input: {body: {items: [{type: integer}], default: [x]}}}
  - {id: b, call: http, enable_filling: true, with: *op, override_input: {body: {prefixItems: [{type: integer}], default: [x]}}}
  - {id: c, call: http, enable_filling: true, with: {openapi: *doc, operation: "{{ inputs.op }}"}, override_input: {body: {items: [{type: integer}]}}}
  - {id: d, call: http, enable_filling: true, with: {openapi: *doc, operation: "{{ inputs.op }}"}, override_input: {body: {prefixItems: [{$anchor: x}], items: {$ref: "#x"}}}}
`), 0o600); err != nil {
			t.Fatal(err)
		}
		_, problems := (&flow.Loader{Registry: registry}).Load(file)
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(p.String(), filepath.Dir(file)+string(filepath.Separator)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}
