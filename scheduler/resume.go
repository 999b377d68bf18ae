package scheduler

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Resumption is the data with which a run continues. Its zero value only tries again. The caller makes one for one
// [StepExecutor.Resume], which only reads it.
type Resumption struct {
	// Answers are for the steps that wait; they are checked before anything runs.
	Answers []Answer
	// Flow is an edited flow; nil is the journal's flow. Finished steps must be unchanged.
	Flow *flow.Flow
	// Seen is the seq of the last event that the caller knows, if no user has asked it to resume a cancelled run: a
	// run that was cancelled after that stays so, and the error is [ErrCancelledSince]. nil resumes it.
	Seen *int64
}

// ErrCancelledSince means that a run was cancelled after the caller has read it.
var ErrCancelledSince error = calls.Errorf(calls.Canceled, "the run was cancelled meanwhile")

// Resume continues a run of the Journal: one that waits, failed, was cancelled, or whose process died. Finished
// and skipped steps stay unchanged; steps that failed, were stopped or were at work run again. Events continue
// with the next seq; all else is as with Run. An error before the first event says that nothing has changed: a
// [*journal.HeldError] while another process has the run, a [*Waiting] while there are no answers, one of kind
// Invalid for answers or an edited flow that cannot be taken, a [*JournalError] if the journal cannot be read.
func (e *StepExecutor) Resume(ctx context.Context, run string, with Resumption) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		r, err := e.reopen(ctx, run, with)
		if err != nil {
			yield(nil, err)
			return
		}
		r.yieldEvents(yield)
	}
}

// Enqueue records a run that has not begun, and holds nothing of it: Resume, in this
// process or in another one, begins it. It returns the run's id. Inputs are checked as
// by Run; they must hold no secret, for the journal does not keep secrets.
func (e *StepExecutor) Enqueue(ctx context.Context, flow *flow.Flow, inputs value.Value) (string, error) {
	if e.Journal == nil {
		return "", calls.Errorf(calls.Invalid, "there is no journal to queue a run of %s in", flow.Name)
	}
	r, err := e.unrecordedRun(ctx, flow, inputs)
	if err != nil {
		return "", err
	}
	if _, masked := r.secrets.maskWithPointers(inputs); len(masked) > 0 {
		return "", calls.Errorf(calls.Invalid, "the input %s holds a secret, and the journal does not keep secrets", masked[0]).
			WithHint("let the flow take it from secrets.NAME")
	}
	log, err := e.Journal.Begin(ctx, r.newHeader(inputs))
	if err != nil {
		return "", r.refusedError(err)
	}
	id := r.vars.Run.ID
	return id, journalError(id, "recording the run", log.Close())
}

// reopen prepares a run to continue.
func (e *StepExecutor) reopen(ctx context.Context, id string, with Resumption) (*run, error) {
	log, err := e.holdRun(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := e.takeOver(ctx, log, with)
	if err != nil {
		return nil, closeLogAfter(log, err)
	}
	return r, nil
}

// holdRun takes hold of a run of the Journal.
func (e *StepExecutor) holdRun(ctx context.Context, id string) (journal.RunLog, error) {
	if e.Journal == nil {
		return nil, calls.Errorf(calls.Invalid, "there is no journal to resume the run %s from", id)
	}
	log, err := e.Journal.Reopen(ctx, id)
	return log, journalError(id, "reopening the run", err)
}

// closeLogAfter closes the log after err.
func closeLogAfter(log journal.Hold, err error) error {
	closeErr := log.Close()
	if err == nil || closeErr == nil {
		return cmp.Or(err, closeErr)
	}
	return wording.Errorf("%w (and %w)", err, closeErr)
}

func (e *StepExecutor) takeOver(ctx context.Context, log journal.RunLog, with Resumption) (*run, error) {
	info := log.Info()
	if info.State == journal.RunFinished {
		return nil, calls.Errorf(calls.Invalid, "the run %s is finished: there is nothing to resume", info.ID)
	}
	if with.Seen != nil && info.State == journal.RunCancelled && info.LastSeq > *with.Seen {
		return nil, ErrCancelledSince
	}
	header, state, err := readRun(ctx, log)
	if err != nil {
		return nil, err
	}
	r, err := e.prepareResumed(ctx, header, state, with)
	if err != nil {
		return nil, err
	}
	bringsNothing := len(with.Answers) == 0 && with.Flow == nil
	if bringsNothing && state.State == journal.RunWaiting && !state.HasNewAnswers() && len(r.earlier.answers) == 0 {
		return nil, &Waiting{Run: info.ID, For: state.Waiting}
	}
	for _, n := range r.earlier.answers {
		st := state.Step(journal.StepPath(n.event.Step, n.event.Index))
		if n.data.Decision != nil {
			st.Decision, st.HasNewAnswers = n.data.Decision, true
			continue
		}
		st.AddAnswers(n.params)
		st.Message, st.HasNewAnswers = n.message, true
	}
	text := header.Text
	if with.Flow != nil {
		text = editedText(e.Root, r.flow, header.Text, state.LastSeq)
		if err := log.Revise(ctx, text); err != nil {
			return nil, journalError(info.ID, "recording the edited flow", err)
		}
	}
	r.earlier.lost = state.MaskedInputs
	for _, w := range state.Warnings {
		r.warned.add(w.Step)
	}
	if len(r.earlier.lost) > 0 {
		r.env.Log.Warn("a secret stood in the inputs, and the journal does not keep secrets", "run", info.ID, "at", r.earlier.lost)
	}
	if state.LastSeq > 0 { // else it died before its first event
		r.earlier.state = state
		r.earlier.interrupted = info.Abandoned && state.State == journal.RunRunning
		r.bounds.Restore(countBegun(state))
		r.beginTape(state.Resumed + 1)
	} else {
		r.beginTape(0)
	}
	r.attachJournal(log, header, text)
	return r, nil
}

// readRun reads the header and the state of a run from the journal.
func readRun(ctx context.Context, log journal.HeldReader) (*journal.RunHeader, *journal.RunState, error) {
	header, err := log.Header(ctx)
	if err != nil {
		return nil, nil, journalError(log.Info().ID, "reading the run", err)
	}
	state, err := journal.Fold(log.Events(ctx, 1))
	if err != nil {
		return nil, nil, journalError(log.Info().ID, "reading the run", err)
	}
	return header, state, nil
}

// prepareResumed returns the run as it would continue; it only changes state, for the steps that an edited flow
// changes.
func (e *StepExecutor) prepareResumed(ctx context.Context, header *journal.RunHeader, state *journal.RunState, with Resumption) (*run, error) {
	waited := slices.Clone(state.Waiting)
	flow, err := e.reloadFlow(header, state, with.Flow)
	if err != nil {
		return nil, err
	}
	answers, err := assignAnswers(with.Answers, state, waited)
	if err != nil {
		return nil, err
	}
	r := e.bareRun(ctx, flow)
	r.vars.Run = calls.Run{ID: header.ID, Flow: flow.Name, StartedAt: header.StartedAt, User: cmp.Or(e.Owner.User, header.Labels[journal.LabelOwner])}
	if start := e.Start; start != nil && !start.StartedAt.IsZero() {
		r.vars.Run.StartedAt = start.StartedAt
	}
	r.vars.Conversation = header.Conversation
	r.isChild = header.Labels[journal.LabelChildOf] != ""
	if err := r.prepare(header.Inputs); err != nil {
		return nil, err
	}
	answers, err = e.readMessages(r, state, answers)
	if err != nil {
		return nil, err
	}
	r.earlier.read = slices.Clone(answers)
	notes := answerEvents(slices.DeleteFunc(answers, func(a Answer) bool { return isRecorded(state, a) }))
	r.earlier.answers, err = e.decideApprovals(r, state, notes, answers)
	if err != nil {
		return nil, err
	}
	return r, e.checkAnswersWithSlot(r, state, r.earlier.answers)
}

// Answer records answers of a run that waits, all or none, and leaves it waiting: Resume continues with them, in
// this process or in a later one. They are returned as understood. An error says that nothing was recorded: one of
// kind Invalid for an unfit answer, a [*journal.HeldError] or one of kind Canceled if the run continues elsewhere
// or no longer waits.
func (e *StepExecutor) Answer(ctx context.Context, run string, answers ...Answer) ([]Answer, error) {
	log, err := e.holdRun(ctx, run)
	if err != nil {
		return nil, err
	}
	taken, err := e.recordAnswers(ctx, log, answers)
	err = closeLogAfter(log, err)
	if err != nil {
		return nil, err
	}
	return taken, nil
}

func (e *StepExecutor) recordAnswers(ctx context.Context, log journal.RunLog, answers []Answer) ([]Answer, error) {
	header, state, err := readRun(ctx, log)
	if err != nil {
		return nil, err
	}
	if state.State != journal.RunWaiting {
		return nil, calls.Errorf(calls.Canceled, "the run %s does not wait any more: it is %s", header.ID, state.State)
	}
	r, err := e.prepareResumed(ctx, header, state, Resumption{Answers: answers})
	if err != nil {
		return nil, err
	}
	events := make([]*journal.Event, len(r.earlier.answers)) // one for each step, except for answers in the journal
	for i, n := range r.earlier.answers {
		n.event.Run, n.event.Seq, n.event.Time = header.ID, state.LastSeq+1+int64(i), r.eventTime()
		events[i] = &n.event
	}
	taken := r.readAnswers()
	for _, n := range r.earlier.answers {
		r.showAnswers(n)
	}
	if len(events) == 0 {
		return taken, nil
	}
	return taken, journalError(header.ID, "recording the answers", log.Append(ctx, events...))
}

// readAnswers returns answers in their final form.
func (r *run) readAnswers() []Answer {
	taken := r.earlier.read
	for i, a := range taken {
		for _, n := range r.earlier.answers {
			isOther := a.Step != "" && a.Step != journal.StepPath(n.event.Step, n.event.Index)
			if v, ok := n.params.Get(a.Pointer); ok && !isOther {
				taken[i].Value = v
			}
		}
	}
	return taken
}

// reloadFlow returns the flow with which the run continues.
func (e *StepExecutor) reloadFlow(header *journal.RunHeader, state *journal.RunState, edited *flow.Flow) (*flow.Flow, error) {
	if e.Loader == nil {
		return nil, calls.Errorf(calls.Internal, "the executor has no Loader to read the flow of the journal with")
	}
	file, files := LocalFiles(e.Root, header.File, header.Text)
	flow, problems := e.Loader.LoadText(file, header.Text.Source, files)
	switch {
	case flow == nil && edited == nil:
		return nil, calls.Errorf(calls.Invalid, "the flow of the run %s does not load any more:\n%w", header.ID, problems).
			WithHint("give a flow file that does")
	case flow == nil:
		return nil, calls.Errorf(calls.Invalid, "the flow of the run %s does not load any more, so the edited one cannot be compared with it:\n%w", header.ID, problems)
	case edited == nil:
		return flow, nil
	}
	return edited, adoptEdited(state, "", flow, edited)
}

// isRecorded reports whether an answer is recorded for a step which has not seen it yet.
func isRecorded(s *journal.RunState, a Answer) bool {
	st := s.Step(a.Step)
	if st.Decision != nil && isSameDecision(st.Decision, a) {
		return true
	}
	if a.Message != "" {
		return st.HasNewAnswers && st.Message == a.Message
	}
	known, ok := st.Answers.Get(a.Pointer)
	return ok && st.HasNewAnswers && value.Equal(known, a.Value)
}

// Revise gives a run that no process carries out an edited flow, and does not continue it: Resume does, in this
// process or in a later one. Finished steps must be unchanged. The error is as with Resume.
func (e *StepExecutor) Revise(ctx context.Context, run string, edited *flow.Flow) error {
	log, err := e.holdRun(ctx, run)
	if err != nil {
		return err
	}
	return closeLogAfter(log, e.reviseFlow(ctx, log, edited))
}

func (e *StepExecutor) reviseFlow(ctx context.Context, log journal.RunLog, edited *flow.Flow) error {
	header, state, err := readRun(ctx, log)
	if err != nil {
		return err
	}
	if _, err := e.prepareResumed(ctx, header, state, Resumption{Flow: edited}); err != nil {
		return err
	}
	return journalError(header.ID, "recording the edited flow", log.Revise(ctx, editedText(e.Root, edited, header.Text, state.LastSeq)))
}
