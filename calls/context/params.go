package context

import (
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call: the parameters of build_messages, which are history, current_message,
// skill_names, media, channel and chat_id, and further ones.
type Params struct {
	Workspace      string        `json:"workspace,omitempty" doc:"Directory with AGENTS.md and the like, memory/ and skills/. ~ is the home directory; relative paths start at the flow file. Without it only the identity is there."`
	BootstrapFiles []string      `json:"bootstrap_files,omitempty" doc:"Files of the workspace that the system prompt quotes, in this order. Default: AGENTS.md SOUL.md USER.md TOOLS.md IDENTITY.md, those that exist." example:"[AGENTS.md, STYLE.md]"`
	ShownWorkspace string        `json:"shown_workspace,omitempty" enum:"written|absolute" default:"written" doc:"How the prompt names the workspace and its skills: as the flow writes it, so that the prompt is the same on every machine, or by the absolute path, with ~ and links resolved."`
	WorkDir        string        `json:"work_dir,omitempty" doc:"Directory inside the workspace that the work is about. Then every AGENTS.md (or AGENTS.override.md) from the workspace down to it is quoted, nearest last, 32 KiB in all." example:"services/billing"`
	Memories       []value.Value `json:"memories,omitempty" doc:"Recalled memories, best first: texts, or objects with text or content, as memory-retrieve gives them."`
	History        []*value.Map  `json:"history,omitempty" doc:"Messages before this one, oldest first. They are passed on as they are, with every key. Default: the conversation that came with the question; without one, in a flow with memory, the last turns of the session (200, 5000 tokens at most)."`
	CurrentMessage *string       `json:"current_message,omitempty" doc:"What the user says now. $name in it loads that skill. Without it, and without media, there is no user message."`
	SkillNames     []string      `json:"skill_names,omitempty" doc:"Skills whose instructions are loaded whole." example:"[invoices]"`
	Media          []string      `json:"media,omitempty" doc:"Image files in the workspace, or in a directory that the setting media_roots allows." example:"[photos/receipt.jpg]"`
	Channel        string        `json:"channel,omitempty" doc:"Where the message came from; shown to the model together with chat_id."`
	ChatID         string        `json:"chat_id,omitempty" doc:"The conversation within the channel."`
	BuiltinSkills  string        `json:"builtin_skills,omitempty" doc:"Another directory of skills. Skills of the workspace win over those of the same name." example:"./skills"`
	Identity       string        `json:"identity,omitempty" doc:"Replaces the built-in text that the system prompt begins with."`
	Slots          Slots         `json:"slots,omitzero" doc:"Texts of world books, as in-chat returns them: before_char goes before the identity, after_char after it." example:"{before_char: 'The year is 1911.'}"`
	SkillsIntro    string        `json:"skills_intro,omitempty" doc:"Replaces the built-in sentences before the list of skills." example:"'These skills are there:'"`
	SkillsFormat   string        `json:"skills_format,omitempty" enum:"nanobot|agent-skills" default:"nanobot" doc:"How skills are listed: with what is missing for those that cannot be used (nanobot), or only the usable ones in the form of the Agent Skills standard."`
	RuntimeContext string        `json:"runtime_context,omitempty" enum:"system|message" default:"system" doc:"Where the clock, the channel and $name skills go: into the system prompt, or after the user's words, so that the system prompt stays the same and providers can cache it."`
	Append         []*value.Map  `json:"append,omitempty" doc:"Messages after the user's: assistant messages {role, content, tool_calls} and tool results {role, tool_call_id, name, content}."`
	MaxTokens      int           `json:"max_tokens,omitempty" min:"0" doc:"Budget of the whole prompt. Skills, files, history and memories are cut to fit; the identity, the current message with its media, and append never. 0: no limit."`
	Model          string        `json:"model,omitempty" doc:"Name of the model that the prompt is for, to estimate what images cost; that of the flow where it is not given." example:"some-model"`
}

// Slots are texts that surround the identity.
type Slots struct {
	BeforeChar string `json:"before_char,omitempty" example:"The year is 1911."`
	AfterChar  string `json:"after_char,omitempty" example:"Anna keeps the lighthouse."`
}

// Input is the data of the step beside its parameters.
type Input struct {
	Now            time.Time `json:"now"`
	Language       string    `json:"language"`
	CurrentMessage string    `json:"current_message"`
	Tools          []string  `json:"tools,omitempty"`
}

// Output is the prompt, with the source of each of its parts.
type Output struct {
	System   string       `json:"system" doc:"The text of the first message."`
	Messages []*value.Map `json:"messages" doc:"The messages in the OpenAI shape: system, history, user, append."`
	Parts    []calls.Part `json:"parts" doc:"Where every piece comes from. The texts of the included parts of message 0, joined, are the system text."`
	Warnings []string     `json:"warnings" doc:"Every source that could not be used and everything that was cut."`
	Tokens   int          `json:"tokens" doc:"What the whole prompt costs, estimated."`
}
