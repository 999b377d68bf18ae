package scheduler

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/fork"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Fork describes a run that begins at a step of another run. The caller makes it; it is only read.
type Fork = fork.Request

// ForkPlan lists which steps of a fork are kept and which run again.
type ForkPlan = fork.Plan

// ParamEdit is a new value in the parameters of a step that a fork runs again.
type ParamEdit = fork.ParamEdit

// PlanFork returns the plan that [StepExecutor.Fork] would carry out, and changes nothing. For a fork that cannot
// be made the error is of kind Invalid and lists every problem; it is a [*journal.HeldError] while a process holds
// the run.
func (e *StepExecutor) PlanFork(ctx context.Context, f *Fork) (*ForkPlan, error) {
	_, plan, _, err := e.readFork(ctx, f)
	return plan, err
}

// Fork records a run that keeps the outputs of the finished steps of another run, except the step [Fork] At, steps
// affected by a change, and the steps that depend on these; [StepExecutor.Resume] runs the rest. It returns the id
// of the new run, which holds no lease. Kept steps cost nothing again. The error is as with PlanFork; nothing was
// recorded then.
func (e *StepExecutor) Fork(ctx context.Context, f *Fork) (run string, plan *ForkPlan, err error) {
	header, plan, state, err := e.readFork(ctx, f)
	if err != nil {
		return "", nil, err
	}
	id, err := e.recordFork(ctx, f, header, state, plan)
	return id, plan, err
}

// readFork reads the run that is forked.
func (e *StepExecutor) readFork(ctx context.Context, f *Fork) (header *journal.RunHeader, plan *ForkPlan, state *journal.RunState, err error) {
	log, err := e.holdRun(ctx, f.Run) // held, its events have the bytes of images
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = closeLogAfter(log, err) }()
	header, err = log.Header(ctx)
	if err != nil {
		return nil, nil, nil, journalError(f.Run, "reading the run", err)
	}
	record := &fork.Record{State: journal.NewRunState()}
	for ev, err := range log.Events(ctx, 1) {
		if err != nil {
			return nil, nil, nil, journalError(f.Run, "reading the run", err)
		}
		record.State.Add(ev)
		record.Events = append(record.Events, ev)
	}
	record.Before, err = e.reloadFlow(header, record.State, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	plan, err = fork.NewPlan(record, f)
	return header, plan, record.State, err
}

// recordFork records the new run.
func (e *StepExecutor) recordFork(ctx context.Context, f *Fork, from *journal.RunHeader, state *journal.RunState, plan *ForkPlan) (string, error) {
	inputs := from.Inputs.Map().Clone()
	for name, v := range f.Inputs.Map().All() {
		inputs.Set(name, v)
	}
	r, err := e.unrecordedRun(ctx, plan.Flow(), value.OfMap(inputs))
	if err != nil {
		return "", err
	}
	if _, masked := r.secrets.maskWithPointers(f.Inputs); len(masked) > 0 {
		return "", calls.Errorf(calls.Invalid, "the input %s holds a secret, and the journal does not keep secrets", masked[0]).
			WithHint("let the flow take it from secrets.NAME")
	}
	header := r.newHeader(value.OfMap(inputs))
	if f.Flow == nil {
		header.File, header.Text = from.File, journal.FlowText{Source: from.Text.Source, Files: from.Text.Files, File: from.Text.File}
	}
	started := r.newForkedEvent(state, f)
	events, err := plan.Events(started.Time)
	if err != nil {
		return "", err
	}
	events = slices.Insert(events, 0, started)
	for i, ev := range events {
		ev.Run, ev.Seq = header.ID, int64(i+1)
	}
	log, err := e.Journal.Begin(ctx, header)
	if err != nil {
		return "", r.refusedError(err)
	}
	return header.ID, journalError(header.ID, "recording the fork", closeLogAfter(log, log.Append(ctx, events...)))
}

// newForkedEvent returns flow.started of a fork. Secrets of inputs that the other run did not record are unknown
// here too.
func (r *run) newForkedEvent(state *journal.RunState, f *Fork) *journal.Event {
	data := &journal.Data{Flow: r.flow.Name, Inputs: &r.vars.Inputs}
	if !r.vars.Conversation.IsNull() {
		data.Conversation = &r.vars.Conversation
	}
	for _, pointer := range state.MaskedInputs {
		keys, _ := value.SplitPointer(pointer)
		isNew := false
		if len(keys) > 0 {
			_, isNew = f.Inputs.Get(keys[0])
		}
		if !isNew {
			data.Masked = append(data.Masked, pointer)
		}
	}
	return &journal.Event{Type: journal.FlowStarted, Time: r.eventTime(), Data: data}
}
