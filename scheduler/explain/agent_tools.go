package explain

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Tool is a tool in the parameters of an agent, or of a chat, and the call that it runs: flow for a flow, "" where who
// asked runs it. Pointer is where the parameters have it.
type Tool struct{ Name, Call, Pointer string }

// ToolsOf returns the tools in the parameters of an agent, or of a chat. isWhole reports whether these name all of them, where they have
// any: null stands for what is not known.
func ToolsOf(params value.Value) (tools []Tool, isWhole bool) {
	groups, hasTools := params.Get("tools")
	isWhole = !hasTools || !groups.IsNull()
	for i, tool := range groups.List() { // those of a chat
		function, _ := tool.Get("function")
		name, ok := textAt(function, "name")
		isWhole = isWhole && ok
		if ok {
			tools = append(tools, Tool{Name: name, Pointer: "/tools/" + strconv.Itoa(i)})
		}
	}
	for group, list := range groups.Map().All() {
		isWhole = isWhole && !list.IsNull()
		for i, tool := range list.List() {
			found := toolsIn(group, tool)
			isWhole = isWhole && len(found) > 0
			for _, t := range found {
				t.Pointer = "/tools/" + value.Escape(group) + "/" + strconv.Itoa(i)
				tools = append(tools, t)
			}
		}
	}
	return tools, isWhole
}

// toolsIn returns the tools of an entry in a group of an agent's tools, by their own names, or by those that the agent
// makes of what they run. None: the names are not known.
func toolsIn(group string, tool value.Value) []Tool {
	own, isKnown := textAt(tool, "name")
	if _, isNamed := tool.Get("name"); isNamed && !isKnown {
		return nil
	}
	with, _ := tool.Get("with")
	call, name := "", ""
	switch group {
	case "flows":
		file, _ := textAt(tool, "path")
		call, name = flow.CallFlow, calls.FlowToolName(file)
	case "calls":
		call, _ = textAt(tool, "call")
		name = call
	case "http":
		call = callHTTP
		name, _ = textAt(with, "operation")
	case "mcp":
		return toolsOfServer(tool)
	}
	name = cmp.Or(own, calls.ToolName(name))
	if name == "" {
		return nil
	}
	return []Tool{{Name: name, Call: call}}
}

// toolsOfServer returns the tools of an MCP server. None: a name is not known.
func toolsOfServer(entry value.Value) (tools []Tool) {
	server, _ := textAt(entry, "server")
	list, _ := entry.Get("tools")
	for _, item := range list.List() {
		name, ok := item.Str()
		if !ok || server == "" {
			return nil
		}
		tools = append(tools, Tool{Name: calls.ToolName(server + "_" + name), Call: "mcp." + server + "." + name})
	}
	return tools
}

// toolOf returns the tool of a name in the parameters of a step.
func toolOf(got *journal.StepState, name string) (tool Tool, ok bool) {
	if got == nil {
		return Tool{}, false
	}
	tools, _ := ToolsOf(got.Params)
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return tools[i], true
}

// WorkspaceTools lists the tools of an agent with a workspace.
func WorkspaceTools() []string { return []string{calls.ReadFileTool, calls.ReadSkillTool} }

// CountFlows returns how many tools run a flow.
func CountFlows(tools []Tool) (n int) {
	for _, t := range tools {
		if t.Call == flow.CallFlow {
			n++
		}
	}
	return n
}
