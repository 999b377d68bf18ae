package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
)

// session shows a run to whoever started or resumed it, asks for what it waits
// for where somebody can answer, and gives the exit code.
type session struct {
	app      *app
	executor *scheduler.StepExecutor
	flow     *scheduler.Flow
	show     showFlags
	state    *scheduler.RunState
	run      string // its id, once there was an event
}

func (a *app) newSession(e *scheduler.StepExecutor, flow *scheduler.Flow, show showFlags) *session {
	return &session{app: a, executor: e, flow: flow, show: show, state: scheduler.NewRunState()}
}

// follow prints the events of a run, and gives the error that ended it.
func (s *session) follow(events iter.Seq2[*scheduler.Event, error]) (err error) {
	var out printer = newProgress(s.app, s.flow, s.show.outputs)
	if s.show.json {
		out = newEventPrinter(s.app.stdout)
	}
	defer func() {
		if closeErr := out.close(); err == nil {
			err = closeErr
		}
	}()
	for event, runErr := range events {
		if runErr != nil {
			return runErr
		}
		s.state.Add(event)
		s.run = event.Run
		if err := out.event(event); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

// finish ends the session: asks and goes on while the run waits and somebody is
// there, explains the prompt, and turns the error into an exit code.
func (s *session) finish(ctx context.Context, err error) error {
	var waiting *scheduler.Waiting
	for errors.As(err, &waiting) && s.executor.Journal != nil && s.app.canAsk() && !s.show.json {
		answers, askErr := s.app.ask(waiting.For)
		if askErr != nil {
			break // no answer: the run goes on waiting
		}
		err = s.follow(s.executor.Resume(ctx, waiting.Run, scheduler.Resumption{Answers: answers}))
		waiting = nil
	}
	if s.show.explain != "" {
		if explainErr := s.app.explain(s.flow, s.state, s.show.explain, s.executor.Env.Tokens); err == nil {
			err = explainErr
		}
	}
	return s.exit(ctx, err)
}

func (s *session) exit(ctx context.Context, err error) error {
	var waiting *scheduler.Waiting
	switch {
	case err == nil:
		return nil
	case errors.As(err, &waiting):
		s.app.tellWaiting(waiting, s.executor.Journal != nil)
		return exitError{code: exitWaiting}
	}
	code := exitFor(ctx, err, s.show.json)
	if s.executor.Journal != nil && s.run != "" && !s.show.json {
		s.app.complain(code)
		fmt.Fprintf(s.app.stderr, "what finished is kept; go on with:\n  %s\n", s.app.resumeCommand(s.run, nil))
		var exit exitError
		errors.As(code, &exit)
		return exitError{code: exit.code}
	}
	return code
}

// tellWaiting prints what a run waits for and the command that goes on with it.
func (a *app) tellWaiting(w *scheduler.Waiting, recorded bool) {
	for _, one := range w.For {
		fmt.Fprint(a.stderr, waitingText(one))
	}
	if recorded {
		fmt.Fprintf(a.stderr, "go on with:\n  %s\n", a.resumeCommand(w.Run, w.For))
		return
	}
	fmt.Fprintln(a.stderr, "the run was ephemeral: run it again without --ephemeral to be able to go on")
}

// waitingText says what one step waits for, a line for each place.
func waitingText(w scheduler.WaitingFor) string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %s waits for:\n", w.Step)
	properties, _ := w.RemainingSchema.Get("properties")
	for pointer, property := range properties.Map().All() {
		if pointer == "" {
			pointer = `""`
		}
		fmt.Fprintf(&b, "  %s  %s", pointer, typeOf(property))
		if text, ok := property.Get("description"); ok {
			doc, _ := text.Str()
			fmt.Fprintf(&b, "  %s", doc)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// resumeCommand is the exact command that goes on with a run, from any directory.
func (a *app) resumeCommand(run string, waiting []scheduler.WaitingFor) string {
	parts := []string{"scheduler", "resume", run}
	for _, path := range []struct{ flag, path string }{{"--state-dir", a.config.StateDir}, {"--config", a.configPath}} {
		if path.path == "" {
			continue
		}
		if full, err := filepath.Abs(path.path); err == nil {
			path.path = full
		}
		parts = append(parts, path.flag, quoted(path.path))
	}
	for _, w := range waiting {
		step := w.Step + ":"
		if len(waiting) == 1 {
			step = ""
		}
		for _, pointer := range w.Pointers() {
			parts = append(parts, "--set", quoted(step+pointer+"=VALUE"))
		}
	}
	return strings.Join(parts, " ")
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
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
