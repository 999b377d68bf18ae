// Package context is the call that builds an agent's prompt: the system prompt of
// a workspace (identity, instruction files, memory, skills) and the messages after
// it (history, the user's words, images, tool results), cut to a token budget, with
// the source of every byte.
//
// fill_sections.go reads the workspace into sections, images.go prepares images, budget.go
// and shrink_history.go cut to max_tokens, build.go and messages.go write the prompt. The
// history of a session's memory is cut to 200 utterances and 5,000 tokens by
// package transcript.
//
// Under a budget, the identity, the current message with its images, and what is
// appended stay as they are. Of the room beside them the skills that the user
// asked for come first; the rest is promised by shares: history 30 %, instruction
// files 25, skills that are always loaded 20, memory files 15, recalled memories 5,
// the list of skills 5. What one does not need goes to the others. Files are cut
// after a line, skills, memories and turns of the history only whole.
package context

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	Workspace      string        `json:"workspace,omitempty" doc:"Directory with AGENTS.md and the like, memory/ and skills/. ~ is the home directory; relative paths start at the flow file. Without it only the identity is there."`
	BootstrapFiles []string      `json:"bootstrap_files,omitempty" doc:"Files of the workspace that the system prompt quotes, in this order. Default: AGENTS.md SOUL.md USER.md TOOLS.md IDENTITY.md, those that exist." example:"[AGENTS.md, STYLE.md]"`
	WorkDir        string        `json:"work_dir,omitempty" doc:"Directory inside the workspace that the work is about. Then every AGENTS.md (or AGENTS.override.md) from the workspace down to it is quoted, nearest last, 32 KiB in all." example:"services/billing"`
	Memories       []value.Value `json:"memories,omitempty" doc:"Recalled memories, best first: texts, or objects with text or content, as memory-retrieve gives them."`
	History        []*value.Map  `json:"history,omitempty" doc:"Messages before this one, oldest first. They are passed on as they are, with every key. Default: in a flow with memory, what was said last in its session (200 utterances, 5000 tokens at most)."`
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

// Input is what the step sees beside its parameters.
type Input struct {
	Now            time.Time `json:"now"`
	Language       string    `json:"language"`
	CurrentMessage string    `json:"current_message"`
}

// Output is the prompt, with the source of each of its parts.
type Output struct {
	System   string       `json:"system" doc:"The text of the first message."`
	Messages []*value.Map `json:"messages" doc:"The messages in the OpenAI shape: system, history, user, append."`
	Parts    []calls.Part `json:"parts" doc:"Where every piece comes from. The texts of the included parts of message 0, joined, are the system text."`
	Warnings []string     `json:"warnings" doc:"Every source that could not be used and everything that was cut."`
	Tokens   int          `json:"tokens" doc:"What the whole prompt costs, estimated."`
}

// Definition returns the call context.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:       "context",
		NoSubsteps: true,
		Messages:   []string{"history", "append"},
		Summary: calls.Text{
			En: "Build the system prompt and the messages of an agent from its workspace: identity, instruction files, memory, skills, history and images.",
			Zh: "由工作目录构建智能体的系统提示词与消息：身份、说明文件、记忆、技能、历史与图片。",
		},
		Examples: examples(),
	})
	def.Lint = lintParams
	def.Origins = calls.ParamsAsInput
	def.Texts = []calls.Texts{ask.Texts("context", texts)}
	return def
}

// lintParams warns of directories that do not exist, and of what is neither a directory nor a file: the
// prompt would lack it. Names of skills are checked too.
func lintParams(params value.Value, env calls.LintEnv) []schema.Problem {
	problems := lintSkillNames(params)
	paths := env.LintDirs(params, "workspace", "builtin_skills")
	paths = append(paths, env.LintFilesIn(params, "workspace", "bootstrap_files", defaultBootstrap()...)...)
	paths = append(paths, env.LintFilesIn(params, "workspace", "media")...)
	for _, p := range paths {
		p.Warning = true // the run goes on without it
		problems = append(problems, p)
	}
	return problems
}

// lintSkillNames finds names with characters that cannot be seen.
func lintSkillNames(params value.Value) (problems []schema.Problem) {
	names, _ := params.Get("skill_names")
	for i, v := range names.List() {
		name, _ := v.Str()
		if r, hidden := value.InvisibleInName(name); hidden {
			problems = append(problems, schema.Problem{
				Pointer: fmt.Sprintf("/skill_names/%d", i), Hint: "take it out",
			}.WithMessage("the name %q has the invisible character %U", value.Truncate(name, 60), r))
		}
	}
	return problems
}

// Validate refuses line breaks in fields of one line: they could fake sections of
// the system prompt.
func (p Params) Validate() error {
	lines := []struct{ name, text string }{
		{"channel", p.Channel}, {"chat_id", p.ChatID}, {"workspace", p.Workspace}, {"work_dir", p.WorkDir}, {"builtin_skills", p.BuiltinSkills},
	}
	for _, file := range p.BootstrapFiles {
		lines = append(lines, struct{ name, text string }{"bootstrap_files", file})
	}
	for _, line := range lines {
		if strings.ContainsAny(line.text, "\n\r\v\f\u0085\u2028\u2029") {
			return calls.Errorf(calls.Invalid, "%s: line breaks are not allowed in it", line.name).WithHint("write it on one line")
		}
	}
	return nil
}

// Init notes the time and the language.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{Now: vars.Now, Language: vars.Language}
	if p.CurrentMessage != nil {
		in.CurrentMessage = *p.CurrentMessage
	}
	return in, nil
}

// Exec reads the workspace and puts the prompt together.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		if in.Now.IsZero() {
			in.Now = env.Clock()
		}
		return buildPrompt(ctx, env, &p, in)
	})
}

func examples() []calls.Example {
	return []calls.Example{{
		Title: "A workspace with instructions, memory and a skill",
		With: `workspace: ./desk
identity: You are the assistant of a small bakery.
current_message: What does rye bread cost? Use $prices.
history:
  - {role: user, content: Good morning}
  - {role: assistant, content: Good morning. The bread is warm.}
memories: [The user likes rye bread.]
channel: shop
chat_id: counter
`,
		Files: map[string]string{
			"desk/AGENTS.md":                "Answer in one sentence.\n",
			"desk/memory/MEMORY.md":         "- Closed on Mondays.\n",
			"desk/skills/prices/SKILL.md":   "---\nname: prices\ndescription: What bread costs.\n---\n\nRye bread costs 4.20.\n",
			"desk/skills/ordering/SKILL.md": "---\nname: ordering\ndescription: Order flour from the mill.\n---\n\nCall the mill before noon.\n",
		},
	}, {
		Title: "An agent loop that goes on after a tool call, within a budget",
		With: `identity: You look up the weather.
current_message: How is the weather in Lyon?
append:
  - role: assistant
    tool_calls: [{id: call_1, type: function, function: {name: weather, arguments: '{"city":"Lyon"}'}}]
  - {role: tool, tool_call_id: call_1, name: weather, content: 18 degrees, light rain}
max_tokens: 1000
`,
	}}
}
