package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// session shows a run to the user who started or resumed it, asks the questions it waits for if a person can
// answer, and decides the exit code.
type session struct {
	app  *app
	run  *service.Session
	show showFlags
	// hasBegun is true once there was an event.
	hasBegun bool
	// hasEnded is true once an event has reported the end of the run.
	hasEnded bool
	// typed are answers that the run did not get any more.
	typed []scheduler.Answer
	// heard holds the text that steps said before the run began to wait.
	heard map[string]string
}

// newSession returns a session that shows a run.
func (a *app) newSession(run *service.Session, show showFlags) *session {
	run.OnHint(func(text wording.Text) { a.Tellf("note: %s", text) })
	return &session{app: a, run: run, show: show}
}

// closeSession ends a run, and makes the snapshots that are due as long as the settings
// allow.
func (a *app) closeSession(ctx context.Context, run *service.Session) {
	notes, err := run.Close(ctx, service.Drain(a.settings.Memory.Snapshot.Drain))
	a.printNotes(notes)
	if err != nil {
		a.Tellf("warning: %s", err)
	}
}

// printEvents prints the events of a run, and returns the error that ended it.
func (s *session) printEvents(events iter.Seq2[*journal.Event, error]) (err error) {
	speech := service.NewSpeech(string(s.app.Language), s.heard)
	var out interface {
		Event(e *journal.Event) error
		Close() error
	}
	if s.show.json {
		out = terminal.NewJSONEventPrinter(s.app.Stdout)
	} else {
		out = terminal.NewProgress(s.app.Terminal, s.run.Flow, speech, s.show.outputs)
	}
	defer func() {
		s.heard = speech.Heard()
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	s.hasEnded = false
	for event, runErr := range events {
		if runErr != nil {
			return runErr
		}
		s.hasBegun = true
		s.hasEnded = s.run.State.State != journal.RunRunning
		if err := out.Event(event); err != nil {
			return wording.Errorf("printing: %w", err)
		}
	}
	return nil
}

// finishSession ends the session: asks and continues while the run waits and a person can answer, explains the
// prompt, and turns the error into an exit code.
func (s *session) finishSession(ctx context.Context, err error) error {
	for more := true; more; {
		more, err = s.askAndContinue(ctx, err)
	}
	if s.show.explain != "" {
		if explainErr := s.printExplanation(); err == nil {
			err = explainErr
		}
	}
	s.reportWarnings()
	if err == nil {
		return nil
	}
	if note, ok := s.run.ExplainMiss(context.WithoutCancel(ctx), err); ok {
		s.app.printNotes([]service.Note{note})
	}
	return s.exitErrorOf(ctx, err)
}

// reportWarnings prints how many warnings a run that has ended had.
func (s *session) reportWarnings() {
	n := len(s.run.State.Warnings)
	if n == 0 || s.show.json {
		return
	}
	count := s.app.Language.Count(n, "warning")
	switch s.run.State.State { //nolint:exhaustive // the others have not ended
	case journal.RunFinished:
		s.app.Tellf("finished with %s", count)
	case journal.RunFailed:
		s.app.Tellf("failed with %s", count)
	}
}

// printExplanation prints the prompts of the step that --explain names.
func (s *session) printExplanation() error {
	step := s.show.explain
	if step == lastPrompt {
		step = ""
	}
	prompts, err := s.run.Prompts(context.Background(), step)
	if errors.Is(err, service.ErrNoPrompt) {
		err = wording.Errorf("--explain: %w", err)
	}
	if err != nil {
		return promptsError(err)
	}
	prompts = prompts.WithFileNames(shortPath) // a run names files as given, and the journal has them from the root
	if s.show.json {
		return s.app.PrintJSONLine(value.OfMap(value.Pairs("type", "explanation", "data", value.Must(prompts))))
	}
	return s.app.PrintPrompts(prompts)
}

// askAndContinue asks the run's questions and continues the run with the answers. more is true while there may be
// further questions. Answers typed before the input ended count; after Ctrl-C the printed command has them.
func (s *session) askAndContinue(ctx context.Context, err error) (more bool, after error) {
	var waiting *scheduler.Waiting
	if !errors.As(err, &waiting) || !s.canAsk() {
		return false, err
	}
	q := &terminal.Asker{Lines: s.app.Lines(), Out: s.app.Stderr, Language: s.app.Language, Words: s.run.Words(), Waiting: s.run.Waiting(), Record: s.run.Record}
	ended := q.Ask(ctx)
	switch {
	case ctx.Err() != nil:
		s.typed = q.Answers
		return false, err
	case errors.Is(ended, terminal.ErrCancelled):
		return false, s.cancelRun(ctx)
	case errors.Is(ended, terminal.ErrSaid):
		ended = nil
	case ended != nil && !errors.Is(ended, terminal.ErrNoAnswer):
		return false, ended
	case len(q.Answers) == 0:
		return false, err
	}
	err = s.printEvents(s.run.Continue(ctx, scheduler.Resumption{Answers: q.Answers}))
	return ended == nil, err
}

// cancelRun cancels the run, which waits, as the person wants.
func (s *session) cancelRun(ctx context.Context) error {
	if err := s.run.Cancel(ctx); err != nil {
		return err
	}
	fmt.Fprintln(s.app.Stderr, s.run.Words().Cancelled())
	return exitError{code: exitInterrupted}
}

// canAsk reports whether a person can answer the run's questions.
func (s *session) canAsk() bool {
	return s.run.CanContinue() && !s.show.json && s.app.CanAsk()
}

func (s *session) exitErrorOf(ctx context.Context, err error) error {
	var waiting *scheduler.Waiting
	var said exitError
	var held *journal.HeldError
	var notStarted *service.NotStartedError
	switch {
	case err == nil, errors.As(err, &said) && said.err == nil:
		return err
	case errors.Is(err, service.ErrDetached):
		return s.tellDetached()
	case errors.As(err, &waiting) && ctx.Err() != nil:
		s.app.PrintError(wording.Errorf("interrupted"))
		s.app.printWaiting(waiting.Run, s.run.Waiting(), s.typed, s.run.Ephemeral)
		return exitError{code: exitInterrupted}
	case errors.As(err, &waiting):
		s.app.printWaiting(waiting.Run, s.run.Waiting(), nil, s.run.Ephemeral)
		return exitError{code: exitWaiting}
	case !s.hasBegun && isRefused(err) && !errors.As(err, &notStarted):
		return usageError(err)
	case errors.As(err, &held) && held.Holder != nil:
		return usageError(calls.Errorf(calls.Invalid, "%w", held).
			WithHint("see how it stands with: %s; stop it with: %s; a process that has died lets go of it within 5 s, one that cannot be alive is passed over with --steal",
				s.app.commandLine("runs", "show", held.Run), s.app.commandLine(s.app.withOn("runs", "cancel", held.Run)...)))
	}
	code := exitFor(ctx, err, s.show.json && s.hasEnded)
	isRecorded := s.hasBegun || errors.As(err, &notStarted)
	isLost := errors.Is(err, journal.ErrSecretLost) || errors.Is(err, sqlitefile.ErrMoved)
	isDone := errors.Is(err, scheduler.ErrStrict) || s.run.State.State == journal.RunFinished // the failure came after it
	canResume := isRecorded && !s.run.Ephemeral && !isLost && !isDone
	if !canResume || s.show.json {
		return code
	}
	s.app.PrintError(code)
	fmt.Fprintf(s.app.Stderr, "%s\n  %s\n", s.app.Language.Say("what finished is kept; go on with:"), s.app.resumeCommand(s.run.ID, nil, nil))
	if isRefused(err) || calls.KindOf(err) == calls.Budget {
		file, absErr := filepath.Abs(s.run.Flow.File)
		if absErr != nil {
			file = s.run.Flow.File
		}
		s.app.Tellf("the run keeps its flow as it was: once you have edited it, add --flow %s", terminal.ShellQuote(file))
	}
	var exit exitError
	errors.As(code, &exit)
	return exitError{code: exit.code}
}

// tellDetached prints how to follow, cancel and resume a run that continues elsewhere.
func (s *session) tellDetached() error {
	if s.show.json {
		return exitError{code: exitInterrupted}
	}
	id := s.run.ID
	s.app.Tellf("the run %s goes on; follow, cancel or resume it with:", id)
	for _, command := range []string{s.app.commandLine("runs", "events", id, "--follow"), s.app.commandLine(s.app.withOn("runs", "cancel", id)...), s.app.resumeCommand(id, nil, nil)} {
		fmt.Fprintf(s.app.Stderr, "  %s\n", command)
	}
	return exitError{code: exitInterrupted}
}

// isRefused reports whether an error is about the user's own text: a flow, an answer, an input.
func isRefused(err error) bool {
	kind := calls.KindOf(err)
	var failure *scheduler.Failure
	if errors.As(err, &failure) {
		kind = failure.Info.Kind
	}
	return kind == calls.Invalid || kind == calls.NotFound || kind == calls.Missing
}

// printWaiting prints the questions of a run and the command that continues it, with the answers given so far.
func (a *app) printWaiting(run string, waiting []journal.WaitingFor, typed []scheduler.Answer, isEphemeral bool) {
	for _, one := range waiting {
		fmt.Fprint(a.Stderr, terminal.WaitingText(one, a.Language))
	}
	if isEphemeral {
		a.Tellf("the run was ephemeral: run it again without --ephemeral to be able to go on")
		return
	}
	fmt.Fprintf(a.Stderr, "%s\n  %s\n", a.Language.Say("go on with:"), a.resumeCommand(run, waiting, typed))
	if slices.ContainsFunc(waiting, func(w journal.WaitingFor) bool { return w.Approval != nil }) {
		a.Tellf("--deny in place of --approve denies it, with --reason TEXT")
	}
}

// programName returns the name by which a shell finds this program: its base name if that is on the path, else its
// file.
func programName() string {
	if _, err := exec.LookPath("scheduler"); err == nil {
		return "scheduler"
	}
	if file, err := os.Executable(); err == nil {
		return terminal.ShellQuote(file)
	}
	return "scheduler"
}

// commandLine returns a command that finds the same journal: a short one if the working directory leads to that
// journal, else one that works in any directory.
func (a *app) commandLine(words ...string) string {
	return strings.Join(slices.Concat([]string{programName()}, words, a.placeFlags()), " ")
}

// placeFlags returns the flags by which a command finds the same journal and settings from any directory; none if it
// finds them from the working directory.
func (a *app) placeFlags() (flags []string) {
	if a.isFoundHere() {
		return nil
	}
	for _, path := range []struct{ flag, path string }{{"--state-dir", a.settings.StateDir}, {"--config", a.configToName()}} {
		if path.path == "" {
			continue
		}
		if full, err := filepath.Abs(path.path); err == nil {
			path.path = full
		}
		flags = append(flags, path.flag, terminal.ShellQuote(path.path))
	}
	return flags
}

// namedCommand finds the commands of this program that hints name, for example scheduler runs list.
var namedCommand = regexp.MustCompile(`(^|[^\w/.\-])scheduler ((?:fork|journal|lint|mcp|memory|plugins|resume|run|runs|serve|test|token|worker|workers)\b)`)

// makeRunnable returns a text in which the commands of this program can be run exactly as printed, as
// [app.commandLine] writes them.
func (a *app) makeRunnable(text string) string {
	if a.settings == nil || !namedCommand.MatchString(text) {
		return text
	}
	program := strings.Join(append([]string{programName()}, a.placeFlags()...), " ")
	return namedCommand.ReplaceAllString(text, "${1}"+strings.ReplaceAll(program, "$", "$$")+" ${2}")
}

// isFoundHere reports whether a command without flags finds the same state directory and
// settings from the working directory. A variable of the environment may have been set for
// this command alone.
func (a *app) isFoundHere() bool {
	if _, set := os.LookupEnv("SCHEDULER_STATE_DIR"); set {
		return false
	}
	found, err := config.Load(config.Place{}, wire.ProviderTypes())
	return err == nil && isSamePath(found.StateDir, a.settings.StateDir) && isSamePath(found.File(), a.settings.File())
}

// configToName returns the settings file if a command has to name it, because it is not beside the state
// directory, where commands find it.
func (a *app) configToName() string {
	file, err := filepath.Abs(a.settings.File())
	state, stateErr := filepath.Abs(a.settings.StateDir)
	if err == nil && stateErr == nil && file == filepath.Join(filepath.Dir(state), "scheduler.yaml") {
		return ""
	}
	return a.settings.File()
}

// placeToSet returns the place below a pointer that a person can give a value for: /email, if the whole data
// lacks an email or a phone.
func placeToSet(w journal.WaitingFor, pointer string) string {
	if kind, ok := w.KindPlace(pointer); ok {
		return kind.Pointer
	}
	if either := w.Place(pointer).Either; len(either) > 0 {
		return either[0].Pointer
	}
	return pointer
}

// resumeCommand returns the exact command that resumes a run, from any directory.
func (a *app) resumeCommand(run string, waiting []journal.WaitingFor, typed []scheduler.Answer) string {
	parts := []string{a.commandLine(a.withOn("resume", run)...)}
	set := func(step, pointer, text string) {
		if len(waiting) == 1 {
			step = ""
		} else {
			step += ":"
		}
		parts = append(parts, "--set", terminal.ShellQuote(step+pointer+"="+text))
	}
	for _, w := range waiting {
		if w.Approval != nil {
			parts = append(parts, "--approve="+terminal.ShellQuote(w.Step))
			continue
		}
		for _, pointer := range w.Pointers() {
			known := false
			for _, a := range typed {
				isWithin := a.Pointer == pointer || strings.HasPrefix(a.Pointer, pointer+"/")
				if a.Step == w.Step && isWithin {
					set(a.Step, a.Pointer, a.Value.PlainText())
					known = true
				}
			}
			if !known {
				set(w.Step, placeToSet(w, pointer), "VALUE")
			}
		}
	}
	return strings.Join(parts, " ")
}
