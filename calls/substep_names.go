package calls

import (
	"path"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// The pieces of the call agent's own work inside its step.
const (
	// RoundSubstep is an answer of its model: STEP/round-N.
	RoundSubstep = "round"
	// DialogueSubstep is what the memory had of the session when the work began: STEP/dialogue-1.
	DialogueSubstep = "dialogue"
)

// The tools with which an agent reads its workspace, and the skills in it.
const (
	ReadFileTool  = "read_file"
	ReadSkillTool = "read_skill"
)

var substepName = value.CompileLater(`^[a-z][a-z0-9_-]{0,63}$`)

// ToolSubstep returns what the call agent calls a use of a tool inside its step, without the number: by the name of the
// tool, unless that cannot be the name of a substep, or is taken by the agent's own work.
func ToolSubstep(tool string) string {
	isTaken := tool == RoundSubstep || tool == DialogueSubstep
	if substepName().MatchString(tool) && !isTaken {
		return tool
	}
	return "tool"
}

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// ToolName makes the name of a tool of another name, such as that of a call: models take letters, digits, - and _.
func ToolName(name string) string {
	return strings.Trim(notInToolName.ReplaceAllString(name, "_"), "_")
}

// FlowToolName makes the name of a tool of the path of the flow that it runs, as any system writes it: that of the file.
func FlowToolName(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return ToolName(strings.TrimSuffix(base, path.Ext(base)))
}
