package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// resumeFlags are the flags of the subcommand resume.
type resumeFlags struct {
	set       []string
	inputFile string
	flowFile  string
	now       string
	steal     bool
	on        string
	show      showFlags
}

func newResume(a *app) *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that waits, failed or died",
		Long: `Go on with a run that waits, failed, was cancelled or died. Steps that finished are
not run again, and nothing that they asked a model is paid again; a step that was at
work runs again. RUN is a run's id, the beginning or the end of one, or last.

What a step waits for is given with --set /pointer=value, or STEP:/pointer=value
where several wait (STEP[3] is an item of a for_each step), or as a JSON object with
--input. Fields that need not be given can be given as well. Values are typed and
checked by the step's schema; a wrong one is refused and the run goes on waiting. On
a terminal, it asks for what is still missing.

The run keeps the text of its flow. --flow goes on with an edited one: first until it
waits again, then with the answers.

A run that another process is at is refused. --steal takes it from one that cannot be
alive though it still seems to hold the run, as after a restart of the machine; a process
of this machine that is alive keeps it: end it, and the run is free.

A run that workers carry out (run --on) goes on there, and is followed here: also one that
is under way. Answers go to the workers, which check them.

Exit codes: 0 done, 1 the run failed again, or the store or the server that carries it out
cannot be reached, 2 an answer or the edited flow was refused (nothing ran), 3 the run
still waits, 130 interrupted.`,
		Example: strings.Trim(`
  scheduler resume last
  scheduler resume 0199f0c2 --set /city=Hangzhou --set /days=3
  scheduler resume last --set 'book[2]:/date=2026-05-01'
  scheduler resume last --flow fixed.yaml`, "\n"),
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeResumable(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := f.show.splitArgs(args)
			if err != nil {
				return err
			}
			return a.resumeRun(cmd.Context(), run, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "an answer, `[STEP:]/pointer=value`")
	flags.StringVar(&f.inputFile, "input", "", "answers as a JSON `file`, - for stdin: {\"/pointer\": value}, or {STEP: {...}}")
	flags.StringVar(&f.flowFile, "flow", "", "go on with an edited flow `file`; steps that finished must be unchanged")
	flags.StringVar(&f.now, "now", "", "the `time` of the run's clock (default: now)")
	flags.BoolVar(&f.steal, "steal", false, "take the run from a process that cannot be alive, as after a restart of the machine")
	addOnFlag(flags, &f.on)
	f.show.addFlags(flags)
	return cmd
}

func (a *app) resumeRun(ctx context.Context, name string, f *resumeFlags) error {
	if err := a.setOn(f.on); err != nil {
		return err
	}
	now, err := parseTime(f.now)
	if err != nil {
		return err
	}
	id, err := a.service.FindRun(ctx, service.Principal{}, name)
	if err != nil {
		return a.beforeRun(err)
	}
	if f.steal {
		if err := a.releaseRun(ctx, id); err != nil {
			return err
		}
	}
	var edited *flow.Flow
	if f.flowFile != "" {
		edited, err = a.reportLoaded(a.service.LoadEdited(ctx, service.Principal{}, id, f.flowFile))
		if err != nil {
			return err
		}
	}
	resumed, notes, err := a.service.ReopenSession(ctx, service.Principal{}, service.ResumeRequest{Run: id, Flow: edited, Now: now, Strict: f.show.strict})
	a.printNotes(notes)
	if err != nil {
		return a.beforeRun(err)
	}
	defer a.closeSession(ctx, resumed)
	if err := f.show.checkStep(resumed.Flow); err != nil {
		return err
	}
	s := a.newSession(resumed, f.show)
	return s.finishSession(ctx, s.resumeWith(ctx, edited, f))
}

// resumeWith continues with the answers of the flags. With an edited flow the run continues first: its steps may
// wait for other answers now.
func (s *session) resumeWith(ctx context.Context, edited *flow.Flow, f *resumeFlags) error {
	hasAnswers := len(f.set) > 0 || f.inputFile != ""
	if edited != nil {
		err := s.printEvents(s.run.Continue(ctx, scheduler.Resumption{Flow: edited}))
		if err == nil && hasAnswers {
			s.app.Tellf("warning: the edited flow did not wait for the answers")
		}
		var waiting *scheduler.Waiting
		if !hasAnswers || !errors.As(err, &waiting) {
			return err
		}
	}
	before := s.run.State.LastSeq
	answers, err := s.app.answersOf(f, s.run.Waiting())
	if err == nil {
		err = s.printEvents(s.run.Continue(ctx, scheduler.Resumption{Answers: answers}))
	}
	if hasAnswers && s.run.State.LastSeq == before && isRefused(err) {
		return s.refusedError(edited != nil, err)
	}
	return err
}

// refusedError reports whether the answers were not taken.
func (s *session) refusedError(edited bool, err error) error {
	s.app.PrintError(err)
	if edited {
		s.app.Tellf("the run has taken the edited flow, and goes on waiting")
		s.app.printWaiting(s.run.ID, s.run.Waiting(), nil, false)
	} else if len(s.run.State.Waiting) > 0 {
		s.app.Tellf("nothing was changed: the run goes on waiting")
	}
	return exitError{code: exitUsage}
}

// answersOf reads --input and --set; the latter win.
func (a *app) answersOf(f *resumeFlags, waiting []journal.WaitingFor) ([]scheduler.Answer, error) {
	var answers []scheduler.Answer
	if f.inputFile != "" {
		text, err := a.ReadFile(f.inputFile)
		if err != nil {
			return nil, wording.Errorf("reading --input: %w", err)
		}
		doc, err := jsonc.Parse(text)
		if err != nil {
			return nil, wording.Errorf("--input: %s:%w", f.inputFile, err)
		}
		answers, err = scheduler.AnswersOf(doc.Value, waiting)
		if err != nil {
			return nil, err
		}
	}
	var set []scheduler.Answer
	var wrong []error
	for _, text := range f.set {
		answer, err := scheduler.ParseAnswer(text, waiting)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		answers = slices.DeleteFunc(answers, func(other scheduler.Answer) bool {
			return other.Step == answer.Step && other.Pointer == answer.Pointer
		})
		set = append(set, answer)
	}
	switch len(wrong) {
	case 0:
	case 1:
		return nil, wrong[0]
	default:
		return nil, calls.Errorf(calls.Invalid, "%w", errors.Join(wrong...))
	}
	answers = append(answers, set...)
	return answers, scheduler.CheckAnswers(answers, waiting)
}
