package agent

import (
	"cmp"
	"strconv"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// listTools returns the tools of the parameters, first the workspace's. isWhole reports whether the parameters
// name all of them: null is a value that is not known yet.
func listTools(params value.Value) (tools []calls.Tool, isWhole bool) {
	if workspace, ok := params.Get("workspace"); ok {
		folder, isKnown := workspace.Str()
		tools = append(tools, calls.Tool{Name: calls.ReadFileTool, IsOwn: true, Maybe: !isKnown || folder == ""},
			calls.Tool{Name: calls.ReadSkillTool, IsOwn: true, Maybe: true})
	}
	groups, hasTools := params.Get("tools")
	isWhole = !hasTools || !groups.IsNull()
	for group, list := range groups.Map().All() {
		isWhole = isWhole && !list.IsNull()
		for i, tool := range list.List() {
			found := toolsOf(group, tool)
			isWhole = isWhole && len(found) > 0
			for _, t := range found {
				t.Pointer = "/tools/" + value.Escape(group) + "/" + strconv.Itoa(i)
				tools = append(tools, t)
			}
		}
	}
	return tools, isWhole
}

// toolsOf returns the tools of an entry in a group, by their own names, or by names made of the calls and flows
// that they run. It returns none if the names are not known.
func toolsOf(group string, tool value.Value) []calls.Tool {
	own, isKnown := textOf(tool, "name")
	if _, isNamed := tool.Get("name"); isNamed && !isKnown {
		return nil
	}
	call, name := "", ""
	switch group {
	case "flows":
		file, _ := textOf(tool, "path")
		call, name = callFlow, calls.FlowToolName(file)
	case "calls":
		call, _ = textOf(tool, "call")
		name = call
	case "http":
		with, _ := tool.Get("with")
		call = callHTTP
		name, _ = textOf(with, "operation")
	case "mcp":
		return toolsOfServer(tool)
	}
	name = cmp.Or(own, calls.ToolName(name))
	if name == "" {
		return nil
	}
	return []calls.Tool{{Name: name, Call: call}}
}

// toolsOfServer returns the tools of an MCP server. It returns none if a name is not known.
func toolsOfServer(entry value.Value) (tools []calls.Tool) {
	server, _ := textOf(entry, "server")
	list, _ := entry.Get("tools")
	for _, item := range list.List() {
		name, ok := item.Str()
		if !ok || server == "" {
			return nil
		}
		tools = append(tools, calls.Tool{Name: calls.ToolName(server + "_" + name), Call: "mcp." + server + "." + name})
	}
	return tools
}

// textOf returns a member of an object that is a text.
func textOf(v value.Value, name string) (text string, ok bool) {
	member, _ := v.Get(name)
	return member.Str()
}
