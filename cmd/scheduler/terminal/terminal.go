// Package terminal reads and prints for the commands: progress, questions, lists, errors. For example, [Progress]
// shows a run while it works, and [Asker] asks the questions that it waits for.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Terminal is the input and output of a command, on a terminal or not. The program makes one; it lives as long as
// the process. Its methods are for one goroutine at a time, except writing to Stderr.
type Terminal struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer // doors, see [New]
	// Interrupted is closed by Ctrl-C or SIGTERM; nil never is.
	Interrupted <-chan struct{}
	// Language is English until it is set.
	Language Language
	// Root is the folder of the project, which the places in errors and warnings of runs are relative to; "" is the working
	// directory.
	Root string
	// Commands returns a text with the commands of this program in it as a shell runs them here, for example with
	// --state-dir; nil leaves them unchanged.
	Commands func(text string) string

	lines chan string // the lines that a person types
}

// New returns a Terminal of these files. Everything that is printed goes through the door, which quotes characters
// that would control a terminal.
func New(stdin io.Reader, stdout, stderr io.Writer, interrupted <-chan struct{}) *Terminal {
	return &Terminal{Stdin: stdin, Stdout: newDoor(stdout, false), Stderr: newDoor(stderr, true), Interrupted: interrupted}
}

// Tellf prints a line of the program on standard error, in the language of the person.
func (t *Terminal) Tellf(format string, args ...any) {
	fmt.Fprintln(t.Stderr, t.runnable(t.Language.Say(format, args...)))
}

// runnable returns a text of the program, the commands in which can be run exactly as printed.
func (t *Terminal) runnable(text string) string {
	if t.Commands == nil {
		return text
	}
	return t.Commands(text)
}

// PrintJSON prints v on stdout, indented.
func (t *Terminal) PrintJSON(v value.Value) error {
	_, err := fmt.Fprintln(t.Stdout, JSONText(v))
	return err
}

// PrintJSONLine prints data as one line of JSON.
func (t *Terminal) PrintJSONLine(v value.Value) error {
	_, err := fmt.Fprintln(t.Stdout, escapeBare(string(v.AppendJSON(nil))))
	return err
}

// PrintText prints a text on stdout.
func (t *Terminal) PrintText(text string) error {
	_, err := io.WriteString(t.Stdout, text)
	return err
}

// PrintError prints an error with its hint.
func (t *Terminal) PrintError(err error) {
	text, hint := t.Language.sayOf(err), calls.HintIn(err, string(t.Language))
	var failure *scheduler.Failure
	if errors.As(err, &failure) { // secrets are masked in its Info, and the hint is separate
		hint = failure.Info.Hint
		info := *failure
		info.Info.Hint = ""
		info.Info.Position = t.PlaceHere(info.Info.Position)
		text = info.In(string(t.Language))
	}
	if problems := (flow.Problems)(nil); !errors.As(err, &problems) || problems.In(string(t.Language)) != text {
		text = t.Language.Say("error: %s", text) // lines that begin with file:line:col say so themselves
	}
	fmt.Fprintln(t.Stderr, t.runnable(text))
	if hint != "" {
		t.Tellf("hint: %s", hint)
	}
}

// PlaceHere returns a place such as flows/support.yaml:4:7 from the working directory, so that editors find it.
func (t *Terminal) PlaceHere(place string) string {
	if t.Root == "" || place == "" || filepath.IsAbs(place) {
		return place
	}
	wd, err := os.Getwd()
	if err != nil {
		return place
	}
	rel, err := filepath.Rel(wd, filepath.Join(t.Root, filepath.FromSlash(place)))
	if err != nil {
		return place
	}
	return rel
}
