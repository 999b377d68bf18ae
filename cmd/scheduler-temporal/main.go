// Command scheduler-temporal is the second program of scheduler: it has the parts that only runs on Temporal need.
// People start it through scheduler: scheduler run --on and scheduler serve --on start it as a plugin (see the
// package scheduler/remote), scheduler worker replaces itself by it. For example, scheduler run --on
// temporal://localhost:7233 flow.yaml starts it to carry out one run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/cmd/scheduler/worker"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/scheduler/remote"
	"github.com/callnode/scheduler/scheduler/service"
)

// The exit codes, the same as scheduler's.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// version is set by the Makefile through the linker.
var version = ""

func main() {
	os.Exit(runProgram(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
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

// runProgram runs the program and returns its exit code.
func runProgram(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == process.ReaperCommand {
		return process.Reap(args[1:])
	}
	if len(args) > 0 && args[0] == remote.ServeCommand {
		remote.Serve(buildVersion(), openRemote)
		return exitDone
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &program{Terminal: terminal.New(stdin, stdout, stderr, ctx.Done())}
	p.Language = terminal.Language(os.Getenv("LANG"))
	defer p.close()
	root := newRoot(p)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	var code exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		if code.err != nil {
			p.PrintError(code.err)
		}
		return code.code
	}
	p.PrintError(err)
	return exitUsage
}

// program is the state that the commands share. Only the goroutine of the command uses it.
type program struct {
	*terminal.Terminal
	place    config.Place
	handedBy string // the version of the program that hands over; "" for people
	settings *config.Settings
	runtime  *wire.Runtime
	service  *service.Service
	link     link
}

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:           remote.Program,
		Short:         "Carry out the runs of scheduler on Temporal (scheduler starts it)",
		Version:       buildVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&p.place.File, "config", "", "settings file")
	flags.StringVar(&p.place.StateDir, "state-dir", "", "directory of the journal and the memory")
	flags.StringVar(&p.handedBy, remote.VersionFlag[len("--"):], "", "version of the scheduler that starts this program")
	root.AddCommand(worker.NewCommand(func(cmd *cobra.Command, f *worker.Flags) error {
		if err := remote.CheckVersion(p.handedBy, buildVersion()); err != nil {
			return usageError(err)
		}
		if err := p.open(f.On); err != nil {
			return err
		}
		return p.work(cmd.Context(), f)
	}))
	return root
}

// open reads the settings, over which --on wins, and puts the program together.
func (p *program) open(on string) error {
	settings, err := config.Load(p.place, wire.ProviderTypes())
	if err != nil {
		return usageError(err)
	}
	if on != "" {
		if err := settings.SetOn(on); err != nil {
			return usageError(err)
		}
	}
	p.settings = settings
	p.Language = terminal.Language(settings.DefaultLanguage())
	p.runtime = wire.New(settings, buildVersion(), p.Stderr)
	p.runtime.TakeLog()
	p.link.settings, p.link.runtime = settings, p.runtime
	p.runtime.SetRemote(func(ctx context.Context) (service.Remote, error) { return p.link.connect(ctx) })
	p.service = p.runtime.NewService()
	return nil
}

// close closes everything that was opened.
func (p *program) close() {
	if p.service == nil {
		return
	}
	if err := p.service.Close(); err != nil {
		p.Tellf("warning: %s", err)
	}
	p.link.close()
	if err := p.runtime.Close(); err != nil {
		p.Tellf("warning: ending the plugins: %w", err)
	}
}

// exitError is an error with the exit code that it means; err is nil if everything has been
// said already.
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

// beforeRun returns an error from before anything ran, with its exit code.
func beforeRun(err error) error {
	var unavailable *service.UnavailableError
	switch {
	case errors.As(err, new(exitError)):
		return err
	case errors.As(err, &unavailable):
		return exitError{exitFailed, unavailable.Err}
	}
	return usageError(wording.Errorf("%w", err))
}
