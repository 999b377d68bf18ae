package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
)

// A report that cannot be written is reported, whatever the results, and never leaves the exit code of a run that
// passed.
func TestWithFailure(t *testing.T) {
	failed := errors.New("the report was not written")
	for verdict, want := range map[error]int{
		nil: exitFailed, exitError{code: exitFailed}: exitFailed, exitError{code: exitUndecided}: exitFailed, exitError{code: exitInterrupted}: exitInterrupted,
	} {
		var exit exitError
		if err := withFailure(verdict, failed); !errors.As(err, &exit) || exit.code != want || !errors.Is(err, failed) {
			t.Errorf("%v: %v, want the exit code %d", verdict, err, want)
		}
		if err := withFailure(verdict, nil); !errors.Is(err, verdict) {
			t.Errorf("%v without a failure: %v", verdict, err)
		}
	}
}

// A command that is interrupted while it reads a flow ends at once, with the exit code of an interruption.
func TestInterruptedBeforeRun(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "f.yaml"
	if err := os.WriteFile(file, []byte("steps: [{id: a, call: template, with: {template: x}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"lint", file}, {"run", file}, {"run", "--replay", file}, {"graph", file}} {
		a := &app{Terminal: terminal.New(strings.NewReader(""), io.Discard, io.Discard, ctx.Done()), args: args}
		root := newRoot(a)
		root.SetArgs(args)
		err := root.ExecuteContext(ctx)
		a.close()
		var code exitError
		if !errors.As(err, &code) || code.code != exitInterrupted {
			t.Errorf("%v: %v", args, err)
		}
	}
}
