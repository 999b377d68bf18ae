package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch/queue"
	"github.com/callnode/scheduler/scheduler/service"
)

// The exit codes. Scripts depend on them.
const (
	exitDone        = 0
	exitFailed      = 1   // the run failed
	exitUsage       = 2   // the flow, the settings, the inputs or the usage is wrong
	exitWaiting     = 3   // the run waits for input
	exitUndecided   = 4   // a check of a test could not be decided, and nothing failed
	exitInterrupted = 130 // Ctrl-C
)

// app is the state that all subcommands share. [execute] makes it, open fills it in before a command runs, and
// close ends it with the program. Only the goroutine of the command uses it.
type app struct {
	*terminal.Terminal
	args       []string // the program's arguments
	configPath string
	stateDir   string // --state-dir
	onFlag     string // --on, as given
	settings   *config.Settings
	runtime    *wire.Runtime
	service    *service.Service
	queues     *queue.Watch // nil until it is needed
}

// open reads the settings, over which flags win, and puts the program together. Nothing is
// opened before it is needed.
func (a *app) open() error {
	if a.settings != nil {
		return nil
	}
	settings, err := config.Load(config.Place{File: a.configPath, StateDir: a.stateDir}, wire.ProviderTypes())
	for _, name := range config.UnknownVariables(os.Environ()) {
		a.Tellf("warning: no setting reads the environment variable %s", name)
	}
	if err != nil {
		return usageError(err)
	}
	a.settings, a.Root = settings, settings.Root
	a.Language = terminal.Language(settings.DefaultLanguage())
	a.runtime = wire.New(settings, buildVersion(), a.Stderr)
	a.runtime.TakeLog()
	a.service = a.runtime.NewService()
	return nil
}

// close ends everything that open and the commands have opened.
func (a *app) close() {
	if a.settings == nil {
		return
	}
	if err := a.service.Close(); err != nil {
		a.Tellf("warning: %s", err)
	}
	if err := a.runtime.Close(); err != nil {
		a.Tellf("warning: ending the plugins: %w", err)
	}
}

// printNotes prints the notes of a use case.
func (a *app) printNotes(notes []service.Note) {
	for _, n := range notes {
		fmt.Fprintln(a.Stderr, n.In(string(a.Language)))
	}
}

// exitError is an error with the exit code that it means; err is nil if everything has been printed already.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

func usageError(err error) error { return exitError{exitUsage, err} }

// beforeRun returns an error from before anything ran, with its exit code: 1 if
// a store or Temporal cannot be reached, else 2.
func (a *app) beforeRun(err error) error {
	var unavailable *service.UnavailableError
	switch {
	case errors.As(err, new(exitError)):
		return err
	case errors.Is(err, context.Canceled): // Ctrl-C, for example during the check of a large flow
		return exitError{exitInterrupted, wording.Errorf("interrupted")}
	case errors.Is(err, service.ErrNoJournal):
		return a.noJournal()
	case errors.As(err, &unavailable):
		return exitError{exitFailed, unavailable.Err}
	case calls.KindOf(err) == calls.Provider: // Temporal is away: like a store that is
		return exitError{exitFailed, err}
	}
	return usageError(err)
}

// noJournal returns the error of a state directory without a journal.
func (a *app) noJournal() error {
	dir, err := filepath.Abs(a.settings.StateDir)
	if err != nil {
		dir = a.settings.StateDir
	}
	return usageError(calls.Errorf(calls.NotFound, "the journal has no runs: there is no journal in %s", dir).
		WithHint("go to the directory where the run began, or name its journal with --state-dir"))
}

// version is set by the Makefile through the linker.
var version = ""

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Stdout, versionLine())
			return err
		},
	}
}

// versionLine returns the line that version and --version print.
func versionLine() string {
	return fmt.Sprintf("scheduler %s %s %s/%s\n", buildVersion(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}

// buildVersion returns the linker's version, else the module's, else "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// noteSimplified notes that messages are in simplified Chinese when the setting language, or LANG, asks for
// traditional.
func (a *app) noteSimplified() {
	locale, _, _ := strings.Cut(os.Getenv("LANG"), ".")
	asked := cmp.Or(a.settings.Language, locale)
	if wording.IsTraditional(asked) && wording.IsChinese(string(a.Language)) {
		a.Tellf("note: the messages in %s are in simplified Chinese", asked)
	}
}

// exitFor returns the error of a run with its exit code. told is true if stdout has the error already.
func exitFor(ctx context.Context, err error, told bool) error {
	var code exitError
	switch {
	case err == nil || errors.As(err, &code):
		return err
	case ctx.Err() != nil && calls.KindOf(err) == calls.Canceled:
		return exitError{exitInterrupted, wording.Errorf("interrupted")}
	case told:
		return exitError{code: exitFailed}
	}
	return exitError{exitFailed, err}
}

// promptsError turns the error of a step's prompts into an exit code.
func promptsError(err error) error {
	if calls.KindOf(err) == calls.NotFound {
		return usageError(err)
	}
	return exitError{exitFailed, err}
}
