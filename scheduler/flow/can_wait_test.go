package flow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// TestCanWait: a flow reports whether a run of it may wait for a person, its sub-flows and tools included.
func TestCanWait(t *testing.T) {
	const slotStep = `call: slot, with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}}`
	tests := []struct {
		name, step string
		want       bool
	}{
		{name: "a template", step: `call: template, with: {template: x}`},
		{name: "a slot", step: slotStep, want: true},
		{name: "a slot that fails", step: slotStep + `, on_missing: fail`},
		{name: "a slot that returns", step: slotStep + `, on_missing: return`},
		{name: "filling", step: `call: chat, enable_filling: true, with: {}`, want: true},
		{name: "filling that fails", step: `call: chat, enable_filling: true, on_missing: fail, with: {}`},
		{name: "a call that asks", step: `call: asker`, want: true},
		{name: "a sub-flow that waits", step: `call: flow, with: {path: waits.yaml}`, want: true},
		{name: "a sub-flow that does not", step: `call: flow, with: {path: runs.yaml}`},
		{name: "a sub-flow of one that waits", step: `call: flow, with: {path: outer.yaml}`, want: true},
		{name: "an agent", step: `call: agent, with: {prompt: x}`},
		{name: "an agent with a flow", step: `call: agent, with: {prompt: x, tools: {flows: [{path: waits.yaml, name: w, description: d}]}}`, want: true},
		{name: "an agent with another flow", step: `call: agent, with: {prompt: x, tools: {flows: [{path: runs.yaml, name: w, description: d}]}}`},
		{name: "an agent with a call that asks", step: `call: agent, with: {prompt: x, tools: {calls: [{call: asker}]}}`, want: true},
		{name: "an agent with a slot", step: `call: agent, with: {prompt: x, tools: {calls: [{call: slot, with: {current_schema: {type: object}}}]}}`},
	}
	asker := schedulertest.Do("asker", nil)
	asker.Info.MayAsk = true
	registry, err := calls.NewRegistry(append(builtin.Calls(), asker)...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, step := range map[string]string{
		"waits": slotStep, "runs": `call: template, with: {template: x}`, "outer": `call: flow, with: {path: waits.yaml}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), fmt.Appendf(nil, "steps: [{id: a, %s}]\n", step), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loader := &flow.Loader{Registry: registry}
			f, problems := loader.Parse(filepath.Join(dir, "f.yaml"), fmt.Appendf(nil, "steps: [{id: a, %s}]\n", tt.step))
			if err := problems.Errors().Err(); err != nil {
				t.Fatal(err)
			}
			if f.CanWait != tt.want {
				t.Errorf("it is %v, want %v", f.CanWait, tt.want)
			}
		})
	}
}
