package flowtest

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// begin starts a run of the case, or continues one behind the steps of the case's state, and returns its events.
// The outputs of those steps are put on record, but not among the events that checks see: nothing has happened
// yet.
func begin(ctx context.Context, e *scheduler.StepExecutor, c *suite.Case, inputs value.Value, record *journal.RunState) iter.Seq2[*journal.Event, error] {
	if len(c.State) == 0 {
		return e.Run(ctx, c.Flow, inputs)
	}
	return func(yield func(*journal.Event, error) bool) {
		id, err := e.Enqueue(ctx, c.Flow, inputs)
		if err == nil {
			err = recordState(ctx, e, c, id, inputs, record)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		e.Resume(ctx, id, scheduler.Resumption{Flow: c.Flow})(yield)
	}
}

// recordState puts the steps of the state into the journal of a run that has not begun.
func recordState(ctx context.Context, e *scheduler.StepExecutor, c *suite.Case, id string, inputs value.Value, record *journal.RunState) error {
	log, err := e.Journal.Reopen(ctx, id)
	if err != nil {
		return err
	}
	inputs = c.Flow.Inputs.ApplyDefaults(inputs)
	started := &journal.Data{Flow: c.Flow.Name, Inputs: &inputs}
	if len(c.Conversation.List()) > 0 {
		started.Conversation = &c.Conversation
	}
	events := []*journal.Event{{Type: journal.FlowStarted, Data: started}}
	for i := range c.State {
		events = append(events, endedEvents(&c.State[i])...)
	}
	for i, ev := range events {
		ev.Run, ev.Seq, ev.Time = id, int64(i+1), c.Now
		record.Add(ev)
	}
	for i := range c.State {
		if step := record.Step(c.State[i].Step); step != nil {
			step.IsGiven = !c.State[i].IsSkipped
		}
	}
	err = log.Append(ctx, events...)
	if closeErr := log.Close(); err == nil {
		err = closeErr
	}
	return err
}

// endedEvents returns the events of a step that has ended.
func endedEvents(ended *suite.EndedStep) (events []*journal.Event) {
	if ended.IsSkipped {
		return []*journal.Event{{Type: journal.StepSkipped, Step: ended.Step, Data: &journal.Data{Reason: ended.Reason}}}
	}
	if !ended.Input.IsNull() {
		events = append(events, &journal.Event{Type: journal.StepInput, Step: ended.Step, Data: &journal.Data{Input: &ended.Input}})
	}
	return append(events, &journal.Event{Type: journal.StepFinished, Step: ended.Step, Data: &journal.Data{Output: &ended.Output}})
}
