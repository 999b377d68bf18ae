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
	// DialogueSubstep is the session's memory when the work began: STEP/dialogue-1.
	DialogueSubstep = "dialogue"
)

// The tools with which an agent reads its workspace, and the skills in it.
const (
	ReadFileTool  = "read_file"
	ReadSkillTool = "read_skill"
)

var substepName = value.CompileLater(`^[a-z][a-z0-9_-]{0,63}$`)

// ToolSubstep returns the call agent's name for a use of a tool inside its step, without the number: the name of
// the tool, unless that cannot be the name of a substep, or is taken by the agent's own work.
func ToolSubstep(tool string) string {
	isTaken := tool == RoundSubstep || tool == DialogueSubstep
	if substepName().MatchString(tool) && !isTaken {
		return tool
	}
	return "tool"
}

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// ToolName makes the name of a tool from another name, for example a call's: models take letters, digits, - and _.
func ToolName(name string) string {
	return strings.Trim(notInToolName.ReplaceAllString(name, "_"), "_")
}

// FlowToolName makes the name of a tool from the path of the flow that it runs, in any system's notation: the name
// of the file.
func FlowToolName(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return ToolName(strings.TrimSuffix(base, path.Ext(base)))
}
