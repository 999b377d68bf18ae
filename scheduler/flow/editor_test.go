package flow

import (
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/test/golden"
)

func editorSchema(t *testing.T) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(EditorSchema(fakeRegistry(t)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The editor's schema is pinned, and takes every flow that lint takes.
func TestEditorSchema(t *testing.T) {
	s := editorSchema(t)
	golden.Check(t, "testdata/flow.schema.json", string(s.Doc().AppendIndented(nil, "  "))+"\n")
	for _, file := range []string{"testdata/lint/good.yaml", "testdata/lint/never.yaml", "testdata/lint/skipped.yaml", "graph/testdata/all.yaml"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if problems := s.Check(editorValue(t, src)); len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
		}
	}
}

// TestEditorSchemaProviders: the names of model providers are offered at all their places, and others are not
// refused.
func TestEditorSchemaProviders(t *testing.T) {
	doc := EditorSchema(fakeRegistry(t), "main", "backup")
	for _, pointer := range []string{
		"/properties/llm/anyOf/0/enum", "/properties/llm/anyOf/2/items/anyOf/0/enum",
		"/properties/steps/items/properties/llm/anyOf/0/enum", "/properties/steps/items/properties/llm/anyOf/2/items/anyOf/0/enum",
	} {
		if names, _ := doc.At(pointer); names.JSON() != `["main","backup"]` {
			t.Errorf("%s is %s", pointer, names.JSON())
		}
	}
	s, err := schema.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{`{llm: other, steps: [{id: a, call: chat, llm: [main, other]}]}`, `{llm: [main], steps: [{id: a, call: chat, llm: "{{ x }}"}]}`} {
		if problems := s.Check(editorValue(t, []byte(src))); len(problems) > 0 {
			t.Errorf("%s: %v", src, problems)
		}
	}
}

func TestEditorSchemaRefuses(t *testing.T) {
	s := editorSchema(t)
	for src, want := range map[string]string{
		`steps: []`:                                                               "/steps",
		`steps: [{id: a, call: chat, nede: []}]`:                                  "nede",
		`steps: [{id: A, call: chat}]`:                                            "/steps/0/id",
		`steps: [{id: inputs, call: chat}]`:                                       "/steps/0/id",
		`steps: [{id: a, call: chatt}]`:                                           "/steps/0/call",
		`steps: [{id: a, call: chat, with: {topic: 1}}]`:                          "topic",
		`steps: [{id: a, call: chat, with: {temperature: warm}}]`:                 "temperature",
		`steps: [{id: a, call: context, with: {workspace: w}}]`:                   "current_message",
		`steps: [{id: a, call: context}]`:                                         "with",
		`steps: [{id: a, call: chat, timeout: 5}]`:                                "timeout",
		`{steps: [{id: a, call: chat}], inputs: {properties: {a: {type: oops}}}}`: "/inputs",
	} {
		problems := s.Check(editorValue(t, []byte(src)))
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: want a problem at %s, got %v", src, want, problems)
		}
	}
	for _, src := range []string{
		`steps: [{id: a, call: chat, with: {temperature: "{{ x }}", stop: ["{{ x }}"], messages: "{{ x }}"}}]`,
		`steps: [{id: a, call: context, enable_filling: true}]`,
		`steps: [{id: a, call: plugin.anything, with: {b: 1}}]`,
		`steps: [{id: a, call: chat, with: "{{ item }}"}]`,
		`steps: [{id: a, call: conditional, with: {either: "{{ x }}"}}, {id: b, call: conditional, with: {either: {n: "{{ x }}"}}}]`,
	} {
		if problems := s.Check(editorValue(t, []byte(src))); len(problems) > 0 {
			t.Errorf("%s: %v", src, problems)
		}
	}
}

// editorValue reads a flow as an editor does: tags are not followed.
func editorValue(t *testing.T, src []byte) value.Value {
	t.Helper()
	root, err := yaml.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	var untag func(n *yaml.Node)
	untag = func(n *yaml.Node) {
		if ownTag(n) != "" {
			n.Tag, n.Style = "", n.Style&^yaml.Tagged
		}
		for _, c := range n.Content {
			untag(c)
		}
	}
	untag(root)
	v, err := yaml.Value(root)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
