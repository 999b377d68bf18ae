package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler"
)

// maxLine bounds one line of --jsonl: a chat history with images is large.
const maxLine = 64 << 20

func newCall(a *app) *cobra.Command {
	var with, jsonl string
	var scope calls.Scope
	cmd := &cobra.Command{
		Use:   "call NAME",
		Short: "Run one call without a flow",
		Long: `Run one call without a flow. Parameters are taken as they are: nothing in them is
a template. With --jsonl every line {"id", "with", "vars"?, "llm"?} gives one line
{"id", "output"} or {"id", "error": {"kind", "message"}}, in order; llm scripts the
model's answers ({"text"}, {"json"} or {"error"}), vars is what the call sees
(question, inputs, history, summary, facts, vars, language, user, session, now).
Lines share nothing but the memory store of the state directory. Exit code 0 when
every line was answered, errors included.`,
		Example: strings.Trim(`
  echo '{"template": "Hello {{ name }}", "values": {"name": "Lin"}}' | scheduler call template --with -
  scheduler call in-chat --jsonl requests.jsonl`, "\n"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeCalls(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			registry, err := a.registry()
			if err != nil {
				return err
			}
			def, err := findCall(registry, args[0])
			if err != nil {
				return err
			}
			client, err := guard.NewClient(a.config.HTTP.AllowHosts)
			if err != nil {
				return err
			}
			lazy, closeMemory := a.lazyMemory(nil, false)
			defer closeMemory()
			runner := &callRunner{app: a, def: def, registry: registry, client: client, memory: lazy}
			if jsonl != "" {
				if with != "" {
					return usageError(errors.New("--with and --jsonl exclude each other"))
				}
				return runner.lines(cmd.Context(), jsonl)
			}
			return runner.single(cmd.Context(), with, scope)
		},
	}
	cmd.Flags().StringVar(&with, "with", "", "parameters, a YAML or JSON `file`, - for stdin")
	cmd.Flags().StringVar(&jsonl, "jsonl", "", "requests, one JSON object per line, a `file`, - for stdin")
	cmd.Flags().StringVar(&scope.User, "user", "", "whose memory the call works in, with --with")
	cmd.Flags().StringVar(&scope.Session, "session", "", "in which `session` of it, with --with")
	return cmd
}

// callRunner runs one call outside of flows.
type callRunner struct {
	app      *app
	def      calls.Definition
	registry *calls.Registry
	client   calls.HTTP
	memory   calls.Memory
	// spoken are the languages whose texts were looked at, with what is wrong.
	spoken map[string]error
}

// speaks looks at the texts of the call in a language, once; warnings are printed. To a
// call without texts the language is a name like any other.
func (r *callRunner) speaks(language string) error {
	if len(r.def.Texts) == 0 {
		return nil
	}
	if err, known := r.spoken[language]; known {
		return err
	}
	languages := r.app.config.KnownLanguages()
	err := languages.Check(language)
	if err == nil {
		problems := languages.Lint(language, r.def)
		for _, p := range problems.Warnings() {
			fmt.Fprintln(r.app.Stderr, p)
		}
		if faults := problems.Err(); faults != nil {
			err = calls.Errorf(calls.Invalid, "%w", faults)
		}
	}
	if r.spoken == nil {
		r.spoken = map[string]error{}
	}
	r.spoken[language] = err
	return err
}

func (r *callRunner) env() *calls.Env {
	env := calls.NewEnv()
	env.Registry = r.registry
	env.MediaRoots = r.app.config.Media
	env.Languages = r.app.config.FurtherLanguages().Files
	env.Tokens = tokens.For("")
	env.HTTP, env.Memory = r.client, r.memory
	env.Calls = plainCalls{r.registry, env}
	return env
}

// plainCalls runs calls without a flow around them.
type plainCalls struct {
	registry *calls.Registry
	env      *calls.Env
}

func (c plainCalls) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	def, ok := c.registry.Call(name)
	if !ok {
		return value.Value{}, calls.Errorf(calls.NotFound, "there is no call %q", name)
	}
	return scheduler.Invoke(ctx, def, params, c.env)
}

// single runs the call once and prints its output.
func (r *callRunner) single(ctx context.Context, with string, scope calls.Scope) error {
	params := value.OfMap(nil)
	if with != "" {
		text, err := r.app.ReadFile(with)
		if err != nil {
			return usageError(fmt.Errorf("reading --with: %w", err))
		}
		if params, err = yaml.ParseValue(text); err != nil {
			return usageError(fmt.Errorf("--with: %s:%w", with, err))
		}
	}
	language := r.app.config.DefaultLanguage()
	if err := r.speaks(language); err != nil {
		return usageError(err)
	}
	env := r.env()
	env.Vars = &calls.Vars{Language: language, Now: time.Now(), Scope: scope}
	if r.def.Info.UsesLLM {
		name := r.app.config.LLM.Default
		if name != "" {
			provider, err := r.app.openProvider(name)
			if err != nil {
				return err
			}
			env.LLM, env.Tokens = provider, tokens.For(r.app.config.LLM.ModelOf(name))
		}
	}
	output, err := scheduler.Invoke(ctx, r.def, params, env)
	if err != nil {
		if calls.KindOf(err) == calls.Invalid {
			return usageError(err)
		}
		return exitFor(ctx, err, false)
	}
	_, err = fmt.Fprintln(r.app.Stdout, terminal.JSONText(output))
	return err
}

// lines answers every line of a file.
func (r *callRunner) lines(ctx context.Context, path string) error {
	in := r.app.Input()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usageError(fmt.Errorf("reading --jsonl: %w", err))
		}
		defer f.Close()
		in = f
	}
	out := bufio.NewWriter(r.app.Stdout)
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 1<<16), maxLine)
	for n := 1; scanner.Scan(); n++ {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		if ctx.Err() != nil {
			return exitError{exitInterrupted, errors.Join(errors.New("interrupted"), out.Flush())}
		}
		answer := r.line(ctx, n, scanner.Bytes())
		if _, err := out.Write(append(answer.AppendJSON(nil), '\n')); err != nil {
			return exitError{exitFailed, err}
		}
		if err := out.Flush(); err != nil {
			return exitError{exitFailed, err}
		}
	}
	if err := scanner.Err(); err != nil {
		return exitError{exitFailed, fmt.Errorf("reading --jsonl: %w", err)}
	}
	return nil
}

// callRequest is one line of --jsonl.
type callRequest struct {
	ID   value.Value   `json:"id"`
	With value.Value   `json:"with"`
	Vars callVars      `json:"vars"`
	LLM  []value.Value `json:"llm"`
}

// callVars is what a line says of the call's Vars.
type callVars struct {
	Question string               `json:"question"`
	Inputs   value.Value          `json:"inputs"`
	History  []calls.FinishedStep `json:"history"`
	Summary  string               `json:"summary"`
	Facts    []string             `json:"facts"`
	Vars     *value.Map           `json:"vars"`
	Language string               `json:"language"`
	User     string               `json:"user"`
	Session  string               `json:"session"`
	Now      string               `json:"now"`
}

// varNames lists the members of vars.
func varNames() []string {
	return []string{"question", "inputs", "history", "summary", "facts", "vars", "language", "user", "session", "now"}
}

func (r *callRunner) line(ctx context.Context, n int, text []byte) value.Value {
	answer := value.NewMap(2)
	fail := func(err error) value.Value {
		info := value.Pairs("kind", string(calls.KindOf(err)), "message", err.Error())
		if hint := calls.HintOf(err); hint != "" {
			info.Set("hint", value.OfString(hint))
		}
		answer.Set("error", value.OfMap(info))
		return value.OfMap(answer)
	}
	parsed, err := value.ParseJSON(text)
	answer.Set("id", value.Value{})
	if err != nil {
		return fail(calls.Errorf(calls.Invalid, "line %d: the JSON at %w", n, err))
	}
	id, _ := parsed.Get("id")
	answer.Set("id", id)
	for k := range parsed.Map().All() {
		if k != "id" && k != "with" && k != "vars" && k != "llm" {
			return fail(calls.Errorf(calls.Invalid, "line %d: unknown member %q%s", n, k, didYouMean(k, []string{"id", "with", "vars", "llm"})))
		}
	}
	vars, _ := parsed.Get("vars")
	for k := range vars.Map().All() {
		if known := varNames(); !slices.Contains(known, k) {
			return fail(calls.Errorf(calls.Invalid, "line %d: unknown member %q of vars%s", n, k, didYouMean(k, known)))
		}
	}
	var request callRequest
	if err := value.Decode(parsed, &request); err != nil {
		return fail(calls.Errorf(calls.Invalid, "line %d: %w", n, err))
	}
	if request.With.IsNull() {
		request.With = value.OfMap(nil)
	}
	env, err := r.envOf(&request)
	if err != nil {
		return fail(calls.Errorf(calls.Invalid, "line %d: %w", n, err))
	}
	output, err := scheduler.Invoke(ctx, r.def, request.With, env)
	if err != nil {
		return fail(err)
	}
	answer.Set("output", output)
	return value.OfMap(answer)
}

// envOf gives the Env of a line: lines share nothing.
func (r *callRunner) envOf(request *callRequest) (*calls.Env, error) {
	env := r.env()
	answers, err := scripted.Parse(value.OfList(request.LLM...))
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	env.LLM = scripted.New(answers...)
	v := request.Vars
	now := time.Now()
	if v.Now != "" {
		if now, err = parseTime(v.Now); err != nil {
			return nil, err
		}
		env.Clock = func() time.Time { return now }
	}
	resolved := make(map[string]value.Value, v.Vars.Len())
	for name, x := range v.Vars.All() {
		resolved[name] = x
	}
	if v.Inputs.IsNull() {
		v.Inputs = value.OfMap(nil)
	}
	language := v.Language
	if language == "" {
		language = r.app.config.DefaultLanguage()
	}
	if err := r.speaks(language); err != nil {
		return nil, fmt.Errorf("vars.language: %w", err)
	}
	env.Vars = &calls.Vars{
		Inputs: v.Inputs, Question: v.Question, Resolved: resolved, Language: language, Now: now,
		Scope:    calls.Scope{User: v.User, Session: v.Session},
		Upstream: calls.FixedUpstream{Steps: v.History, SummaryText: v.Summary, FactList: v.Facts},
	}
	return env, nil
}
