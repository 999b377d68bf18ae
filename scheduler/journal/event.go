package journal

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// EventType is the kind of an event: flow.X or step.X, as scripts read it.
type EventType string

// The types of events. A step's events carry its id.
const (
	FlowStarted   EventType = "flow.started"
	FlowResumed   EventType = "flow.resumed"
	StepReady     EventType = "step.ready"
	StepStarted   EventType = "step.started"
	StepInput     EventType = "step.input"
	StepDelta     EventType = "step.delta"
	StepRetrying  EventType = "step.retrying"
	StepWarning   EventType = "step.warning"
	StepChild     EventType = "step.child"
	StepWaiting   EventType = "step.waiting"
	StepAnswered  EventType = "step.answered"
	StepSkipped   EventType = "step.skipped"
	StepFailed    EventType = "step.failed"
	StepFinished  EventType = "step.finished"
	FlowWaiting   EventType = "flow.waiting"
	FlowFailed    EventType = "flow.failed"
	FlowCancelled EventType = "flow.cancelled"
	FlowFinished  EventType = "flow.finished"
)

// Event is one thing that happened in a run. The command line prints events, the
// journal stores them, a server streams them: one type for all.
// The engine makes each; it does not change once the reader or a journal has it.
type Event struct {
	// Seq counts from 1 without gaps.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	Type EventType `json:"type"`
	// Step is the step's id; steps of a sub-flow are outer/inner.
	Step string `json:"step,omitempty"`
	// Index is the item's index in a for_each step.
	Index *int `json:"index,omitempty"`
	// Data may be shared with other events: it is only to be read.
	Data *Data `json:"data,omitempty"`
}

// Data is the content of an event beyond its type. Which fields are set depends on the
// type.
type Data struct {
	// Flow and Inputs: flow.started.
	Flow   string       `json:"flow,omitempty"`
	Inputs *value.Value `json:"inputs,omitempty"`
	// Conversation: flow.started, the messages that the caller sent before the question.
	Conversation *value.Value `json:"conversation,omitempty"`
	// Interrupted: flow.resumed of a run whose process died while carrying it out.
	Interrupted bool `json:"interrupted,omitempty"`
	// Worker: flow.started and flow.resumed in a server or a worker, the process that carries on the run.
	Worker *Process `json:"worker,omitempty"`
	// Call: step.started.
	Call string `json:"call,omitempty"`
	// ToUser: step.started of a step whose text is for the user.
	ToUser bool `json:"to_user,omitempty"`
	// Child: step.child, the run of its own that the step waits for.
	Child *ChildInfo `json:"child,omitempty"`
	// Params and Input: step.input, the rendered parameters and the call's input.
	Params *value.Value `json:"params,omitempty"`
	Input  *value.Value `json:"input,omitempty"`
	// Names: step.input, the values of the names that the parameters mention and no other event has: vars, run.
	Names *value.Value `json:"names,omitempty"`
	// Spans: step.input, the origins of the texts of the rendered parameters (or of the list of for_each);
	// step.finished, of the output that a flow or a template rendered; flow.finished, of the outputs.
	Spans span.Record `json:"spans,omitempty"`
	// Text: step.delta, the next piece of the step's text; it starts over with step.started and step.retrying.
	// step.warning, a message for the user. flow.failed, the reply that on_error of the flow made. step.child, the
	// reason why that run waits.
	Text string `json:"text,omitempty"`
	// Code and Source: step.warning, see [calls.Warning]. A source is file:line:col of the step, or of its parameter,
	// unless the call names another place.
	Code   string `json:"code,omitempty"`
	Source string `json:"source,omitempty"`
	// Attempt, DelayMS and Error: step.retrying. Attempt is the one that failed, from 1. The text that the attempt
	// streamed is void.
	Attempt int   `json:"attempt,omitempty"`
	DelayMS int64 `json:"delay_ms,omitempty"`
	// Reason: step.skipped.
	Reason string `json:"reason,omitempty"`
	// Error: step.failed, step.retrying, flow.failed, and step.finished of a step that continues after its error.
	Error *ErrorInfo `json:"error,omitempty"`
	// Output: step.finished; Outputs: flow.finished. Usage and DurationMS: the end
	// of a step or of the flow, however it ended; Usage of a step only where it
	// asked a model, be it before it came to wait. DurationMS is that of the last
	// process that was at it, by the stopwatch.
	Output     *value.Value `json:"output,omitempty"`
	Outputs    *value.Value `json:"outputs,omitempty"`
	Usage      *llm.Usage   `json:"usage,omitempty"`
	DurationMS *float64     `json:"duration_ms,omitempty"`
	// LLM: the end of a step, or of a part that it ran inside itself, that asked a model.
	LLM *ModelUse `json:"llm,omitempty"`
	// Prompts: the end of a step, or of a part that it runs inside itself: the prompts to models beyond the input.
	Prompts []Prompt `json:"prompts,omitempty"`
	// RemainingSchema: step.waiting; its properties are the JSON pointers of the missing values. Output is there too:
	// the values that the call slot has found so far.
	RemainingSchema *value.Value `json:"remaining_schema,omitempty"`
	// Waiting: flow.waiting, all that wait.
	Waiting []WaitingFor `json:"waiting,omitempty"`
	// Masked has the JSON pointers of values from which secrets were removed, which a resumed run lacks: in the
	// output of step.finished and step.waiting, in the parameters of step.input (or the list of for_each), in the
	// inputs of flow.started, in the answers of step.answered, in the outputs of flow.finished of a run that another
	// one waits for.
	Masked []string `json:"masked,omitempty"`
	// Answers: step.answered, an object from the pointers of the remaining schema to the user's values there.
	Answers *value.Value `json:"answers,omitempty"`
	// Approval: step.waiting of a step that a person has to approve.
	Approval *Approval `json:"approval,omitempty"`
	// Decision: step.answered, the decision of a person about it.
	Decision *Decision `json:"decision,omitempty"`
	// Message: step.answered, the user's text instead of a value; the step reads it.
	Message string `json:"message,omitempty"`
	// FromRun: step.finished and step.skipped of a forked run, the run in which the step ended.
	FromRun string `json:"from_run,omitempty"`
	// IsGiven: step.finished of a forked run, whether the output was given with the fork; the call has not run.
	IsGiven bool `json:"given,omitempty"`
}

// Process is one that carries runs out: a server or a worker. The program makes one; it is only data.
type Process struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version,omitempty"`
}

// ChildInfo is the run of a flow that a step runs, if that is a run of its own. The engine makes it; it is only
// data.
type ChildInfo struct {
	Run  string `json:"run"`
	Flow string `json:"flow"`
	// Queue is the queue in which it waits for a worker.
	Queue string `json:"queue"`
}

// ModelUse is a step's use of models in one process, including the parts that it ran inside itself.
type ModelUse struct {
	// Provider and Model name the last provider and model asked; "" if unknown.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Requests counts all sent requests, including failed ones.
	Requests int `json:"requests"`
	// Estimated counts the requests whose tokens the provider did not report.
	Estimated int `json:"estimated,omitempty"`
	// FirstTokenMS is how long the last request that was answered waited for the first piece of its answer, by the
	// stopwatch; nil if none was.
	FirstTokenMS *float64 `json:"first_token_ms,omitempty"`
	// Shares has the use of each provider and model that was asked, in the order of their first requests; events have
	// them only if there are several.
	Shares []ModelShare `json:"shares,omitempty"`
}

// ModelShare is one provider's share of a [ModelUse]. The engine makes it; it is only data.
type ModelShare struct {
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Requests int       `json:"requests"`
	Usage    llm.Usage `json:"usage"`
	// Failed counts the failed requests, and Error is the error of the last one.
	Failed int    `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Share returns the share of a provider and a model, creating it if needed.
func (u *ModelUse) Share(provider, model string) *ModelShare {
	i := slices.IndexFunc(u.Shares, func(s ModelShare) bool { return s.Provider == provider && s.Model == model })
	if i < 0 {
		i = len(u.Shares)
		u.Shares = append(u.Shares, ModelShare{Provider: provider, Model: model})
	}
	return &u.Shares[i]
}

// Told returns a copy as events have it: without the share of a single provider, which is the whole.
func (u *ModelUse) Told() *ModelUse {
	told := *u
	told.Shares = nil
	if len(u.Shares) > 1 {
		told.Shares = slices.Clone(u.Shares)
	}
	return &told
}

// IsAnswered reports whether a model has answered.
func (u *ModelUse) IsAnswered() bool { return u != nil && u.FirstTokenMS != nil }

// ErrorInfo is an error as events carry it. The engine makes it; it is only data.
type ErrorInfo struct {
	Kind    calls.Kind `json:"kind"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
	// Position is file:line:col of the failing place in the flow; "" if unknown.
	Position string `json:"position,omitempty"`
	// Step is the step that failed, in flow.failed.
	Step string `json:"step,omitempty"`
}
