package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/starter"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/configs"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
)

func newInit(a *app) *cobra.Command {
	var settings, schema bool
	var template string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Make a new project with a flow that runs, and its tests",
		Long: `Make a new project: settings, a flow that runs without a key, its workspace and its
tests, and the schemas that let an editor complete flows and tests. Files that exist are
left alone. On a terminal it asks which template to take; --template chooses one:

  hello      one question, one answer (the default)
  chat       a chat that remembers its users
  desk       a support desk: asks for the order number, looks orders up, refunds
  lorebook   a role play with a lorebook (flows/roleplay.yaml if the language is Chinese)

The schema knows what is built in. That of --schema has the calls and importance
functions of trusted plugins too.`,
		Example: "  scheduler init my-app\n  scheduler init my-desk --template desk\n  scheduler init --settings    # print all settings with their defaults\n  scheduler init --schema > flow.schema.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if settings || schema {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if settings {
				_, err := a.Stdout.Write(configs.Defaults)
				return err
			}
			if schema {
				return a.printSchema()
			}
			return a.initProject(cmd.Context(), args[0], template)
		},
	}
	cmd.Flags().BoolVar(&settings, "settings", false, "print all settings with their defaults, and write nothing")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of flows for editors, plugins and all, and write nothing")
	cmd.Flags().StringVar(&template, "template", "", "the project to begin with: `hello`, chat, desk or lorebook (default hello; a terminal asks)")
	cmd.MarkFlagsMutuallyExclusive("settings", "schema", "template")
	return cmd
}

// printSchema prints the schema of flows with the calls of trusted plugins and the names of model providers.
func (a *app) printSchema() (err error) {
	if err := a.open(); err != nil {
		return err
	}
	registry, err := a.runtime.Registry("")
	if err != nil {
		return err
	}
	return a.PrintJSON(flow.EditorSchema(registry, a.settings.LLM.Names()...))
}

func (a *app) initProject(ctx context.Context, dir, name string) error {
	template, err := a.chooseTemplate(ctx, name)
	if err != nil {
		return err
	}
	template = template.In(string(a.Language))
	if err := a.writeProject(dir, template, true); err != nil {
		return err
	}
	enter := ""
	if filepath.Clean(dir) != "." {
		enter = "\n  cd " + terminal.ShellQuote(dir)
	}
	a.Tellf("\nTry it:%s\n  scheduler %s\n  scheduler test\n  scheduler serve --open\n\nYour own model: take the # away from its line in scheduler.yaml, name it under default, and set its key,\nfor example export OPENAI_API_KEY=... (scheduler help models)", enter, strings.Join(template.Run, " "))
	return nil
}

// chooseTemplate returns the template of a name. Without a name a person is asked, if there is one.
func (a *app) chooseTemplate(ctx context.Context, name string) (starter.Template, error) {
	if name == "" && a.CanAsk() {
		fmt.Fprintln(a.Stderr, a.Language.Say("Which project?"))
		for i, t := range starter.List() {
			fmt.Fprintf(a.Stderr, "  %d %-9s %s\n", i+1, t.Name, t.Summary.In(string(a.Language)))
		}
		fmt.Fprint(a.Stderr, a.Language.Say("A number or a name [%s]: ", starter.Default))
		select {
		case <-ctx.Done():
			fmt.Fprintln(a.Stderr)
			return starter.Template{}, exitError{exitInterrupted, wording.Errorf("interrupted")}
		case line := <-a.Lines():
			name = strings.ToLower(strings.TrimSpace(line))
		}
	}
	if name == "" {
		name = starter.Default
	}
	names := starter.Names()
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
		name = names[n-1]
	}
	template, ok := starter.Find(name)
	if !ok {
		return template, usageError(calls.Errorf(calls.Invalid, "there is no template %q%s", name, value.DidYouMeanOrListSuffix(name, names)))
	}
	return template, nil
}

// writeProject writes the files of a template into a folder; existing files stay. isTold prints each of them.
func (a *app) writeProject(dir string, template starter.Template, isTold bool) error {
	files, err := template.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		target := filepath.Join(dir, filepath.FromSlash(f.Name))
		verb := "created %s"
		err := writeNewFile(target, f.Content)
		if errors.Is(err, fs.ErrExist) {
			verb, err = "kept    %s", nil
		}
		if err != nil {
			return exitError{exitFailed, err}
		}
		if isTold {
			a.Tellf(verb, target)
		}
	}
	return nil
}

// writeNewFile writes a file and the folders above it. The error is [fs.ErrExist] if there is a file of that name.
func writeNewFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	if err := errors.Join(err, out.Close()); err != nil {
		return wording.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func newDemo(a *app) *cobra.Command {
	var listen string
	var noOpen bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a flow, its prompt and the page, without a project",
		Long: `Show what the program does, without a project, a key or a network: run the quickstart
from recorded answers, print where each piece of its prompt came from, and open the page
with that run. There you can run the flows, chat, answer what a run asks for, and change
the flows; new answers come from echo, which repeats your words.

Everything is in a temporary folder, which is removed at the end (Ctrl-C). Settings of the
environment (SCHEDULER_*) do not count here, but for the language.`,
		Example: "  scheduler demo\n  scheduler demo --no-open --listen 127.0.0.1:8050",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runDemo(cmd.Context(), listen, !noOpen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`host:port` of the page; port 0 takes a free one")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "do not open the page in the browser")
	return cmd
}

// runDemo makes a project in a temporary folder, runs its first flow, serves it until ctx ends, and removes the folder.
func (a *app) runDemo(ctx context.Context, listen string, isOpened bool) (err error) {
	before, err := os.Getwd()
	if err != nil {
		return exitError{exitFailed, err}
	}
	dir, err := os.MkdirTemp("", "scheduler-demo-")
	if err != nil {
		return exitError{exitFailed, err}
	}
	defer func() {
		a.close() // its files are in the folder
		a.settings = nil
		if left := errors.Join(os.Chdir(before), os.RemoveAll(dir)); left != nil {
			err = errors.Join(err, exitError{exitFailed, left})
		}
	}()
	demo := starter.Demo().In(string(a.Language))
	if err := errors.Join(a.writeProject(dir, demo, false), os.Chdir(dir)); err != nil {
		return err
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "SCHEDULER_") && name != "SCHEDULER_LANGUAGE" {
			_ = os.Unsetenv(name) // fails for no name of a variable
		}
	}
	a.configPath, a.stateDir = "", ""
	if err := a.open(); err != nil {
		return err
	}
	if err := a.runFlow(ctx, demo.Run[1], &runFlags{replay: true, show: showFlags{explain: lastPrompt}}); err != nil {
		return err
	}
	a.Tellf("\nThe demonstration is in %s, until you end it with Ctrl-C. Your own project: scheduler init my-app", dir)
	f := &serveFlags{listen: listen, auth: "token", open: isOpened, edit: true}
	return a.serveUntilEnd(ctx, f.applyTo(a), f)
}
