// Command scheduler runs flows: YAML files of calls that put a prompt together and ask a model. For example, scheduler run
// hello.yaml runs one. The package scheduler explains what a run is.
//
// Each subcommand has a file of its name; larger ones have several (memory_search.go is memory search).
//
//   - main.go, commands.go, app.go: the program, the tree of its commands, and how each of them begins and ends
//   - flags.go, complete.go, paths.go, help.go: flags that commands share, completion in shells, paths for people, help
//   - run.go, resume.go, fork.go, session.go: a flow is run, a run goes on or is forked, and talks with its user
//   - runs.go, runs_show.go, runs_prune.go, journal.go: the runs of the journal
//   - lint.go, graph.go, init.go, import.go: flow files: problems, pictures, new projects, files of other programs
//   - call.go, calls.go, functions.go: one call without a flow, and lists of what flows can name
//   - test.go, test_select.go, test_calibrate.go: tests of flows
//   - memory*.go: the memory, its entries, facts, files and snapshots
//   - plugins.go, plugins_init.go, plugins_verify.go, plugins_trust.go: plugins
//   - serve.go, token.go, worker.go, mcp.go, mcp_trust.go: the server, its tokens, workers, the Model Context Protocol
//   - wording.go: the messages in Chinese
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/callnode/scheduler/cmd/scheduler/chinesehelp"
	_ "github.com/callnode/scheduler/cmd/scheduler/startup" // before the others
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/process"
)

func main() {
	os.Exit(runProgram(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// runProgram runs the program and returns its exit code.
func runProgram(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == process.ReaperCommand {
		return process.Reap(args[1:])
	}
	ctx, stop := untilInterrupted()
	defer stop()
	app := &app{Terminal: terminal.New(stdin, stdout, stderr, ctx.Done()), args: args}
	app.Commands = app.makeRunnable
	app.Language = terminal.Language(cmp.Or(os.Getenv("SCHEDULER_LANGUAGE"), os.Getenv("LANG")))
	defer app.close()
	root := newRoot(app)
	if wording.IsChinese(string(app.Language)) {
		chinesehelp.Translate(root)
	}
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
	// An error of cobra itself is wrong usage.
	if text, ok := wording.Recognize(err.Error()); ok {
		err = wording.Errorf("%s", text)
	}
	app.PrintError(err)
	app.Tellf("Run '%s --help' for usage.", cmd.CommandPath())
	return exitUsage
}

// untilInterrupted returns a context that Ctrl-C or SIGTERM ends; the third of them ends the program at once. The
// second does not: for example, timeout(1) signals a process and then its whole group, and the stopped run must
// still be recorded.
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
