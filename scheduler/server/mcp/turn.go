package mcp

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// turn is one call of a tool that runs a flow, or of a prompt that a flow makes. The handler makes
// one; it belongs to its goroutine.
type turn struct {
	*client
	request *sdk.CallToolRequest
	run     string
	// until is the step at which the run stops, and messages are its prompt: for a prompt of the protocol. "" runs
	// to the end.
	until    string
	messages []value.Value
	// steps is the number of the flow's steps; done has the ended ones.
	steps int
	done  map[string]bool
	// refused has the fields of forms that did not fit; declined are the forms that the user leaves for later.
	refused  []service.RefusedField
	declined map[string]bool
	futile   int // forms in turn that brought nothing
}

func (c *client) newTurn(r *sdk.CallToolRequest) *turn {
	return &turn{client: c, request: r, done: map[string]bool{}, declined: map[string]bool{}}
}

// runFlow starts a run of a flow, or continues the one that the client has answered.
func (t *turn) runFlow(ctx context.Context, f *service.LibraryFlow) (*sdk.CallToolResult, error) {
	if t.request.Params.RequestState != "" {
		return t.continueRequest(ctx)
	}
	inputs, err := argumentsOf(t.request)
	if err != nil {
		return failureResult(err, ""), nil
	}
	var conversation value.Value
	if takesConversation(f.Flow) && inputs.Map() != nil {
		conversation, _ = inputs.Get(conversationArgument)
		given := inputs.Map().Clone()
		given.Delete(conversationArgument)
		inputs = value.OfMap(given)
	}
	if err := calls.CheckConversation(conversation); err != nil {
		return failureResult(err, ""), nil
	}
	properties, _ := f.Flow.Inputs.Doc().Get("properties")
	if _, wantsUser := properties.Get("user"); wantsUser && t.by.User != "" {
		if _, isGiven := inputs.Get("user"); !isGiven {
			inputs.Map().Set("user", value.OfString(t.by.User))
		}
	}
	inputs = f.Flow.Inputs.ApplyDefaults(inputs)
	if problems := f.Flow.Inputs.Check(inputs); problems != nil {
		return failureResult(calls.Errorf(calls.Invalid, "the arguments do not fit the flow: %w", problems), ""), nil
	}
	t.run, t.steps = service.NewRunID(), len(f.Flow.Steps)
	_, err = t.api.options.Dispatcher.Start(ctx, t.by.Principal, service.StartRequest{
		ID: t.run, Flow: f.Flow, Inputs: inputs, Conversation: conversation, StartedBy: service.StartedByMCP, Until: t.until,
	}, 0)
	if err != nil && ctx.Err() == nil {
		return failureResult(err, t.run), nil
	}
	return t.followRun(ctx, dispatch.FollowOptions{UntilWaiting: true})
}

// followAnswers follows a run that waited at an event and gets its answers here or elsewhere.
func (t *turn) followAnswers(ctx context.Context, after int64) (*sdk.CallToolResult, error) {
	return t.followRun(ctx, dispatch.FollowOptions{After: after, UntilWaitingAgain: true})
}

// followRun reports the progress of a run until it is over or waits, and answers.
func (t *turn) followRun(ctx context.Context, options dispatch.FollowOptions) (*sdk.CallToolResult, error) {
	for batch, err := range t.api.options.Dispatcher.Follow(ctx, t.run, options) {
		if ctx.Err() != nil {
			return t.leaveRun(ctx)
		}
		if err != nil {
			return failureResult(err, t.run), nil
		}
		t.reportProgress(ctx, batch)
	}
	return t.finishTurn(ctx)
}

// leaveRun ends a call whose client has cancelled it, and the run with it. If only the connection or the server is
// gone, the run continues.
func (t *turn) leaveRun(ctx context.Context) (*sdk.CallToolResult, error) {
	cause := context.Cause(ctx)
	if errors.Is(cause, dispatch.ErrStopping) {
		return t.stoppedResult(), nil
	}
	if !errors.Is(cause, context.Canceled) {
		return nil, cause
	}
	err := t.api.options.Dispatcher.Cancel(context.WithoutCancel(ctx), t.by.Principal, t.run)
	if calls.KindOf(err) == calls.Invalid { // it is over
		err = nil
	}
	return nil, errors.Join(cause, err)
}

// stoppedResult answers if the server ends before the run.
func (t *turn) stoppedResult() *sdk.CallToolResult {
	err := calls.Errorf(calls.Canceled, "the server stops; the run goes on at its next start").WithHint("read run://%s later", t.run)
	return failureResult(err, t.run)
}

// finishTurn answers by the state of the run.
func (t *turn) finishTurn(ctx context.Context) (*sdk.CallToolResult, error) {
	details, err := t.showRun(ctx, t.run)
	if err != nil {
		return failureResult(err, t.run), nil
	}
	state := details.State
	if t.until != "" && state.State == journal.RunCancelled {
		t.messages = service.MadePrompt(state, t.until)
	}
	switch state.State {
	case journal.RunFinished:
		return t.runResult(state.State, "outputs", t.api.options.Service.ReadableOutputs(details.Flow, t.run, state.Outputs)), nil
	case journal.RunWaiting:
		return t.askUser(ctx, details)
	case journal.RunFailed:
		result := t.runResult(state.State, "error", value.Must(t.api.options.Service.FailureOf(details)))
		result.IsError = true
		return result, nil
	case journal.RunCancelled:
		result := t.runResult(state.State, "", value.Value{})
		result.IsError = true
		return result, nil
	case journal.RunRunning: // another client has answered since
	}
	return t.followRun(ctx, dispatch.FollowOptions{After: state.LastSeq, UntilWaiting: true})
}

// runResult answers with a run and its result.
func (t *turn) runResult(state journal.RunStatus, name string, v value.Value) *sdk.CallToolResult {
	doc := value.Pairs("run", t.run, "state", string(state))
	if name != "" && !v.IsNull() {
		doc.Set(name, v)
	}
	return documentResult(value.OfMap(doc))
}

// reportProgress reports the ended steps to a client that asked for progress.
func (t *turn) reportProgress(ctx context.Context, batch []*dispatch.Frame) {
	token := t.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	for _, frame := range batch {
		switch frame.Type {
		case journal.StepStarted, journal.StepFinished, journal.StepFailed, journal.StepSkipped:
		default:
			continue
		}
		e, err := frame.Event()
		if err != nil || !isStepOfFlow(e.Step) || e.Index != nil {
			continue
		}
		if frame.Type != journal.StepStarted {
			t.done[e.Step] = true
		}
		// The library drops notifications for a client that is gone.
		_ = t.request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(len(t.done)), Total: float64(t.steps), Message: string(frame.Type) + " " + e.Step,
		})
	}
}

// isStepOfFlow reports whether an id names a step of the flow, not a part of one.
func isStepOfFlow(id string) bool { return id != "" && !strings.ContainsAny(id, "/[") }

// showRun returns the run that the call is about, and its finished steps.
func (t *turn) showRun(ctx context.Context, id string) (*service.RunDetails, error) {
	details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, id)
	if err != nil {
		return nil, err
	}
	if details.Flow != nil {
		t.steps = len(details.Flow.Steps)
	}
	for _, step := range details.State.Steps {
		isOver := step.State == journal.StepStatusFinished
		if isOver && isStepOfFlow(step.ID) {
			t.done[step.ID] = true
		}
	}
	t.run = details.Info.ID
	return details, nil
}
