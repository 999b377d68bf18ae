package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// session shows a run to whoever started or resumed it, asks for what it waits
// for where somebody can answer, and gives the exit code.
type session struct {
	app      *app
	executor *scheduler.StepExecutor
	flow     *flow.Flow
	show     showFlags
	state    *journal.RunState
	run      string // its id, once there was an event
	// ended: there was the event that tells the end of the run.
	ended bool
	// fleeting: the record of the run is gone with the process.
	fleeting bool
	// typed are answers that the run did not get any more.
	typed []scheduler.Answer
	// heard is what steps said before the run came to wait.
	heard map[string]string
}

func (a *app) newSession(e *scheduler.StepExecutor, flow *flow.Flow, show showFlags) *session {
	return &session{app: a, executor: e, flow: flow, show: show, state: journal.NewRunState(), fleeting: e.Journal == nil}
}

// follow prints the events of a run, and gives the error that ended it.
func (s *session) follow(events iter.Seq2[*journal.Event, error]) (err error) {
	speech := service.NewSpeech(s.heard)
	var out interface {
		Event(e *journal.Event) error
		Close() error
	}
	if s.show.json {
		out = terminal.NewEventPrinter(s.app.Stdout)
	} else {
		out = terminal.NewProgress(s.app.Terminal, s.flow, speech, s.show.outputs)
	}
	defer func() {
		s.heard = speech.Heard()
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	s.ended = false
	for event, runErr := range events {
		if runErr != nil {
			return runErr
		}
		s.state.Add(event)
		s.run, s.ended = event.Run, s.state.State != journal.RunRunning
		if err := out.Event(event); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

// finish ends the session: asks and goes on while the run waits and somebody is
// there, explains the prompt, and turns the error into an exit code.
func (s *session) finish(ctx context.Context, err error) error {
	for more := true; more; {
		more, err = s.answer(ctx, err)
	}
	if s.show.explain != "" {
		if explainErr := s.app.explain(s.flow, s.state, s.show.explain, s.executor.Env.Tokens); err == nil {
			err = explainErr
		}
	}
	return s.exit(ctx, err)
}

// answer asks for what the run waits for and goes on with it. more says that there
// may be further questions. What was typed before the input ended counts; after
// Ctrl-C it is in the command that is printed.
func (s *session) answer(ctx context.Context, err error) (more bool, after error) {
	var waiting *scheduler.Waiting
	if !errors.As(err, &waiting) || s.executor.Journal == nil || s.show.json || !s.app.CanAsk() {
		return false, err
	}
	q := &terminal.Asker{
		Lines: s.app.Lines(), Out: s.app.Stderr, Waiting: s.waiting(),
		Record: func(ctx context.Context, answer scheduler.Answer) (scheduler.Answer, error) {
			return s.executor.Answer(ctx, waiting.Run, answer)
		},
	}
	ended := q.Ask(ctx)
	switch {
	case ctx.Err() != nil:
		s.typed = q.Answers
		return false, err
	case ended != nil && !errors.Is(ended, terminal.ErrNoAnswer):
		return false, ended
	case len(q.Answers) == 0:
		return false, err
	}
	err = s.follow(s.executor.Resume(ctx, waiting.Run, scheduler.Resumption{Answers: q.Answers}))
	return ended == nil, err
}

// waiting is what the run waits for, in the order of the flow.
func (s *session) waiting() []journal.WaitingFor {
	return inFileOrder(s.flow, s.state.Waiting)
}

// inFileOrder sorts what waits by its place in the flow, items by their index.
func inFileOrder(flow *flow.Flow, waiting []journal.WaitingFor) []journal.WaitingFor {
	place := func(id string) (places []int) {
		for at := flow; at != nil; {
			segment, rest, inner := strings.Cut(id, "/")
			name, index, _ := strings.Cut(segment, "[")
			n, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			if err != nil {
				n = -1
			}
			step, ok := at.Step(name)
			if !ok {
				break
			}
			if places = append(places, step.Index, n); !inner {
				break
			}
			at, id = step.Sub, rest
		}
		return places
	}
	sorted := slices.Clone(waiting)
	slices.SortStableFunc(sorted, func(a, b journal.WaitingFor) int { return slices.Compare(place(a.Step), place(b.Step)) })
	return sorted
}

func (s *session) exit(ctx context.Context, err error) error {
	var waiting *scheduler.Waiting
	var said exitError
	var held *journal.HeldError
	switch {
	case err == nil || errors.As(err, &said) && said.err == nil:
		return err
	case errors.As(err, &waiting) && ctx.Err() != nil:
		s.app.PrintError(errors.New("interrupted"))
		s.app.tellWaiting(waiting.Run, s.waiting(), s.typed, s.fleeting)
		return exitError{code: exitInterrupted}
	case errors.As(err, &waiting):
		s.app.tellWaiting(waiting.Run, s.waiting(), nil, s.fleeting)
		return exitError{code: exitWaiting}
	case s.run == "" && refused(err):
		return usageError(err)
	case errors.As(err, &held) && held.Holder != nil:
		return usageError(calls.Errorf(calls.Invalid, "%w", held).
			WithHint("see how it stands with: %s; stop it with: %s; a process that has died lets go of it within 5 s",
				s.app.command("runs", "show", held.Run), s.app.command("runs", "cancel", held.Run)))
	}
	code := exitFor(ctx, err, s.show.json && s.ended)
	if s.fleeting || s.run == "" || s.show.json || errors.Is(err, journal.ErrSecretLost) {
		return code
	}
	s.app.PrintError(code)
	fmt.Fprintf(s.app.Stderr, "what finished is kept; go on with:\n  %s\n", s.app.resumeCommand(s.run, nil, nil))
	if refused(err) || calls.KindOf(err) == calls.Budget {
		file, absErr := filepath.Abs(s.flow.File)
		if absErr != nil {
			file = s.flow.File
		}
		fmt.Fprintf(s.app.Stderr, "the run keeps its flow as it was: once you have edited it, add --flow %s\n", terminal.ShellQuote(file))
	}
	var exit exitError
	errors.As(code, &exit)
	return exitError{code: exit.code}
}

// refused says that an error is about what somebody wrote: a flow, an answer, an
// input.
func refused(err error) bool {
	kind := calls.KindOf(err)
	var failure *scheduler.Failure
	if errors.As(err, &failure) {
		kind = failure.Info.Kind
	}
	return kind == calls.Invalid || kind == calls.NotFound || kind == calls.Missing
}

// tellWaiting prints what a run waits for and the command that goes on with it,
// with the answers that are there already.
func (a *app) tellWaiting(run string, waiting []journal.WaitingFor, typed []scheduler.Answer, fleeting bool) {
	for _, one := range waiting {
		fmt.Fprint(a.Stderr, terminal.WaitingText(one))
	}
	if fleeting {
		fmt.Fprintln(a.Stderr, "the run was ephemeral: run it again without --ephemeral to be able to go on")
		return
	}
	fmt.Fprintf(a.Stderr, "go on with:\n  %s\n", a.resumeCommand(run, waiting, typed))
}

// program is what a shell finds this program by: its name where that is on the
// path, else its file.
func program() string {
	if _, err := exec.LookPath("scheduler"); err == nil {
		return "scheduler"
	}
	if file, err := os.Executable(); err == nil {
		return terminal.ShellQuote(file)
	}
	return "scheduler"
}

// command is one that finds the same journal from any directory.
func (a *app) command(words ...string) string {
	parts := append([]string{program()}, words...)
	for _, path := range []struct{ flag, path string }{{"--state-dir", a.config.StateDir}, {"--config", a.config.File()}} {
		if path.path == "" {
			continue
		}
		if full, err := filepath.Abs(path.path); err == nil {
			path.path = full
		}
		parts = append(parts, path.flag, terminal.ShellQuote(path.path))
	}
	return strings.Join(parts, " ")
}

// resumeCommand is the exact command that goes on with a run, from any directory.
func (a *app) resumeCommand(run string, waiting []journal.WaitingFor, typed []scheduler.Answer) string {
	parts := []string{a.command("resume", run)}
	set := func(step, pointer, text string) {
		if len(waiting) == 1 {
			step = ""
		} else {
			step += ":"
		}
		parts = append(parts, "--set", terminal.ShellQuote(step+pointer+"="+text))
	}
	for _, w := range waiting {
		for _, pointer := range w.Pointers() {
			known := false
			for _, a := range typed {
				if a.Step == w.Step && (a.Pointer == pointer || strings.HasPrefix(a.Pointer, pointer+"/")) {
					set(a.Step, a.Pointer, terminal.Display(a.Value))
					known = true
				}
			}
			if !known {
				set(w.Step, pointer, "VALUE")
			}
		}
	}
	return strings.Join(parts, " ")
}

// exitFor gives the error of a run its exit code. said means that stdout told the
// error already.
func exitFor(ctx context.Context, err error, said bool) error {
	var code exitError
	switch {
	case err == nil || errors.As(err, &code):
		return err
	case ctx.Err() != nil && calls.KindOf(err) == calls.Canceled:
		return exitError{exitInterrupted, errors.New("interrupted")}
	case said:
		return exitError{code: exitFailed}
	}
	return exitError{exitFailed, err}
}
