package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/service"
)

// The exit codes. Scripts depend on them.
const (
	exitDone        = 0
	exitFailed      = 1   // the run failed
	exitUsage       = 2   // the flow, the settings, the inputs or the usage is wrong
	exitWaiting     = 3   // the run waits for input
	exitInterrupted = 130 // Ctrl-C
)

// app is what every subcommand shares. [execute] makes it, open fills it in before a command
// runs, and close ends it with the program. Only the goroutine of the command uses it.
type app struct {
	*terminal.Terminal
	configPath string
	stateDir   string // --state-dir
	onFlag     string // --on, as it was given
	settings   *config.Settings
	runtime    *wire.Runtime
	service    *service.Service
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
	a.settings = settings
	a.Language = terminal.Language(settings.DefaultLanguage())
	a.runtime = wire.New(settings, buildVersion(), a.Stderr)
	a.runtime.TakeLog()
	a.service = a.runtime.NewService()
	return nil
}

// close ends what open and the commands have opened.
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

// printNotes prints what a use case has to tell.
func (a *app) printNotes(notes []service.Note) {
	for _, n := range notes {
		fmt.Fprintln(a.Stderr, n.In(string(a.Language)))
	}
}

// exitError is an error with the exit code that it means; err is nil where
// everything has been said already.
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

// beforeRun returns the error of what failed before anything ran, with its exit code: 1 where
// a store cannot be used, else 2.
func (a *app) beforeRun(err error) error {
	var unavailable *service.UnavailableError
	switch {
	case errors.As(err, new(exitError)):
		return err
	case errors.Is(err, service.ErrNoJournal):
		return a.noJournal()
	case errors.As(err, &unavailable):
		return exitError{exitFailed, unavailable.Err}
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

// parseTime reads --now: with a zone, or in the local one; "" is the zero time.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usageError(wording.Errorf("the time %q is not understood: write 2026-03-05T09:07:00Z or 2026-03-05T09:07:00", text))
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

// versionLine returns what version and --version print.
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
