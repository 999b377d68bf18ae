package suite

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Equal values of an axis are found however they are written, and those that results name alike.
func TestRepeatedValues(t *testing.T) {
	list, err := yaml.ParseValue([]byte(`[1, "1", 1.0, true, {a: 1}, "1", [2], {a: 1.0}, null, false, 1e0]`))
	if err != nil {
		t.Fatal(err)
	}
	repeated := repeatedValues(list.List())
	for i, want := range []bool{false, true, true, false, false, true, false, true, false, false, true} {
		if repeated[i] != want {
			t.Errorf("value %d is repeated: %v", i, repeated[i])
		}
	}
}

// Thousands of values are not each compared with all others.
func TestManyValuesOfAnAxis(t *testing.T) {
	values := make([]value.Value, 2000)
	for i := range values {
		values[i] = value.OfInt(int64(i))
		if i%2 == 1 { // to compare numbers of two kinds takes memory
			values[i] = value.OfFloat(float64(i) + 0.5)
		}
	}
	if allocations := testing.AllocsPerRun(1, func() { repeatedValues(values) }); allocations > 50_000 {
		t.Errorf("%v allocations", allocations)
	}
}

// The text of a flow is read once for all its variants, and so are the files that it reads.
func TestVariantsReadOnce(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- a.yaml --
steps:
  - {id: answer, call: chat, with: {system: !file system.txt, user: hello, temperature: 0}}
  - {id: sub, call: flow, with: {path: sub.yaml}}
  - {id: clerk, call: agent, with: {prompt: hello, tools: {flows: [{path: tool.yaml, name: look}]}}}
outputs: {x: 1}
-- system.txt --
Be brief.
-- sub.yaml --
steps: [{id: say, call: template, with: {template: hello}}]
outputs: {x: 1}
-- tool.yaml --
description: Looks.
steps: [{id: say, call: template, with: {template: hello}}]
outputs: {x: 1}
-- a.test.yaml --
matrix: {with.answer.temperature: [0, 0.1, 0.2, 0.3]}
cases: [{name: one, until: answer, expect: [{prompt: answer, contains: brief}]}]
`)))
	loader, reads := newLoader(t, dir), map[string]int{}
	loader.Flows.ReadFile = func(path string) ([]byte, error) {
		reads[filepath.Base(path)]++
		return os.ReadFile(path)
	}
	s, problems := loader.Load(t.Context(), filepath.Join(dir, "a.test.yaml"))
	if s == nil || len(s.Cases) != 4 {
		t.Fatal(problems)
	}
	for _, name := range []string{"a.yaml", "system.txt", "sub.yaml", "tool.yaml"} {
		if reads[name] != 1 {
			t.Errorf("%s was read %d times", name, reads[name])
		}
	}
}
