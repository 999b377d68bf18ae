package flow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/callnode/scheduler/scheduler/flow"
)

// TestQueuedElsewhere: a machine that gives a flow with a queue to others reads its inputs and outputs, and needs
// none of its calls. Faults found by a step that runs it here remain faults.
func TestQueuedElsewhere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"inner.yaml": "inputs: {type: object, required: [n], properties: {n: {type: integer}}}\n" +
			"steps:\n  - {id: s, call: of-a-plugin, with: {text: !file text.md}}\n  - {id: d, call: flow, with: {path: deep.yaml}}\noutputs: {n: 1}\n",
		"deep.yaml": "steps: [{id: s, call: of-a-plugin}]\n",
		"text.md":   "text",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loader := builtinLoader(t)
	loader.QueuedElsewhere = true
	const step = "{id: %s, call: flow, %swith: {path: inner.yaml, inputs: {n: %s}}}"
	file := filepath.Join(dir, "outer.yaml")
	parse := func(steps, output string) (*flow.Flow, flow.Problems) {
		return loader.Parse(file, []byte("steps: ["+steps+"]\noutputs: {x: \"{{ "+output+" }}\"}\n"))
	}
	queued := fmt.Sprintf(step, "a", "queue: gpu, ", "1")
	f, problems := parse(queued, "a.n")
	if f == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	var names []string
	for name := range f.Steps[0].Sub.Files {
		names = append(names, filepath.Base(name))
	}
	if slices.Sort(names); !slices.Equal(names, []string{"deep.yaml", "text.md"}) {
		t.Errorf("the flow goes to the other machine with %q", names)
	}
	if list := f.QueuedSteps(); len(list) != 1 || list[0].Queue != "gpu" {
		t.Errorf("its steps with a queue are %v", list)
	}
	if _, problems := parse(queued, "a.m"); !problems.HasErrors() {
		t.Error("an output that the flow does not have is no problem")
	}
	if _, problems := parse(fmt.Sprintf(step, "a", "queue: gpu, ", "x"), "a.n"); !problems.HasErrors() {
		t.Error("an input that does not fit is no problem")
	}
	if _, problems := parse(queued+", "+fmt.Sprintf(step, "b", "", "1"), "a.n"); !problems.HasErrors() {
		t.Error("a call that is missing here, for a step without a queue, is no problem")
	}
}
