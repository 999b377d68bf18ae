// Package context is the call that builds an agent's prompt: the system prompt of a workspace (identity,
// instruction files, memory, skills) and the messages after it (history, the user's words, images, tool results),
// cut to a token budget, with the source of every byte. For example, with workspace: ws the system prompt contains
// ws/AGENTS.md.
//
// It is the ContextBuilder of the documents: build_system_prompt and build_messages are one use of the call,
// whose output has system and messages; add_assistant_message and add_tool_result are its parameter append.
//
// fill_sections.go reads the workspace into sections, images.go prepares images, budget.go and shrink_history.go
// cut to max_tokens, build.go and messages.go write the prompt. Package transcript cuts the history of a session's
// memory to 200 utterances and 5,000 tokens.
//
// Under a budget, the identity, the current message with its images, and appended messages stay as they are. Of
// the remaining room the skills that the user asked for come first; the rest is promised by shares: history 30 %,
// instruction files 25, skills that are always loaded 20, memory files 15, recalled memories 5, the list of skills
// 5. A part of a share that is not needed goes to the others. Files are cut after a line, skills, memories and
// turns of the history only whole.
package context

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Definition returns the call context.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "context",
		IsContained: true,
		Files:       []string{"workspace", "builtin_skills", "media"},
		NoSubsteps:  true,
		Messages:    []string{"history", "append"},
		Summary: calls.Text{
			En: "Build the system prompt and the messages of an agent from its workspace: identity, instruction files, memory, skills, history and images.",
			Zh: "由工作目录构建智能体的系统提示词与消息：身份、说明文件、记忆、技能、历史与图片。",
		},
		Examples: examples(),
	})
	def.Lint = lintParams
	def.Info.Check = checkParams
	def.Needs = func(params value.Value) []string {
		if media, ok := params.Get("media"); ok && (media.IsNull() || len(media.List()) > 0) {
			return []string{llm.Images}
		}
		return nil
	}
	def.Origins = origins
	def.ReadsConversation = calls.ReadsUnlessGiven("history")
	def.Texts = []calls.Texts{ask.Texts("context", texts)}
	def.Composes = promptPieces
	return def
}

// promptPieces returns the pieces of the system prompt and of the messages.
func promptPieces(pointer string, params value.Value) []calls.PromptPiece {
	pieces := calls.PromptTexts("/slots/before_char", "/identity")
	if _, hasFiles := params.Get("workspace"); hasFiles {
		pieces = append(pieces, calls.PromptPiece{IsFiles: true})
	}
	pieces = append(pieces, calls.PromptTexts("/slots/after_char", "/memories")...)
	switch pointer {
	case "/system", "/messages/0/content":
		return pieces
	case "/messages":
		return append(pieces, calls.PromptPiece{Messages: "/history"}, calls.PromptPiece{Text: "/current_message"})
	default:
		return nil
	}
}

// lintParams warns of directories that do not exist, and of paths that are neither a directory nor a file: the
// prompt would lack them. Names of skills are checked too.
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

// checkParams refuses line breaks in fields of one line: they could fake sections of
// the system prompt.
func checkParams(params value.Value, env calls.LintEnv) (problems []schema.Problem) {
	check := func(pointer string, v value.Value) {
		if text, _ := v.Str(); strings.ContainsAny(text, "\n\r\v\f\u0085\u2028\u2029") {
			problems = append(problems, schema.Problem{Pointer: pointer}.WithMessage("line breaks are not allowed in it").WithHint("write it on one line"))
		}
	}
	for _, name := range []string{"channel", "chat_id", "workspace", "work_dir", "builtin_skills"} {
		v, _ := params.Get(name)
		check("/"+name, v)
	}
	appended, _ := params.Get("append")
	for i, m := range appended.List() {
		at := fmt.Sprintf("/append/%d", i)
		if m.Kind() != value.Object || env.IsComputed(at+"/role") || env.IsComputed(at+"/tool_call_id") {
			continue
		}
		if _, err := normalizeAppended(m.Map()); err != nil {
			problems = append(problems, calls.ProblemOf(at, err))
		}
	}
	files, _ := params.Get("bootstrap_files")
	for i, v := range files.List() {
		check(fmt.Sprintf("/bootstrap_files/%d", i), v)
	}
	return problems
}

// Init notes the time, the language and the tools.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{Now: vars.Now, Language: vars.Language, Tools: vars.Step.Tools}
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
