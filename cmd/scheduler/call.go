package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/service"
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
{"id", "output"} or {"id", "error": {"kind", "message"}}, in order, with "warnings":
[{"code", "text", "source"?}] where the call has warned of something. llm scripts the
model's answers ({"text"}, {"json"} or {"error"}), without it the provider of the
settings is asked; vars is what the call sees (question, conversation, inputs,
history, summary, facts, vars, language, user, session, sessions, now).
Lines share nothing but the memory store of the state directory. Exit code 0 when
every line was answered, errors included.`,
		Example: strings.Trim(`
  echo '{"template": "Hello {{ name }}", "values": {"name": "Lin"}}' | scheduler call template --with -
  scheduler call in-chat --jsonl requests.jsonl`, "\n"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeCalls(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if jsonl != "" && with != "" {
				return usageError(wording.Errorf("--with and --jsonl exclude each other"))
			}
			registry, err := a.runtime.Registry("")
			if err != nil {
				return a.beforeRun(err)
			}
			def, err := findCall(registry, args[0])
			if err != nil {
				return err
			}
			if jsonl != "" {
				return a.callLines(cmd.Context(), def, jsonl)
			}
			return a.runCall(cmd.Context(), def, with, scope)
		},
	}
	cmd.Flags().StringVar(&with, "with", "", "parameters, a YAML or JSON `file`, - for stdin")
	cmd.Flags().StringVar(&jsonl, "jsonl", "", "requests, one JSON object per line, a `file`, - for stdin")
	cmd.Flags().StringVar(&scope.User, "user", "", "whose memory the call works in, with --with")
	cmd.Flags().StringVar(&scope.Session, "session", "", "in which `session` of it, with --with")
	cmd.Flags().BoolVar(&scope.AllSessions, "all-sessions", false, "read what was said in every session of it, with --with")
	return cmd
}

// runCall runs a call once and prints its output.
func (a *app) runCall(ctx context.Context, def calls.Definition, with string, scope calls.Scope) error {
	params := value.OfMap(nil)
	if with != "" {
		text, err := a.ReadFile(with)
		if err != nil {
			return usageError(wording.Errorf("reading --with: %w", err))
		}
		params, err = yaml.ParseValue(text)
		if err != nil {
			return usageError(wording.Errorf("--with: %s:%w", with, err))
		}
	}
	request := &service.CallRequest{With: params, Vars: service.RequestVars{User: scope.User, Session: scope.Session}}
	if scope.AllSessions {
		request.Vars.Sessions = "all"
	}
	output, notes, err := a.service.Caller(service.Principal{}, def).Call(ctx, request)
	a.printNotes(notes)
	if err != nil {
		if calls.KindOf(err) == calls.Invalid {
			return usageError(err)
		}
		return exitFor(ctx, err, false)
	}
	_, err = fmt.Fprintln(a.Stdout, terminal.JSONText(output))
	return err
}

// callLines answers every line of a file.
func (a *app) callLines(ctx context.Context, def calls.Definition, path string) error {
	in := a.Input()
	if path != "-" {
		f, err := calls.OpenFile(path)
		if err != nil {
			return usageError(wording.Errorf("reading --jsonl: %w", err))
		}
		defer f.Close()
		in = f
	}
	caller := a.service.Caller(service.Principal{}, def)
	out := bufio.NewWriter(a.Stdout)
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 1<<16), maxLine)
	for n := 1; scanner.Scan(); n++ {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		if ctx.Err() != nil {
			return exitError{exitInterrupted, errors.Join(wording.Errorf("interrupted"), out.Flush())}
		}
		answer, notes := caller.AnswerLine(ctx, n, scanner.Bytes(), parseTime)
		a.printNotes(notes)
		if _, err := out.Write(append(answer.AppendJSON(nil), '\n')); err != nil {
			return exitError{exitFailed, err}
		}
		if err := out.Flush(); err != nil {
			return exitError{exitFailed, err}
		}
	}
	if err := scanner.Err(); err != nil {
		return exitError{exitFailed, wording.Errorf("reading --jsonl: %w", err)}
	}
	return nil
}
