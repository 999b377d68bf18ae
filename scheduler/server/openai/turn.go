package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

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
	spoken speakers
	begins bool // the run is a new one
}

// speakers is how the steps ended that speak to the user. The zero value has none; it belongs to a turn.
type speakers struct {
	paths    map[string]bool
	answered bool               // one has finished
	reason   string             // why the last answer ended, as its call names it
	failed   *journal.ErrorInfo // of a failed one after which the run continued
}

// add takes the next event of the run.
func (s *speakers) add(e *journal.Event) {
	path := journal.StepPath(e.Step, e.Index)
	switch {
	case e.Type == journal.StepStarted && e.Data.ToUser:
		if s.paths == nil {
			s.paths = map[string]bool{}
		}
		s.paths[path] = true
	case e.Type != journal.StepFinished || !s.paths[path]:
	case e.Data.Error != nil:
		s.failed = e.Data.Error
	default:
		s.answered = true
		if reason, ok := finishReason(e.Data.Output); ok {
			s.reason = reason
		}
	}
}

// finishReason returns why the answer of a step ended; ok is false for steps that ask no model.
func finishReason(output *value.Value) (reason string, ok bool) {
	if output == nil {
		return "", false
	}
	member, _ := output.Get("finish_reason")
	return member.Str()
}

// apiReason returns why the last answer ended, as the API names it.
func (s *speakers) apiReason() string {
	switch s.reason {
	case reasonLength, "max_tokens", "max_rounds", "timeout":
		return reasonLength
	case reasonFilter:
		return reasonFilter
	}
	return reasonStop
}

// Chat answers a request for a completion, and returns the id of its run; "" for none. The client's going away cancels the run.
func (a *API) Chat(w http.ResponseWriter, r *http.Request, body []byte, by Caller) (run string) {
	in, err := parseRequest(body, r.Header)
	if err == nil && by.ActAs != nil {
		by.Principal, err = by.ActAs(in.user)
	}
	if err != nil {
		a.errorFor(err, by.Language).Write(w)
		return ""
	}
	t := &turn{api: a, by: by, in: in, out: newAnswer(w, in)}
	defer t.out.stopBeats()
	if err := t.serve(r.Context()); err != nil {
		told := t.inPlainWords(err)
		t.logFailure(r.Context(), err, told)
		t.out.failAnswer(a.errorFor(told, by.Language))
	}
	return t.out.run
}

// logFailure logs an error of the server, and each one that the client does not get: there may be no run that
// keeps it, for example when the memory of a flow has no user.
func (t *turn) logFailure(ctx context.Context, err, told error) {
	if ctx.Err() != nil || errorOf(err).isBusy() {
		return
	}
	log, isTold := t.api.options.Log.With("model", t.in.model, "run", t.out.run, "error", err), errors.Is(told, err)
	switch {
	case errorOf(err).status >= http.StatusInternalServerError:
		log.Error("a chat request failed")
	case !isTold:
		log.Warn("a chat request failed")
	}
}

// inPlainWords returns the error in the form for the user of a chat. An error of a run, of a provider or of the
// server may name addresses, files and keys: it stays in the run and the log. An error of the request has the
// remedy for its client, and is returned unchanged.
func (t *turn) inPlainWords(err error) error {
	var known *Error
	var failure *scheduler.Failure
	if errors.As(err, &known) {
		return err
	}
	if errors.As(err, &failure) {
		return t.failedError(failure.Info.Kind)
	}
	e := errorOf(err)
	isHeld := e.Code != nil && *e.Code == codeHeld
	kind := calls.KindOf(err)
	if e.isBusy() || isHeld || e.status < http.StatusInternalServerError || kind == calls.Canceled {
		return err
	}
	return t.failedError(kind)
}

// failedError is the answer to a user whose run, or request, has failed with an error of a kind.
func (t *turn) failedError(kind calls.Kind) *Error {
	language := t.language()
	return kindError(kind, wording.Of(t.api.options.Service.FailedText(language, kind, t.out.run)))
}

// language returns the language for the user: the flow's, else the request's.
func (t *turn) language() string {
	if t.model == nil {
		return t.by.Language
	}
	return cmp.Or(t.model.Language, t.by.Language)
}

func (t *turn) serve(ctx context.Context) error {
	if t.in.isTask() {
		if err := t.checkFields(nil); err != nil {
			return err
		}
		t.out.keepAlive()
		text, usage, err := t.api.options.Service.Ask(ctx, t.api.options.TasksLLM, t.in.messages)
		if err != nil {
			return err
		}
		t.out.addText(text)
		return t.out.finishAnswer(&usage, "", reasonStop)
	}
	var err error
	t.model, err = t.api.options.Library.Flow(t.in.model)
	isOtherFlow := err == nil && t.model.Flow != nil && !t.api.IsModel(t.model.Flow)
	if isOtherFlow || calls.KindOf(err) == calls.NotFound {
		return NewError(http.StatusNotFound, wording.Say("the model %s does not exist", t.in.model), "model", "model_not_found")
	}
	if err != nil {
		return err
	}
	if t.model.Flow == nil {
		t.api.options.Log.Error("a flow that is chatted with has errors", "model", t.in.model, "errors", t.model.Problems.Errors().ForReader("en"))
		told := t.api.options.Service.FailedText(t.language(), calls.Invalid, "")
		return NewError(http.StatusBadRequest, wording.Of(told), "model", "invalid")
	}
	if err := t.checkFields(t.model.Flow); err != nil {
		return err
	}
	if err := t.in.checkOrder(t.model.Flow); err != nil {
		return err
	}
	waits, err := t.waitingRun(ctx)
	if err != nil {
		return err
	}
	earlier, err := t.repeatedRun(ctx, waits)
	if err != nil {
		return err
	}
	if earlier != nil {
		return t.repeatAnswer(ctx, earlier)
	}
	if waits == nil || waits.State == journal.RunFailed {
		failed, err := t.failedRun(ctx)
		if err != nil {
			return err
		}
		if failed != nil {
			return t.repeatAnswer(ctx, failed)
		}
	}
	if err := t.in.checkQuestion(t.model.Flow, waits != nil); err != nil {
		return err
	}
	if waits != nil {
		return t.answerField(ctx, waits)
	}
	return t.beginRun(ctx)
}

// checkFields refuses fields that neither the flow nor the server can follow, and notes ignored ones.
func (t *turn) checkFields(f *flow.Flow) error {
	if err := t.in.checkFields(f); err != nil {
		return err
	}
	t.out.ignored = t.in.ignoredFields(f)
	if len(t.out.ignored) > 0 {
		t.out.w.Header().Set("Scheduler-Ignored", strings.Join(t.out.ignored, ", "))
	}
	return nil
}

// beginRun starts a run for the question.
func (t *turn) beginRun(ctx context.Context) error {
	f := t.model.Flow
	inputs := f.Inputs.ApplyDefaults(value.OfMap(t.in.flowInputs(f, t.by.User)))
	if problems := f.Inputs.Check(inputs); problems != nil {
		return NewError(http.StatusBadRequest, wording.Say("the inputs do not fit the flow: %v", problems), "messages", "invalid")
	}
	id := service.NewRunID()
	t.out.run, t.begins = id, true
	_, err := t.api.options.Dispatcher.Start(ctx, t.by.Principal, service.StartRequest{
		ID: id, Flow: f, Inputs: inputs, Conversation: t.in.conversation(), StartedBy: service.StartedByOpenAI, Session: t.in.session,
	}, service.SlotWait)
	if err != nil && ctx.Err() == nil {
		t.out.run = "" // the request has no run
	}
	if err != nil {
		return t.cancelIfLeft(ctx, err)
	}
	t.speech = service.NewSpeech(t.model.Flow.Language, nil)
	return t.followRun(ctx, dispatch.FollowOptions{UntilWaiting: true})
}

// followRun streams the text of a run until it is over or waits.
func (t *turn) followRun(ctx context.Context, options dispatch.FollowOptions) error {
	t.out.isFinal = true
	t.out.keepAlive()
	t.holder = newHolder(t.model.Flow, t.api.options.HoldRetries)
	var last *journal.Event
	for batch, err := range t.api.options.Dispatcher.Follow(ctx, t.out.run, options) {
		if err != nil {
			return t.cancelIfLeft(ctx, err)
		}
		for _, frame := range batch {
			event, err := frame.Event()
			if err != nil {
				return err
			}
			last = event
			t.spoken.add(event)
			for _, e := range t.holder.passEvents(event) {
				t.addText(t.speech.Add(e))
			}
		}
	}
	return t.endAnswer(ctx, last)
}

// handedOver is the answer if the run continues in another process.
func handedOver() *Error {
	return NewError(http.StatusServiceUnavailable, wording.Say("the run was handed over: ask again"), "", codeBusy)
}

// cancelIfLeft cancels the run if the client has left, for example by its stop button, and returns err. The run
// may have begun or continued while the client left. If the server stops, the run is left to the next one.
func (t *turn) cancelIfLeft(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if errors.Is(context.Cause(ctx), dispatch.ErrStopping) {
		return handedOver()
	}
	return errors.Join(err, t.api.options.Dispatcher.Cancel(context.WithoutCancel(ctx), t.by.Principal, t.out.run))
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
		return handedOver()
	}
	switch last.Type {
	case journal.FlowFinished:
		if err := t.addReply(last.Data.Outputs); err != nil {
			return err
		}
		if err := t.keepReply(ctx); err != nil {
			return err
		}
	case journal.FlowWaiting:
		if t.begins {
			if err := t.keepRequest(ctx, begins, 0); err != nil {
				return err
			}
		}
		if err := t.askFirstField(ctx, last.Data.Waiting); err != nil {
			return err
		}
	case journal.FlowFailed:
		if err := t.keepFailure(ctx); err != nil {
			return err
		}
		if last.Data.Text == "" { // else the flow's own reply was said
			return t.failedError(last.Data.Error.Kind)
		}
	default:
		return NewError(http.StatusServiceUnavailable, wording.Say("the run was cancelled"), "", string(calls.Canceled))
	}
	return t.out.finishAnswer(last.Data.Usage, string(journal.RunRunning.After(last.Type)), t.spoken.apiReason())
}

// isSilent reports whether a model was to speak, and wrote nothing: its rounds or tokens were used up, for example. An answer that was
// filtered is reported by its reason.
func (t *turn) isSilent() bool {
	return t.spoken.answered && t.spoken.reason != "" && t.spoken.reason != reasonFilter && strings.TrimSpace(t.out.whole.String()) == ""
}

// addReply adds an answer from the outputs of a finished run whose steps have produced no text: their reply, or
// else all of them. If steps should have produced text, their failure is the answer.
func (t *turn) addReply(outputs *value.Value) error {
	isSaid := t.said && !t.isSilent()
	if isSaid || outputs == nil {
		return nil
	}
	reply, ok := outputs.Get("reply")
	switch {
	case ok && (!t.isSilent() || strings.TrimSpace(reply.PlainText()) != ""):
	case t.isSilent():
		t.out.addText(t.api.options.Service.UnansweredText(t.language()))
		return nil
	case t.spoken.answered:
		return nil
	case t.spoken.failed != nil:
		return t.failedError(t.spoken.failed.Kind)
	default:
		reply = t.api.options.Service.ReadableOutputs(t.model.Flow, t.out.run, *outputs)
	}
	t.out.addText(reply.PlainText())
	return nil
}
