// Package skills holds Agent Skills (agentskills.io): folders with a SKILL.md that teach coding
// agents to work with this program. `scheduler init` puts them into a new project, below
// .agents/skills, where agents look for them.
package skills

import "embed"

// Files has a folder for each skill, for example scheduler/SKILL.md.
//
//go:embed scheduler
var Files embed.FS
