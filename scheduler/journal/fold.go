package journal

import (
	"iter"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Fold rebuilds a run from its events.
func Fold(events iter.Seq2[*Event, error]) (*RunState, error) {
	s := NewRunState()
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		s.Add(ev)
	}
	return s, nil
}

// Add takes the next event of the run.
func (s *RunState) Add(ev *Event) {
	s.State, s.LastSeq = s.State.After(ev.Type), ev.Seq
	data := ev.Data
	if data == nil {
		data = &Data{}
	}
	if data.Worker != nil {
		s.Stretches = append(s.Stretches, Stretch{*data.Worker, ev.Time, ev.Seq})
	}
	if ev.Step == "" {
		s.addFlow(ev.Type, data)
		s.changes.waiting, s.changes.isSpent = true, true
		return
	}
	st := s.stepOf(ev)
	st.addEvent(ev, data)
	s.addWarning(st.ID, ev)
	s.chargeUsage(st, data.Usage)
	s.addPrompts(st, data.Prompts)
	switch {
	case ev.Type == StepWaiting && data.Approval != nil:
		s.stopWaiting(st.ID)
		s.Waiting = append(s.Waiting, data.Approval.WaitingFor(st.ID))
		s.changes.waiting = true
	case ev.Type == StepWaiting:
		s.stopWaiting(st.ID)
		w := NewWaitingFor("", st.ID, st.Found, st.Remaining, st.HasModelAnswer())
		w.Whole, w.Unread, w.Misses = s.WantedSchema(st), st.misses > 0, st.misses
		w.Item = s.askedItem(st.ID)
		if st.said != "" {
			w.Said, w.Misfit = st.said, w.misfitOf(st.Found)
		}
		s.Waiting = append(s.Waiting, w)
		s.changes.waiting = true
	case st.State != StepStatusWaiting:
		s.stopWaiting(st.ID)
	}
}

func (s *RunState) stopWaiting(id string) {
	for i, w := range s.Waiting {
		if w.Step == id {
			s.Waiting = append(s.Waiting[:i], s.Waiting[i+1:]...)
			s.changes.waiting = true
			return
		}
	}
}

// stepOf finds the step or item of an event, or makes it.
func (s *RunState) stepOf(ev *Event) *StepState {
	id := StepPath(ev.Step, ev.Index)
	st := s.byID[id]
	if st != nil {
		s.changes.touch(st)
		return st
	}
	st = &StepState{ID: id, State: StepStatusPending}
	s.byID[id] = st
	if ev.Index == nil {
		s.changes.touch(st)
	}
	if ev.Index == nil {
		s.Steps = append(s.Steps, st)
		return st
	}
	whole := s.stepOf(&Event{Step: ev.Step})
	whole.Items = append(whole.Items, st)
	s.changes.touch(st) // after the step that it is an item of
	return st
}

// addFlow takes an event of the flow itself.
func (s *RunState) addFlow(t EventType, data *Data) {
	switch t { //nolint:exhaustive // those of steps are not of the flow
	case FlowStarted:
		if data.Inputs != nil {
			s.Inputs = *data.Inputs
		}
		if data.Conversation != nil {
			s.Conversation = *data.Conversation
		}
		s.MaskedInputs = data.Masked
	case FlowResumed:
		s.Resumed++
		// Steps that an earlier process left unfinished run again.
		s.Error, s.Reply = nil, ""
		for _, st := range s.byID {
			waitsInside := st.State == StepStatusWaiting && st.Found.IsNull() && st.Approval == nil // of its own it lacks nothing
			if st.State == StepStatusRunning || waitsInside {
				st.State = StepStatusPending
				s.changes.touch(st)
			}
		}
	case FlowWaiting:
		// Steps that still run have waiting steps or items inside.
		for _, st := range s.byID {
			if st.State == StepStatusRunning {
				st.State = StepStatusWaiting
				s.changes.touch(st)
			}
			st.waited = st.State == StepStatusWaiting
		}
		// The reasons are recorded in the language of the run.
		for i := range s.Waiting {
			for _, told := range data.Waiting {
				if told.Step == s.Waiting[i].Step {
					s.Waiting[i].Reasons, s.Waiting[i].Why = told.Reasons, told.Why
				}
			}
		}
		// An edited flow may have lost steps that waited.
		s.Waiting = slices.DeleteFunc(s.Waiting, func(w WaitingFor) bool {
			return len(data.Waiting) > 0 && !slices.ContainsFunc(data.Waiting, func(still WaitingFor) bool { return still.Step == w.Step })
		})
	case FlowFailed:
		s.Error, s.Reply = data.Error, data.Text
		s.cancelRunning()
		s.askAgain()
	case FlowCancelled:
		s.cancelRunning()
	case FlowFinished:
		s.Waiting = s.Waiting[:0]
		if data.Outputs != nil {
			s.Outputs = *data.Outputs
		}
		s.MaskedOutputs, s.OutputSpans = data.Masked, data.Spans
	}
	if data.Usage != nil {
		s.Usage = *data.Usage
	}
}

// askAgain lets the steps wait again that could not read a message of the user, as the model failed, for example: another
// message may answer them.
func (s *RunState) askAgain() {
	var again []WaitingFor
	s.eachStep(func(st *StepState) {
		if st.isStoppedReading() {
			s.stopWaiting(st.ID)
			w := NewWaitingFor("", st.ID, st.Found, st.Remaining, st.HasModelAnswer())
			w.Whole = s.WantedSchema(st)
			again = append(again, w)
		}
	})
	s.asksAgain = len(again) > 0
	if s.asksAgain {
		s.Waiting = append(again, s.Waiting...)
	}
}

// eachStep visits the steps and their items, in the order in which they began.
func (s *RunState) eachStep(visit func(*StepState)) {
	for _, st := range s.Steps {
		visit(st)
		for _, item := range st.Items {
			visit(item)
		}
	}
}

// isStoppedReading reports whether a step that has waited failed, or was stopped, while it read a message of the user.
func (st *StepState) isStoppedReading() bool {
	isStopped := st.State == StepStatusFailed || st.State == StepStatusCancelled
	return isStopped && st.Message != "" && !st.Found.IsNull()
}

// TakesAnswers reports whether people can answer the run: it waits, or has failed while it read an answer.
func (s *RunState) TakesAnswers() bool {
	return s.State == RunWaiting || s.State == RunFailed && s.asksAgain
}

// cancelRunning marks the steps that the end of the run left behind.
func (s *RunState) cancelRunning() {
	for _, st := range s.byID {
		if st.State == StepStatusRunning {
			st.State = StepStatusCancelled
			s.changes.touch(st)
		}
	}
}

// addEvent takes an event of this step or item.
func (st *StepState) addEvent(ev *Event, data *Data) {
	switch ev.Type { //nolint:exhaustive // the others change nothing
	case StepReady:
		st.State = StepStatusPending
	case StepStarted:
		st.State, st.Call, st.StartedAt, st.Error = StepStatusRunning, data.Call, ev.Time, nil
		st.StartedSeq = ev.Seq
		st.inside = llm.Usage{}
		if !st.waited || st.HasNewAnswers {
			st.Attempts++
		}
		st.waited = false
	case StepInput:
		if data.Params != nil {
			st.Params = *data.Params
			st.noteBegun()
		}
		if data.Input != nil {
			st.Input = *data.Input
		}
		if data.Names != nil {
			st.Names = *data.Names
		}
		st.MaskedParams, st.Spans = data.Masked, data.Spans
	case StepRetrying:
		st.Attempts++
	case StepChild:
		if data.Child != nil {
			st.Child = data.Child.Run
		}
	case StepWaiting:
		st.State = StepStatusWaiting
		if data.Approval != nil {
			st.Approval, st.Decision, st.MaskedApproved, st.begunAfter = data.Approval, nil, data.Masked, false
			st.HasNewAnswers, st.waited = false, true
			st.addTaken(data)
			return
		}
		if data.RemainingSchema != nil {
			if st.IsUnread(*data.RemainingSchema) {
				st.misses++
			} else {
				st.misses = 0
			}
			st.Remaining = *data.RemainingSchema
		}
		st.said, st.Message = st.Message, ""
		if data.Output != nil {
			st.Found = *data.Output
		}
		st.MaskedFound, st.HasNewAnswers, st.waited = data.Masked, false, true
		st.addTaken(data)
	case StepAnswered:
		if data.Decision != nil {
			st.Decision, st.HasNewAnswers = data.Decision, true
			return
		}
		if data.Answers != nil {
			st.addNewAnswers(*data.Answers, data.Masked)
			if data.Message == "" { // values, not words to be read
				st.misses = 0
			}
		}
		st.Message = data.Message // it takes the place of one that could not be read
		if data.Message != "" {
			st.HasNewAnswers = true
		}
	case StepSkipped:
		st.State, st.Reason, st.FromRun = StepStatusSkipped, data.Reason, data.FromRun
	case StepFailed:
		st.State, st.Error = StepStatusFailed, data.Error
		if data.Error != nil && data.Error.Kind == calls.Canceled {
			st.State = StepStatusCancelled
		}
		st.addTaken(data)
	case StepFinished:
		st.State, st.Error, st.Remaining, st.Message = StepStatusFinished, data.Error, value.Value{}, ""
		if data.Output != nil {
			st.Output = *data.Output
		}
		st.MaskedOutput, st.OutputSpans = data.Masked, data.Spans
		st.FromRun, st.IsGiven = data.FromRun, data.IsGiven
		st.addTaken(data)
	}
}

// addNewAnswers adds answers that the step has not seen yet, without answers from which a secret was removed: they
// have to be given again.
func (st *StepState) addNewAnswers(answers value.Value, masked []string) {
	known := answers.Map().Clone()
	for pointer := range answers.Map().All() {
		at := "/" + value.Escape(pointer)
		if slices.ContainsFunc(masked, func(m string) bool { return m == "" || m == at || strings.HasPrefix(m, at+"/") }) {
			known.Delete(pointer)
		}
	}
	if known.Len() > 0 {
		st.HasNewAnswers = true
		st.AddAnswers(value.OfMap(known))
	}
}

// IsUnread reports whether the message of the user had none of the values that the step waited for: it still waits
// for them all, except values that were answered before the message.
func (st *StepState) IsUnread(remaining value.Value) bool {
	before, now := WaitingFor{RemainingSchema: st.Remaining}.Without(st.Answers), WaitingFor{RemainingSchema: remaining}
	asked, asks := before.AskedPlace(), now.AskedPlace()
	isSame := asked.Pointer == asks.Pointer && slices.EqualFunc(asked.Either, asks.Either, AskedPlace.isSamePlace)
	return st.Message != "" && isSame && slices.Equal(before.Pointers(), now.Pointers())
}

// AddAnswers adds a user's answers; the newest answer for a pointer counts.
func (st *StepState) AddAnswers(answers value.Value) {
	all := value.NewMap(answers.Map().Len())
	if st.Answers.Map() != nil {
		all = st.Answers.Map().Clone()
	}
	for pointer, v := range answers.Map().All() {
		all.Set(pointer, v)
	}
	st.Answers = value.OfMap(all)
}

func (st *StepState) addTaken(data *Data) {
	st.LLM = data.LLM
	if data.DurationMS != nil {
		st.DurationMS = *data.DurationMS
	}
}
