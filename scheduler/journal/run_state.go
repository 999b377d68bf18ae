package journal

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// RunStatus is how a run stands.
type RunStatus string

// The states of a run. A run whose process died is still running.
const (
	RunRunning   RunStatus = "running"
	RunWaiting   RunStatus = "waiting"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
	RunFinished  RunStatus = "finished"
)

// After returns the state once the event happened. Any event of a run that had stopped
// says that it goes on again; answers alone do not.
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

// StepStatus is how a step stands.
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

// RunState is a run rebuilt from its events. Its JSON, beside that of [RunInfo],
// is what `runs show` prints.
type RunState struct {
	State RunStatus `json:"state"`
	// Steps are in the order in which they came up; those that did not are missing
	// until [RunState.Complete].
	Steps   []*StepState `json:"steps"`
	Waiting []WaitingFor `json:"waiting"`
	// Inputs are those of flow.started, with secrets masked.
	Inputs value.Value `json:"-"`
	// Outputs are null unless the run is finished, Error and Reply are of a run that
	// failed.
	Outputs value.Value `json:"outputs,omitzero"`
	Error   *ErrorInfo  `json:"error,omitempty"`
	Reply   string      `json:"reply,omitempty"`
	// Warnings are those of the last attempt of each step, in their order.
	Warnings []WarningInfo `json:"warnings,omitempty"`
	// Usage is what all processes have spent; of one that died, what had finished.
	Usage llm.Usage `json:"usage"`
	// LastSeq is the Seq of the last event.
	LastSeq int64 `json:"-"`

	// MaskedInputs are the places in the inputs that secrets were taken out of.
	MaskedInputs []string `json:"-"`
	byID         map[string]*StepState
}

// StepState is one step, or one item of a for_each step, rebuilt from events.
type StepState struct {
	// ID is the step's id, outer/inner in a sub-flow; an item is id[index].
	ID    string     `json:"id"`
	Call  string     `json:"call"`
	State StepStatus `json:"state"`
	// Attempts counts every start and every retry, over all processes; not that a
	// step goes on waiting, or goes on with what waits inside it.
	Attempts   int     `json:"attempts"`
	DurationMS float64 `json:"duration_ms"`
	// Usage is what all attempts have spent, with what they ran inside the step; a
	// process that died leaves what had finished inside.
	Usage llm.Usage  `json:"usage"`
	Error *ErrorInfo `json:"error,omitempty"`
	// Reason is why the step was skipped.
	Reason string `json:"reason,omitempty"`
	// Items are those of a for_each step that came up.
	Items []*StepState `json:"items,omitempty"`

	// StartedAt is when the last attempt began.
	StartedAt time.Time `json:"-"`
	// Params, Input and Output are as events show them.
	Params value.Value `json:"-"`
	Input  value.Value `json:"-"`
	Output value.Value `json:"-"`
	// Names are the values of vars and run, as far as the parameters mention them.
	Names value.Value `json:"-"`
	// LLM is what the last process asked of a model; nil where it asked nothing.
	LLM *ModelUse `json:"-"`
	// Prompts are what models were asked beyond Input, whole.
	Prompts []Prompt `json:"-"`
	// Remaining is the remaining schema of a step that waits, Answers what users
	// gave it so far, by pointer; null without any.
	Remaining value.Value `json:"-"`
	Answers   value.Value `json:"-"`

	// Found is what the call slot had put out when the step came to wait.
	Found value.Value `json:"-"`
	// MaskedParams, MaskedFound and MaskedOutput are the JSON pointers of what secrets
	// were taken out of: in Params or in the list of a for_each step, in Found, in Output.
	MaskedParams []string `json:"-"`
	MaskedFound  []string `json:"-"`
	MaskedOutput []string `json:"-"`
	// HasNewAnswers reports whether there are answers that the step has not seen yet.
	HasNewAnswers bool `json:"-"`

	// waited: the run came to wait for the step, or for something in it, and has not
	// begun it again since.
	waited bool
	// told is the conversation that the step, or what it ran inside, told last.
	told      []value.Value
	toldParts []calls.Part
	// inside is the part of Usage that was spent inside the step since it began.
	inside llm.Usage
}

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

// NewRunState returns a run before its first event.
func NewRunState() *RunState {
	return &RunState{State: RunRunning, Steps: []*StepState{}, Waiting: []WaitingFor{}, byID: map[string]*StepState{}}
}

// Step finds a step, or an item by id[index]; nil where nothing happened to it.
func (s *RunState) Step(id string) *StepState { return s.byID[id] }

// Add takes the next event of the run.
func (s *RunState) Add(ev *Event) {
	s.State, s.LastSeq = s.State.After(ev.Type), ev.Seq
	data := ev.Data
	if data == nil {
		data = &Data{}
	}
	if ev.Step == "" {
		s.addFlow(ev.Type, data)
		return
	}
	st := s.step(ev)
	st.add(ev, data)
	s.addWarning(st.ID, ev.Type, data)
	s.charge(st, data.Usage)
	s.prompted(st, data.Prompts)
	if ev.Type == StepWaiting {
		s.stopWaiting(st.ID)
		w := NewWaitingFor(st.ID, st.Found, st.Remaining)
		w.Whole = s.WantedSchema(st)
		s.Waiting = append(s.Waiting, w)
	} else if st.State != StepStatusWaiting {
		s.stopWaiting(st.ID)
	}
}

// WantedSchema returns the schema that slot fills for a step: its own, or that of the call whose
// parameters it fills.
func (s *RunState) WantedSchema(st *StepState) value.Value {
	params := st.Params
	if inner := s.Step(st.ID + "/slot-1"); inner != nil {
		params = inner.Params
	}
	wanted, _ := params.Get("current_schema")
	return wanted
}

func (s *RunState) stopWaiting(id string) {
	for i, w := range s.Waiting {
		if w.Step == id {
			s.Waiting = append(s.Waiting[:i], s.Waiting[i+1:]...)
			return
		}
	}
}

// step finds the step or item of an event, or makes it.
func (s *RunState) step(ev *Event) *StepState {
	id := StepPath(ev.Step, ev.Index)
	st := s.byID[id]
	if st != nil {
		return st
	}
	st = &StepState{ID: id, State: StepStatusPending}
	s.byID[id] = st
	if ev.Index == nil {
		s.Steps = append(s.Steps, st)
		return st
	}
	whole := s.step(&Event{Step: ev.Step})
	whole.Items = append(whole.Items, st)
	return st
}

// addFlow takes an event of the flow itself.
func (s *RunState) addFlow(t EventType, data *Data) {
	switch t { //nolint:exhaustive // those of steps are not of the flow
	case FlowStarted:
		if data.Inputs != nil {
			s.Inputs = *data.Inputs
		}
		s.MaskedInputs = data.Masked
	case FlowResumed:
		// What an earlier process left unfinished runs again.
		s.Error, s.Reply = nil, ""
		for _, st := range s.byID {
			if st.State == StepStatusRunning || st.State == StepStatusWaiting && st.Found.IsNull() {
				st.State = StepStatusPending
			}
		}
	case FlowWaiting:
		// What still runs has steps or items inside that wait.
		for _, st := range s.byID {
			if st.State == StepStatusRunning {
				st.State = StepStatusWaiting
			}
			st.waited = st.State == StepStatusWaiting
		}
		// An edited flow may have lost steps that waited.
		s.Waiting = slices.DeleteFunc(s.Waiting, func(w WaitingFor) bool {
			return len(data.Waiting) > 0 && !slices.ContainsFunc(data.Waiting, func(still WaitingFor) bool { return still.Step == w.Step })
		})
	case FlowFailed:
		s.Error, s.Reply = data.Error, data.Text
		s.cancelRunning()
	case FlowCancelled:
		s.cancelRunning()
	case FlowFinished:
		s.Waiting = s.Waiting[:0]
		if data.Outputs != nil {
			s.Outputs = *data.Outputs
		}
	}
	if data.Usage != nil {
		s.Usage = *data.Usage
	}
}

// cancelRunning marks the steps that the end of the run left behind.
func (s *RunState) cancelRunning() {
	for _, st := range s.byID {
		if st.State == StepStatusRunning {
			st.State = StepStatusCancelled
		}
	}
}

// add takes an event of this step or item.
func (st *StepState) add(ev *Event, data *Data) {
	switch ev.Type { //nolint:exhaustive // the others change nothing
	case StepReady:
		st.State = StepStatusPending
	case StepStarted:
		st.State, st.Call, st.StartedAt, st.Error = StepStatusRunning, data.Call, ev.Time, nil
		st.inside = llm.Usage{}
		if !st.waited || st.HasNewAnswers {
			st.Attempts++
		}
		st.waited = false
	case StepInput:
		if data.Params != nil {
			st.Params = *data.Params
		}
		if data.Input != nil {
			st.Input = *data.Input
		}
		if data.Names != nil {
			st.Names = *data.Names
		}
		st.MaskedParams = data.Masked
	case StepRetrying:
		st.Attempts++
	case StepWaiting:
		st.State = StepStatusWaiting
		if data.RemainingSchema != nil {
			st.Remaining = *data.RemainingSchema
		}
		if data.Output != nil {
			st.Found = *data.Output
		}
		st.MaskedFound, st.HasNewAnswers, st.waited = data.Masked, false, true
		st.took(data)
	case StepAnswered:
		if data.Answers != nil {
			st.answered(*data.Answers, data.Masked)
		}
	case StepSkipped:
		st.State, st.Reason = StepStatusSkipped, data.Reason
	case StepFailed:
		st.State, st.Error = StepStatusFailed, data.Error
		if data.Error != nil && data.Error.Kind == calls.Canceled {
			st.State = StepStatusCancelled
		}
		st.took(data)
	case StepFinished:
		st.State, st.Error, st.Remaining = StepStatusFinished, data.Error, value.Value{}
		if data.Output != nil {
			st.Output = *data.Output
		}
		st.MaskedOutput = data.Masked
		st.took(data)
	}
}

// answered takes the answers that are known: one that a secret was taken out of has to
// be given again.
func (st *StepState) answered(answers value.Value, masked []string) {
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

// AddAnswers adds what a user gave; the newest answer for a pointer counts.
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

func (st *StepState) took(data *Data) {
	st.LLM = data.LLM
	if data.DurationMS != nil {
		st.DurationMS = *data.DurationMS
	}
}

// Forget drops what is known of a step that has changed, with all inside it.
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

// MaskedBelow returns the masked places of an output that stands at a pointer.
func (st *StepState) MaskedBelow(pointer string) []string {
	var below []string
	for _, p := range st.MaskedOutput {
		below = append(below, pointer+p)
	}
	return below
}
