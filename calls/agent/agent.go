// Package agent is the call that lets a model work with tools until it has an
// answer. Tools are flows, calls, HTTP requests, tools of MCP servers, and the files and
// skills of a workspace, which are read when the model asks for them.
//
// If a tool fails, the model gets the error and may try something else, for example another path; the call itself
// fails only if its own parameters, the provider or the run fail. The model can neither see nor change parameters
// that the step fixes for a tool.
//
// Every answer of the model is a piece STEP/round-N of the step's events, every use of a tool a piece STEP/TOOL-N,
// and they are on record ([calls.Once]). A step that is tried again, or a run that is resumed, reads the rounds
// from there, without asking the model again, as long as it would ask the same: messages, model, temperature,
// extra; the tools may have changed. Listeners see each attempt from the start: the text of the rounds that are on
// record is streamed again, each at once.
package agent

import (
	"context"
	"errors"
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Definition returns the call agent as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "agent",
		IsContained: true,
		Files:       []string{"workspace", "builtin_skills"},
		Messages:    []string{"messages"},
		Literal:     []string{"response_schema"},
		Approvals:   []string{"/tools/*/*/approve"},
		OnlyWith:    map[string]string{"json": "response_schema"},
		Summary: calls.Text{
			En: "Let a model work with tools (flows, calls, HTTP requests, files and skills of a workspace) until it has an answer.",
			Zh: "让模型使用工具（流程、调用、HTTP 请求、工作目录中的文件与技能）直到得出答案。",
		},
		UsesLLM:   true,
		Operation: calls.OperationAgent,
		FromModel: []string{"text", "json", "messages", "rounds"},
		Examples: []calls.Example{{
			Title: "An agent that may read a workspace",
			With: `system: You work for a small bakery.
prompt: What does rye bread cost?
workspace: ./desk
max_rounds: 5
`,
			Answers: []string{"Rye bread costs 4.20."},
			Files: map[string]string{
				"desk/skills/prices/SKILL.md": "---\nname: prices\ndescription: What bread costs.\n---\n\nRye bread costs 4.20.\n",
			},
		}},
	})
	def.Lint = lintParams
	def.ReadsConversation = calls.ReadsUnlessGiven("messages")
	def.OutputFor = func(output, params value.Value) value.Value {
		if answer, _ := params.Get("response_schema"); answer.Kind() == value.Object {
			return schema.WithProperty(output, "json", answer)
		}
		return output
	}
	def.Info.Check = checkParams
	def.Runs = inside
	def.Tools = listTools
	def.Needs = func(params value.Value) (needs []string) {
		_, hasTools := params.Get("tools")
		if _, hasWorkspace := params.Get("workspace"); hasTools || hasWorkspace {
			needs = append(needs, llm.CallsTools)
		}
		given, _ := params.Get("images")
		if seesImages, _ := given.Bool(); seesImages {
			needs = append(needs, llm.Images)
		}
		return needs
	}
	def.Origins = outputOrigins
	def.Texts = []calls.Texts{ask.Texts("agent", texts)}
	def.Composes = func(pointer string, _ value.Value) []calls.PromptPiece {
		if pointer != "" {
			return nil
		}
		return append(calls.PromptTexts("/system", "/prompt"), calls.PromptPiece{Messages: "/messages"})
	}
	return def
}

// checkParams finds parameters that contradict each other.
func checkParams(params value.Value, env calls.LintEnv) []schema.Problem {
	return append(env.CheckExclusive(params, "messages", "system", "prompt"), env.CheckDuration(params, "timeout", "90s or 5m")...)
}

// Validate checks rules that the parameters' schema cannot express.
func (p Params) Validate() error {
	if err := ask.CheckExtra(p.Extra); err != nil {
		return err
	}
	if _, err := p.compileSchema(); err != nil {
		return err
	}
	if problems := p.toolProblems(); len(problems) > 0 {
		message, hint := problems[0].Text()
		return calls.Errorf(calls.Invalid, "%s: %s", problems[0].Pointer[1:], message).WithHint("%s", hint)
	}
	return nil
}

// Init makes the first messages. If the memory may have some of the session's messages, which only Exec reads, the
// input is System and Prompt, the first and the last one.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	if p.Messages != nil {
		kept, _ := calls.RepairMessages(p.Messages, nil)
		return Input{Messages: calls.MapsOf(kept)}, nil
	}
	prompt := p.Prompt
	if prompt == "" {
		prompt = vars.Question
	}
	if prompt == "" {
		return Input{}, calls.Errorf(calls.Missing, "there is nothing to do: neither messages nor prompt are given, and the run has no question")
	}
	in := Input{System: p.System, Prompt: prompt}
	sent, _ := calls.RepairMessages(calls.ConversationOf(vars), nil)
	if len(sent) == 0 && !vars.Scope.IsNone() {
		return in, nil
	}
	return Input{Messages: in.messagesAround(calls.MapsOf(sent))}, nil
}

// messagesAround returns the first messages, with the earlier turns between them.
func (in Input) messagesAround(before []*value.Map) []*value.Map {
	var messages []*value.Map
	if in.System != "" {
		messages = append(messages, value.Pairs("role", "system", "content", in.System))
	}
	messages = append(messages, before...)
	return append(messages, value.Pairs("role", "user", "content", in.Prompt))
}

// Exec works. The text of every round is streamed; the output has the last one as
// its text.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		timeout, err := p.timeout()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(calls.Chunk{}, err)
			return
		}
		within := ctx
		if timeout > 0 {
			var cancel context.CancelFunc
			within, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		l := &loop{params: p, env: env, say: func(text string) bool { return yield(calls.TextChunk(text), nil) }}
		l.out = Output{Rounds: []Round{}}
		if err = l.begin(within, in); err == nil {
			l.box, err = p.openToolbox(within, env)
		}
		if err == nil {
			defer l.box.close()
			for _, text := range l.box.workspace.warnings {
				env.Warn("skill", "%s", text)
			}
			l.out.Warnings = append(l.out.Warnings, l.box.workspace.warnings...)
			err = l.run(within)
		}
		if err == nil {
			err = l.fitAnswer(within)
		}
		switch {
		case errors.Is(err, errAbandoned):
			return
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			l.out.FinishReason = timedOut
		case err != nil:
			yield(calls.Chunk{}, err)
			return
		}
		l.warnOfEnd()
		yield(calls.DataChunk(l.out))
	}
}
