// Package openai serves flows as the models of an OpenAI-compatible API: a flow whose inputs
// need nothing but the question is a model, its text for the user is the answer. A run that
// waits for values asks for them in the conversation.
package openai

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// Settings are those of the API.
type Settings struct {
	// TasksLLM is the provider that answers what a chat page asks beside the chat: titles,
	// tags. "" is the default one.
	TasksLLM string
	// HoldRetries holds the text of steps with retries back until they have finished.
	HoldRetries bool
}

// Options are what an [API] is made of.
type Options struct {
	Settings
	Service    *service.Service
	Dispatcher *service.Dispatcher
	Library    *service.Library
	Store      *store.Store
	Log        *slog.Logger
}

// API answers requests. The server makes one with [New]; it is safe for concurrent use.
type API struct{ options Options }

// New returns the API.
func New(o Options) *API { return &API{o} }

// Caller is who makes a request.
type Caller struct {
	service.Principal
	// Key tells callers apart that have the same user.
	Key string
}

// filledInputs are the inputs that a request fills by itself.
func filledInputs() []string { return []string{"question", "messages", "history", "user"} }

// IsModel reports whether a flow needs no other inputs than those that a conversation has.
func (*API) IsModel(f *flow.Flow) bool {
	given := f.Inputs.ApplyDefaults(value.OfMap(nil))
	required, _ := f.Inputs.Doc().Get("required")
	for _, name := range required.List() {
		key, _ := name.Str()
		if _, ok := given.Get(key); !ok && !slices.Contains(filledInputs(), key) {
			return false
		}
	}
	return true
}

// Model is a flow in the list of models.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// Models is the list of models.
type Models struct {
	Object string  `json:"object"`
	Data   []Model `json:"data" nullable:"false"`
}

// Models lists the flows that are models.
func (a *API) Models() (*Models, error) {
	all, err := a.options.Library.Flows()
	if err != nil {
		return nil, err
	}
	list := &Models{Object: "list", Data: []Model{}}
	for _, f := range all {
		if f.Flow == nil || !a.IsModel(f.Flow) {
			continue
		}
		m := Model{ID: f.ID, Object: "model", OwnedBy: "scheduler"}
		if info, err := os.Stat(f.File); err == nil {
			m.Created = info.ModTime().Unix()
		}
		list.Data = append(list.Data, m)
	}
	return list, nil
}

// Error is an error in the form that clients of the API read. [NewError] makes one for one answer.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	status int
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// NewError returns an error with a status. param and code are "" for none.
func NewError(status int, message, param, code string) *Error {
	e := &Error{Message: message, Type: "server_error", status: status}
	switch {
	case status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case status < http.StatusInternalServerError:
		e.Type = "invalid_request_error"
	}
	for _, one := range []struct {
		text string
		to   **string
	}{{param, &e.Param}, {code, &e.Code}} {
		if one.text != "" {
			*one.to = &one.text
		}
	}
	return e
}

// Write answers with the error.
func (e *Error) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_, _ = w.Write(value.OfMap(value.Pairs("error", value.Must(e))).AppendJSON(nil)) // the client may have gone
}

// errorOf returns any error as one of the API.
func errorOf(err error) *Error {
	var known *Error
	var failure *scheduler.Failure
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, service.ErrNoPlace), errors.Is(err, service.ErrStopping):
		return NewError(http.StatusServiceUnavailable, err.Error(), "", "busy")
	case errors.Is(err, service.ErrQueueFull):
		return NewError(http.StatusTooManyRequests, err.Error(), "", "busy")
	case errors.As(err, &failure): // its own text may hold secrets
		return kindError(failure.Info.Kind, failure.Info.Message)
	}
	return kindError(calls.KindOf(err), err.Error())
}

// kindError returns the error of a kind.
func kindError(kind calls.Kind, message string) *Error {
	status := http.StatusInternalServerError
	switch kind {
	case calls.Invalid, calls.Missing, calls.Budget:
		status = http.StatusBadRequest
	case calls.NotFound:
		status = http.StatusNotFound
	case calls.Provider, calls.Plugin:
		status = http.StatusBadGateway
	case calls.Timeout:
		status = http.StatusGatewayTimeout
	case calls.Canceled:
		status = http.StatusServiceUnavailable
	case calls.Internal:
	}
	return NewError(status, message, "", string(kind))
}

// placeWait is how long a request waits for a place.
const placeWait = 10 * time.Second

// turn is one request of a conversation. Chat makes one; it belongs to its goroutine.
type turn struct {
	api    *API
	by     Caller
	in     *request
	model  *service.LibraryFlow
	out    *answer
	speech *service.Speech
	holder *holder
	said   bool
}

// Chat answers a request for a completion. The client's going away cancels the run.
func (a *API) Chat(w http.ResponseWriter, r *http.Request, body []byte, by Caller) {
	in, err := parseRequest(body, r.Header)
	if err != nil {
		errorOf(err).Write(w)
		return
	}
	t := &turn{api: a, by: by, in: in, out: newAnswer(w, in)}
	defer t.out.stopBeats()
	if err := t.serve(r.Context()); err != nil {
		if r.Context().Err() == nil && errorOf(err).status == http.StatusInternalServerError {
			a.options.Log.Error("a chat request failed", "model", in.model, "run", t.out.run, "error", err)
		}
		t.out.failAnswer(errorOf(err))
	}
}

func (t *turn) serve(ctx context.Context) error {
	if t.in.isTask() {
		t.out.keepAlive()
		text, usage, err := t.api.options.Service.Ask(ctx, t.api.options.TasksLLM, t.in.messages)
		if err != nil {
			return err
		}
		t.out.addText(text)
		return t.out.finishAnswer(&usage, "")
	}
	var err error
	t.model, err = t.api.options.Library.Flow(t.in.model)
	isOtherFlow := err == nil && t.model.Flow != nil && !t.api.IsModel(t.model.Flow)
	if isOtherFlow || calls.KindOf(err) == calls.NotFound {
		return NewError(http.StatusNotFound, "the model "+t.in.model+" does not exist", "model", "model_not_found")
	}
	if err != nil {
		return err
	}
	if t.model.Flow == nil {
		return NewError(http.StatusBadRequest, "the flow has errors: "+t.model.Problems.Err().Error(), "model", "invalid")
	}
	waits, err := t.waitingRun(ctx)
	if err != nil {
		return err
	}
	if waits != nil {
		return t.goOn(ctx, waits)
	}
	return t.beginRun(ctx)
}

// beginRun starts a run for the question.
func (t *turn) beginRun(ctx context.Context) error {
	f := t.model.Flow
	inputs := f.Inputs.ApplyDefaults(value.OfMap(t.in.flowInputs(f, t.by.User)))
	if problems := f.Inputs.Check(inputs); problems != nil {
		return NewError(http.StatusBadRequest, "the inputs do not fit the flow: "+problems.Error(), "messages", "invalid")
	}
	id := service.NewRunID()
	t.out.run = id
	_, err := t.api.options.Dispatcher.Start(ctx, t.by.Principal, service.StartRequest{
		ID: id, Flow: f, Inputs: inputs, Origin: service.OriginOpenAI, Session: t.in.session,
	}, placeWait)
	if err != nil {
		return err
	}
	t.speech = service.NewSpeech(nil)
	return t.followRun(ctx, 0)
}

// followRun streams the text of a run until it is over or waits.
func (t *turn) followRun(ctx context.Context, after int64) error {
	t.out.keepAlive()
	t.holder = newHolder(t.model.Flow, t.api.options.HoldRetries)
	options := service.FollowOptions{After: after, UntilWaiting: true}
	var last *journal.Event
	for batch, err := range t.api.options.Dispatcher.Follow(ctx, t.out.run, options) {
		if err != nil {
			if ctx.Err() != nil { // the client's stop button
				return errors.Join(err, t.api.options.Dispatcher.Cancel(context.WithoutCancel(ctx), t.by.Principal, t.out.run))
			}
			return err
		}
		for _, frame := range batch {
			event, err := frame.Event()
			if err != nil {
				return err
			}
			last = event
			for _, e := range t.holder.passEvents(event) {
				t.addText(t.speech.Add(e))
			}
		}
	}
	return t.endAnswer(ctx, last)
}

// addText adds text to the answer.
func (t *turn) addText(text string) {
	if text != "" {
		t.said = true
		t.out.addText(text)
	}
}

// endAnswer ends the answer by the last event of the run.
func (t *turn) endAnswer(ctx context.Context, last *journal.Event) error {
	if last == nil || last.Data == nil {
		return NewError(http.StatusServiceUnavailable, "the run was handed over: ask again", "", "busy")
	}
	switch last.Type {
	case journal.FlowFinished:
		if !t.said {
			t.out.addText(replyOf(last.Data.Outputs))
		}
	case journal.FlowWaiting:
		if err := t.askField(ctx, last.Data.Waiting, ""); err != nil {
			return err
		}
	case journal.FlowFailed:
		if last.Data.Text == "" { // else the flow's own reply was said
			return kindError(last.Data.Error.Kind, last.Data.Error.Message)
		}
	default:
		return NewError(http.StatusServiceUnavailable, "the run was cancelled", "", string(calls.Canceled))
	}
	return t.out.finishAnswer(last.Data.Usage, string(journal.RunRunning.After(last.Type)))
}

// replyOf returns the text of outputs without a step that talks to the user.
func replyOf(outputs *value.Value) string {
	if outputs == nil {
		return ""
	}
	reply, ok := outputs.Get("reply")
	if !ok {
		reply = *outputs
	}
	if text, isText := reply.Str(); isText {
		return text
	}
	return reply.JSON()
}
