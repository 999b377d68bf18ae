// Command scheduler runs flows: YAML files of calls that put a prompt together
// and ask a model. See the package scheduler for what a run is.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/plugins/host/process"
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

func main() {
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs the program and gives its exit code.
func execute(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == process.ReaperCommand {
		return process.Reap(args[1:])
	}
	ctx, stop := untilInterrupted()
	defer stop()
	app := &app{Terminal: terminal.New(stdin, stdout, stderr, ctx.Done())}
	defer app.close()
	root := newRoot(app)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var code exitError
	var file *fs.PathError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, terminal.ErrInterrupted): // while it read stdin
		app.PrintError(terminal.ErrInterrupted)
		return exitInterrupted
	case errors.As(err, &code):
		if code.err != nil {
			app.PrintError(code.err)
		}
		return code.code
	case errors.As(err, &file): // stdout cannot be written
		app.PrintError(err)
		return exitFailed
	}
	// What cobra itself refuses is wrong usage.
	app.PrintError(err)
	fmt.Fprintf(app.Stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	return exitUsage
}

// untilInterrupted returns a context that Ctrl-C or SIGTERM ends; the third of them ends
// the program at once. The second does not: timeout(1), for one, tells a process and
// then its whole group, and a run that is stopped so has to be put on record all the
// same.
func untilInterrupted() (context.Context, func()) {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	stop := func() {
		signal.Stop(told)
		restore()
	}
	go func() {
		<-told
		<-told
		stop()
	}()
	return ctx, func() {
		stop()
		close(told)
	}
}

// app is what every subcommand shares.
type app struct {
	*terminal.Terminal
	configPath string
	stateDir   string // --state-dir
	settings   *config.Settings
	runtime    *runtime
	service    *service.Service
}

// open reads the settings, over which flags win, and puts the program together. Nothing is
// opened before it is needed.
func (a *app) open() error {
	if a.settings != nil {
		return nil
	}
	settings, err := config.Load(config.Place{File: a.configPath, StateDir: a.stateDir}, providerTypes())
	for _, name := range config.UnknownVariables(os.Environ()) {
		fmt.Fprintf(a.Stderr, "warning: no setting reads the environment variable %s\n", name)
	}
	if err != nil {
		return usageError(err)
	}
	a.settings = settings
	a.runtime = newRuntime(settings, a.Stderr)
	a.service = newService(a.runtime)
	return nil
}

// close ends what open and the commands have opened.
func (a *app) close() {
	if a.settings == nil {
		return
	}
	if err := a.service.Close(); err != nil {
		fmt.Fprintf(a.Stderr, "warning: %v\n", err)
	}
	if err := a.runtime.close(); err != nil {
		fmt.Fprintf(a.Stderr, "warning: ending the plugins: %v\n", err)
	}
}

// printNotes prints what a use case has to tell.
func (a *app) printNotes(notes []service.Note) {
	for _, n := range notes {
		fmt.Fprintln(a.Stderr, n)
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

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "scheduler",
		Short: "Run flows that build the context of a language model",
		Long: strings.TrimSpace(`
scheduler runs flows: YAML files made of calls (input, context, in-chat, chat ...)
that put a prompt together, ask a model, and can tell where every piece of the
prompt came from.`),
		Example: strings.Trim(`
  scheduler init my-app && cd my-app
  scheduler run flows/hello.yaml --question "Who are you?"
  scheduler run flows/hello.yaml --explain
  scheduler lint flows/*.yaml
  scheduler calls chat`, "\n"),
		Version:       buildVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			switch { // those that need no settings work when the settings are broken
			case cmd.Name() == "version", cmd.Name() == "help", cmd.Name() == "init" && cmd.Parent() == cmd.Root(),
				cmd.Parent() != nil && cmd.Parent().Name() == "completion":
				return nil
			}
			return a.open()
		},
	}
	root.PersistentFlags().StringVar(&a.configPath, "config", "", "settings file (default the scheduler.yaml of the project: in the working directory or above it)")
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "", "directory of the journal and the memory (default the setting state_dir)")
	root.SetVersionTemplate(versionLine())
	root.AddCommand(
		newRun(a), newResume(a), newRuns(a), newLint(a), newGraph(a), newCall(a), newCalls(a), newPlugins(a), newMemory(a), newServe(a), newToken(a), newInit(a), newVersion(a))
	root.SetHelpCommand(newHelp(a))
	for _, cmd := range root.Commands() {
		completeFlags(a, cmd)
	}
	nameArguments(root)
	return root
}

// nameArguments lets commands say which arguments they take, where the library counts.
func nameArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		nameArguments(c)
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				err := check(c, args)
				if own := (exitError{}); err == nil || errors.As(err, &own) {
					return err
				}
				return fmt.Errorf("wrong number of arguments: want %s", c.UseLine())
			}
		}
	}
}
