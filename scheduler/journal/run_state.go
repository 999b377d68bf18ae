package journal

import (
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// RunStatus is the state of a run.
type RunStatus string

// The states of a run. A run whose process died is still running.
const (
	RunRunning   RunStatus = "running"
	RunWaiting   RunStatus = "waiting"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
	RunFinished  RunStatus = "finished"
)

// After returns the state once the event happened. Any event of a run that had stopped means that it continues;
// answers alone do not.
func (s RunStatus) After(t EventType) RunStatus {
	switch t { //nolint:exhaustive // all others are of a run that runs
	case FlowWaiting:
		return RunWaiting
	case FlowFailed:
		return RunFailed
	case FlowCancelled:
		return RunCancelled
	case FlowFinished:
		return RunFinished
	case StepAnswered:
		return s
	}
	return RunRunning
}

// IsOver reports whether a run of this state does not continue by itself, and waits for nothing.
func (s RunStatus) IsOver() bool { return s == RunFinished || s == RunFailed || s == RunCancelled }

// StopsRun reports whether the run stops with the event: it is over, or waits for values. Its holder releases it
// then.
func (e *Event) StopsRun() bool { return e.Step == "" && RunRunning.After(e.Type) != RunRunning }

// StepStatus is the state of a step.
type StepStatus string

// The states of a step. In StepStatusWaiting it waits for parameters.
const (
	StepStatusPending   StepStatus = "pending"
	StepStatusRunning   StepStatus = "running"
	StepStatusWaiting   StepStatus = "waiting"
	StepStatusSkipped   StepStatus = "skipped"
	StepStatusFailed    StepStatus = "failed"
	StepStatusCancelled StepStatus = "cancelled"
	StepStatusFinished  StepStatus = "finished"
)

// NameOfSeed is the name in [StepState] Names of the seed with which the templates of a step
// chose at random: the digits of a number.
const NameOfSeed = "random_seed"

// RunState is a run rebuilt from its events. `runs show` prints its JSON together with [RunInfo]'s. [Fold] makes
// it, or NewRunState and [RunState.Add] event by event; it must not be used by several goroutines at once while
// events are added.
type RunState struct {
	State RunStatus `json:"state"`
	// Steps are in the order in which they began; steps that have not begun are missing until [RunState.Complete].
	Steps   []*StepState `json:"steps"`
	Waiting []WaitingFor `json:"waiting"`
	// Inputs has the inputs from flow.started, with secrets masked.
	Inputs value.Value `json:"-"`
	// Conversation is the list of messages of flow.started; null for none.
	Conversation value.Value `json:"-"`
	// Outputs are null unless the run is finished, Error and Reply are of a run that
	// failed.
	Outputs value.Value `json:"outputs,omitzero"`
	Error   *ErrorInfo  `json:"error,omitempty"`
	Reply   string      `json:"reply,omitempty"`
	// Warnings has the warnings of the last attempt of each step, in their order.
	Warnings []WarningInfo `json:"warnings,omitempty"`
	// Stretches are which servers and workers carried the run out, one after the other.
	Stretches []Stretch `json:"workers,omitempty"`
	// Usage is the spending of all processes; for one that died, only of the finished work.
	Usage llm.Usage `json:"usage"`
	// MaskedOutputs are the places in Outputs that secrets were taken out of, in a run that another
	// one waits for.
	MaskedOutputs []string `json:"-"`
	// OutputSpans are the origins of the texts in Outputs.
	OutputSpans span.Record `json:"-"`
	// Resumed is how often the run was resumed.
	Resumed int `json:"-"`
	// LastSeq is the Seq of the last event.
	LastSeq int64 `json:"-"`

	// MaskedInputs are the places in the inputs that secrets were taken out of.
	MaskedInputs []string `json:"-"`
	byID         map[string]*StepState
	asksAgain    bool // the run failed as a step read a message of the user
	changes      changes
}

// Stretch is the part of a run that one process did: all events from Seq until the next stretch.
type Stretch struct {
	Process
	Since time.Time `json:"since"`
	Seq   int64     `json:"seq"`
}

// StepState is one step, or one item of a for_each step, rebuilt from events. It belongs to a
// [RunState], and is as safe for concurrent use.
type StepState struct {
	// ID is the step's id, outer/inner in a sub-flow; an item is id[index].
	ID    string     `json:"id"`
	Call  string     `json:"call"`
	State StepStatus `json:"state"`
	// Attempts counts every start and every retry, over all processes; but not when a step continues to wait, or
	// continues with waiting parts inside it.
	Attempts   int     `json:"attempts"`
	DurationMS float64 `json:"duration_ms"`
	// Usage is the spending of all attempts, including the parts that they ran inside the step; for a process that
	// died, only of the finished parts.
	Usage llm.Usage  `json:"usage"`
	Error *ErrorInfo `json:"error,omitempty"`
	// Reason is why the step was skipped.
	Reason string `json:"reason,omitempty"`
	// Child is the separate run in which the step ran its flow; "" if it did so in its own run.
	Child string `json:"child,omitempty"`
	// FromRun is the run in which a step that a fork kept has ended; "" for one that ran in its own run.
	FromRun string `json:"from_run,omitempty"`
	// Items has the items of a for_each step that have begun.
	Items []*StepState `json:"items,omitempty"`

	// StartedAt is when the last attempt began, and StartedSeq the Seq of that event.
	StartedAt  time.Time `json:"-"`
	StartedSeq int64     `json:"-"`
	// Approval is what a person was asked to approve last, and Decision what they decided about it; nil without.
	Approval *Approval `json:"approval,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	// begunAfter is set once the step was begun with other parameters than those of Approval.
	begunAfter bool
	// MaskedApproved are the places in the parameters of Approval that secrets were taken out of.
	MaskedApproved []string `json:"-"`

	// Params, Input and Output are as events show them.
	Params value.Value `json:"-"`
	Input  value.Value `json:"-"`
	Output value.Value `json:"-"`
	// Spans are the origins of the texts in Params that templates and expressions gave, or in the list of a for_each
	// step in Input; OutputSpans of the texts in Output, for a flow or a template. nil: nothing is recorded.
	Spans, OutputSpans span.Record `json:"-"`
	// Names are the values of vars and run, as far as the parameters mention them, and [NameOfSeed]'s value if a
	// template of theirs chose at random.
	Names value.Value `json:"-"`
	// LLM is the last process's use of models; nil if it used none.
	LLM *ModelUse `json:"-"`
	// Prompts has the whole prompts to models beyond Input.
	Prompts []Prompt `json:"-"`
	// Remaining is the remaining schema of a step that waits, Answers the users' values so far, by pointer; null
	// without any.
	Remaining value.Value `json:"-"`
	Answers   value.Value `json:"-"`

	// Message is the user's answer as text, which the step has not read yet; "" without one.
	Message string `json:"-"`
	// misses counts the messages in a row that the step has read, and after which it still waits for the same values.
	misses int
	// said is the last message.
	said string

	// IsGiven is set if a test file or a fork has given the output of the step: its call has not run.
	IsGiven bool `json:"given,omitempty"`
	// Found is the output of the call slot when the step began to wait.
	Found value.Value `json:"-"`
	// MaskedParams, MaskedFound and MaskedOutput are the JSON pointers of values from which secrets were removed: in
	// Params or in the list of a for_each step, in Found, in Output.
	MaskedParams []string `json:"-"`
	MaskedFound  []string `json:"-"`
	MaskedOutput []string `json:"-"`
	// HasNewAnswers reports whether there are answers that the step has not seen yet.
	HasNewAnswers bool `json:"-"`

	// waited means that the run waited for the step, or for something in it, and has not begun it again since.
	waited bool
	// told is the last conversation that the step, or a part inside it, reported.
	told      []value.Value
	toldParts []calls.Part
	isTouched bool // it is in the changes of the run
	// inside is the part of Usage that was spent inside the step since it began.
	inside llm.Usage
}

// IsApprovalLast reports whether the step was begun with no other parameters since a person was asked to approve those
// of Approval.
func (st *StepState) IsApprovalLast() bool { return !st.begunAfter }

// FailedItems returns how many items of a for_each step have failed, including items after which on_error:
// continue continued.
func (st *StepState) FailedItems() int {
	failed := 0
	for _, item := range st.Items {
		if item.Error != nil {
			failed++
		}
	}
	return failed
}

// HasModelAnswer reports whether a model has answered the step, in the last process or an earlier one.
func (st *StepState) HasModelAnswer() bool { return st.LLM.IsAnswered() || st.Usage.OutputTokens > 0 }

// HasNewAnswers reports whether there are answers which the steps that wait have not seen yet.
func (s *RunState) HasNewAnswers() bool {
	return slices.ContainsFunc(s.Waiting, func(w WaitingFor) bool { return s.Step(w.Step).HasNewAnswers })
}

// NewRunState returns a run before its first event.
func NewRunState() *RunState {
	return &RunState{State: RunRunning, Steps: []*StepState{}, Waiting: []WaitingFor{}, byID: map[string]*StepState{}}
}

// Step finds a step, or an item by id[index]; nil if it has no events.
func (s *RunState) Step(id string) *StepState { return s.byID[id] }

// WantedSchema returns the schema that slot fills for a step: its own, or the schema of the call whose parameters
// it fills.
func (s *RunState) WantedSchema(st *StepState) value.Value {
	params := st.Params
	if inner := s.Step(st.ID + "/slot-1"); inner != nil {
		params = inner.Params
	}
	wanted, _ := params.Get("current_schema")
	return wanted
}

// Forget drops the state of a step that has changed, with all inside it.
func (s *RunState) Forget(id string) {
	gone := func(other string) bool {
		return other == id || strings.HasPrefix(other, id+"/") || strings.HasPrefix(other, id+"[")
	}
	for other, st := range s.byID {
		if gone(other) {
			st.State = StepStatusPending
			delete(s.byID, other)
		}
	}
	s.Waiting = slices.DeleteFunc(s.Waiting, func(w WaitingFor) bool { return gone(w.Step) })
}

// ItemInputs lists the inputs of the items of a for_each step.
func (s *RunState) ItemInputs(whole *StepState) value.Value {
	inputs := make([]value.Value, len(whole.Output.List()))
	for i := range inputs {
		if item := s.Step(StepPath(whole.ID, &i)); item != nil {
			inputs[i] = item.Input
		}
	}
	return value.OfList(inputs...)
}

// MaskedBelow returns the masked places of an output at a pointer.
func (st *StepState) MaskedBelow(pointer string) []string {
	var below []string
	for _, p := range st.MaskedOutput {
		below = append(below, pointer+p)
	}
	return below
}

// WarningInfo is a warning of a step, rebuilt from its event. It is part of a [RunState]. A failed step with
// on_error: continue is a warning too, with [CodeFailed].
type WarningInfo struct {
	// Step is the step's id as in [StepState].
	Step   string `json:"step"`
	Code   string `json:"code"`
	Text   string `json:"text"`
	Source string `json:"source,omitempty"`
}
