// Package input is the call that builds a prompt from a context template: an ordered list of modules, each made of
// fixed text and of variables. For example, the segment {type: variable, value: current_user_input} is replaced by
// the user's words. The values of variables come from memory, the user's words, registered functions and the state
// of the dialogue. It is the InputModule of the documents.
//
// Every value is fetched once, inserted once and never expanded again, and parts lists for every module whether it
// is included and why. config.go reads and checks a configuration, variables.go finds the source of each name's
// value, values.go fetches the values, build.go decides and joins.
package input

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Definition returns the call input as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "input",
		IsContained: true, ReadsInputs: true,
		Files:      []string{"config_path"},
		NoSubsteps: true,
		Summary: calls.Text{
			En: "Build a prompt from a context template, the user's words and memory.",
			Zh: "用上下文模板、用户输入和长短期记忆构建 prompt。",
		},
		Literal:  []string{"config"},
		Examples: examples(),
	})
	def.Lint = lint
	def.Info.Check = checkParams
	def.Origins = inputOrigins
	def.ReadsConversation = readsConversation
	def.Texts = []calls.Texts{configTexts()}
	def.Composes = promptPieces
	return def
}

// promptPieces returns the pieces of the prompt: the texts and variables of its modules.
func promptPieces(pointer string, params value.Value) (pieces []calls.PromptPiece) {
	if pointer != "/prompt" {
		return nil
	}
	template, _ := params.At("/config/context_template")
	for _, module := range template.List() {
		segments, _ := module.Get("segments")
		for _, segment := range segments.List() {
			kind, _ := segment.Get("type")
			given, _ := segment.Get("value")
			text, _ := given.Str()
			name := "/variables/" + value.Escape(text)
			_, isGiven := params.At(name)
			switch k, _ := kind.Str(); {
			case k != "variable":
				pieces = append(pieces, calls.PromptPiece{Size: len(text)})
			case isGiven:
				pieces = append(pieces, calls.PromptPiece{Text: name})
			default:
				pieces = append(pieces, calls.PromptPiece{Variable: text, Of: "/config"})
			}
		}
	}
	return pieces
}

// checkParams finds parameters that contradict each other.
func checkParams(params value.Value, env calls.LintEnv) []schema.Problem {
	problems := env.CheckExclusive(params, "config", "config_path")
	given, _ := params.Get("strict")
	policy, _ := params.Get("on_invalid")
	isStrict, _ := given.Bool()
	if word, _ := policy.Str(); isStrict && word == "default" {
		problems = append(problems, schema.Problem{Pointer: "/on_invalid"}.WithMessage("strict and on_invalid: default contradict each other").WithHint("leave one out"))
	}
	return problems
}

// Validate refuses a wrong config in a strict prompt.
func (p Params) Validate() error {
	if p.Strict && p.Config.config != nil && len(p.Config.warnings) > 0 {
		return calls.Errorf(calls.Invalid, "%w", underPointer("/config", p.Config.warnings)).WithHint("correct it, or leave strict out")
	}
	return nil
}

// Init takes the user's words from the parameters or the flow.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{UserInput: vars.Question, Language: vars.Language, Now: vars.Now}
	if p.UserInput != nil {
		in.UserInput = *p.UserInput
	}
	if in.Language == "" {
		in.Language = "en"
	}
	return in, nil
}

// Exec reads the configuration and builds the prompt.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		local, err := defaultConfig(env, in.Language)
		if err != nil {
			return nil, err
		}
		cfg, warnings, err := p.findConfig(env, local)
		if err != nil {
			return nil, err
		}
		if in.Now.IsZero() { // a call without an engine
			in.Now = env.Clock()
		}
		return newBuilder(p, in, env, cfg, local, warnings).buildPrompt(ctx)
	})
}

// findConfig finds the configuration to use, with the warnings about it: config or config_path, else the default,
// as __init__ of the InputModule does in the documents.
func (p Params) findConfig(env *calls.Env, local *config) (*config, []wording.Text, error) {
	if p.Config.config != nil {
		return p.Config.config, describeAll(p.Config.warnings, p.Config.place), nil
	}
	if p.ConfigPath == "" {
		return local, nil, nil
	}
	return loadConfig(env, p.ConfigPath, local, p.Strict, p.OnInvalid == "default")
}
