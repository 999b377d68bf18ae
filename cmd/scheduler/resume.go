package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
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
	approve   []string
	deny      []string
	reason    string
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
  scheduler resume last --approve refund --set refund:/body/amount=20
  scheduler resume last --deny --reason 'too much'
  scheduler resume last --flow fixed.yaml`, "\n"),
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeResumable(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := f.show.splitArgs(f.takeStep(args))
			if err != nil {
				return err
			}
			return a.resumeRun(cmd.Context(), run, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "an answer, `[STEP:]/pointer=value`")
	flags.StringArrayVar(&f.approve, "approve", nil, "approve the use of a call that waits, `STEP`; it may be left out if one waits; changes with --set STEP:/pointer=value")
	flags.Lookup("approve").NoOptDefVal = onlyWaiter
	flags.StringArrayVar(&f.deny, "deny", nil, "deny it, `STEP`; it may be left out if one waits")
	flags.Lookup("deny").NoOptDefVal = onlyWaiter
	flags.StringVar(&f.reason, "reason", "", "why it is denied, a `text`")
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
	hasAnswers := len(f.set)+len(f.approve)+len(f.deny) > 0 || f.inputFile != ""
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
	set, err := f.decisions(waiting)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, text := range f.set {
		if isEdit, edited := f.addEdit(set, text, waiting); isEdit {
			set = edited
			continue
		}
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

// takeStep takes the step after --approve or --deny out of the arguments: these flags need none, so that it reads as one.
func (f *resumeFlags) takeStep(args []string) []string {
	if len(args) < 2 || f.show.explain != "" {
		return args
	}
	for _, steps := range [][]string{f.approve, f.deny} {
		if len(f.approve)+len(f.deny) == 1 && len(steps) == 1 && steps[0] == onlyWaiter {
			steps[0] = args[1]
			return args[:1]
		}
	}
	return args
}

// onlyWaiter is --approve and --deny without a step: the only one that waits.
const onlyWaiter = "-"

// decisions returns the answers of --approve and --deny.
func (f *resumeFlags) decisions(waiting []journal.WaitingFor) (answers []scheduler.Answer, err error) {
	add := func(steps []string, approved bool) error {
		for _, step := range steps {
			w, err := findApproval(waiting, step)
			if err != nil {
				return err
			}
			answers = append(answers, scheduler.Answer{Step: w.Step, Pointer: journal.ApprovedPlace, Value: value.OfBool(approved)})
			if f.reason != "" {
				answers = append(answers, scheduler.Answer{Step: w.Step, Pointer: journal.ReasonPlace, Value: value.OfString(f.reason)})
			}
		}
		return nil
	}
	if err := add(f.approve, true); err != nil {
		return nil, err
	}
	return answers, add(f.deny, false)
}

// findApproval returns the approval of a step that waits.
func findApproval(waiting []journal.WaitingFor, step string) (*journal.WaitingFor, error) {
	var steps []string
	for i, w := range waiting {
		if w.Approval == nil {
			continue
		}
		if w.Step == step {
			return &waiting[i], nil
		}
		steps = append(steps, w.Step)
	}
	switch {
	case len(steps) == 0:
		return nil, calls.Errorf(calls.Invalid, "no step waits for the leave of a person").WithHint("leave --approve and --deny out")
	case step != onlyWaiter:
		return nil, calls.Errorf(calls.Invalid, "the step %q does not wait for the leave of a person", step).WithHint("waiting: %s", strings.Join(steps, ", "))
	case len(steps) > 1:
		return nil, calls.Errorf(calls.Invalid, "several steps wait for the leave of a person").WithHint("write --approve=STEP or --deny=STEP; waiting: %s", strings.Join(steps, ", "))
	}
	for i, w := range waiting {
		if w.Step == steps[0] {
			return &waiting[i], nil
		}
	}
	return nil, nil
}

// addEdit adds a change of --set, STEP:/pointer=value, to the decision about that step; isEdit is false for an answer of another kind.
func (f *resumeFlags) addEdit(answers []scheduler.Answer, text string, waiting []journal.WaitingFor) (isEdit bool, edited []scheduler.Answer) {
	place, typed, ok := strings.Cut(text, "=")
	step, pointer, hasStep := strings.Cut(place, ":")
	if !hasStep {
		step, pointer = onlyWaiter, place
	}
	w, err := findApproval(waiting, step)
	if err != nil || !ok || slices.Contains([]string{journal.ApprovedPlace, journal.ReasonPlace}, pointer) {
		return false, answers
	}
	v, err := value.ParseJSON([]byte(typed))
	if before, _ := w.Approval.Params.At(pointer); err != nil || before.Kind() == value.String {
		v = value.OfString(typed)
	}
	i := slices.IndexFunc(answers, func(a scheduler.Answer) bool { return a.Step == w.Step && a.Pointer == journal.EditsPlace })
	if i < 0 {
		return true, append(answers, scheduler.Answer{Step: w.Step, Pointer: journal.EditsPlace, Value: value.OfMap(value.Pairs(pointer, v))})
	}
	answers[i].Value.Map().Set(pointer, v)
	return true, answers
}
