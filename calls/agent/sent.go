package agent

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Names and ids that a model makes up go back to it in the conversation, and providers refuse the ones that they
// would not have made: they answer 400, and the work is lost. So providers get valid ones; the rounds keep the
// model's own.

// distinguishIDs assigns unique ids to the tool calls of one round.
func distinguishIDs(toolCalls []llm.ToolCall) {
	seen := make(map[string]bool, len(toolCalls))
	for i := range toolCalls {
		c := &toolCalls[i]
		for base, n := c.ID, 2; seen[c.ID]; n++ {
			c.ID = fmt.Sprintf("%s_%d", base, n)
		}
		seen[c.ID] = true
	}
}

// sentName returns the name of a tool, which may not exist.
func sentName(name string) string {
	if toolName().MatchString(name) {
		return name
	}
	name = calls.ToolName(name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

// sentArguments returns an object in any case.
func sentArguments(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	if v, err := value.ParseJSON([]byte(arguments)); err != nil || v.Kind() != value.Object {
		return value.OfMap(value.Pairs("malformed", arguments)).JSON()
	}
	return arguments
}
