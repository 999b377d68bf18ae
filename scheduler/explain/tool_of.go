package explain

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
)

// toolOf returns the tool of a name that a step has offered to its model.
func toolOf(at site, name string) (tool calls.Tool, ok bool) {
	if at.got == nil || at.step == nil {
		return calls.Tool{}, false
	}
	def, isKnown := at.definitionOf(at.got)
	if !isKnown || def.Tools == nil {
		return calls.Tool{}, false
	}
	tools, _ := def.Tools(at.got.Params)
	i := slices.IndexFunc(tools, func(t calls.Tool) bool { return t.Name == name && !t.IsOwn })
	if i < 0 {
		return calls.Tool{}, false
	}
	return tools[i], true
}

// CountFlows returns how many tools run a flow.
func CountFlows(tools []calls.Tool) (n int) {
	for _, t := range tools {
		if t.Call == flow.CallFlow {
			n++
		}
	}
	return n
}
