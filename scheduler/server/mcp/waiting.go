package mcp

import (
	"context"
	"crypto/hmac"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// The protocol's words for a user's actions on a form, and the kinds of forms.
const (
	accepted = "accept"
	formMode = "form"
	urlMode  = "url"
)

// maxFutile limits the questions to a user in one call without a useful answer: a client may answer by itself.
const maxFutile = 5

// askUser asks the user the run's questions, a form for each step, and continues with the answers. If the client
// cannot ask, the result has the questions.
func (t *turn) askUser(ctx context.Context, details *service.RunDetails) (*sdk.CallToolResult, error) {
	forms := t.userForms(details)
	if len(forms) == 0 || t.futile > maxFutile {
		return t.waitingResult(details.State), nil
	}
	if t.request.ProtocolVersion() >= statelessSince {
		requests := sdk.InputRequestMap{}
		for step, form := range forms {
			requests[step] = form
		}
		return &sdk.CallToolResult{InputRequests: requests, RequestState: t.requestState()}, nil
	}
	responses := sdk.InputResponseMap{}
	for _, w := range details.State.Waiting {
		form := forms[w.Step]
		if form == nil {
			continue
		}
		response, err := t.elicit(ctx, form)
		if ctx.Err() != nil {
			return t.leaveRun(ctx)
		}
		if err != nil { // a client that cannot after all, or that judges values by itself
			t.api.options.Log.Warn("the client has not shown a form", "run", t.run, "step", w.Step, "error", err)
			return t.waitingResult(details.State), nil
		}
		responses[w.Step] = response
	}
	return t.applyForms(ctx, details, responses)
}

// waitingResult answers with the questions of the run.
func (t *turn) waitingResult(state *journal.RunState) *sdk.CallToolResult {
	doc := value.Pairs("run", t.run, "state", string(state.State), "waiting", value.Must(state.Waiting))
	if len(state.Waiting) > 0 {
		first := state.Waiting[0]
		var lines []string
		for _, one := range t.refused {
			if one.HoldsFor(first) {
				lines = append(lines, one.Text)
			}
		}
		doc.Set("question", value.OfString(strings.Join(append(lines, first.Question), "\n")))
	}
	return documentResult(value.OfMap(doc))
}

// requestState returns the state that the client carries to its next request: the run, signed for the caller.
func (t *turn) requestState() string {
	return t.run + "." + t.api.signTexts("run", t.run, t.by.Key, t.by.User)
}

// continueRequest continues the run for which the request carries answers.
func (t *turn) continueRequest(ctx context.Context) (*sdk.CallToolResult, error) {
	run, signature, _ := strings.Cut(t.request.Params.RequestState, ".")
	t.run = run
	if _, want, _ := strings.Cut(t.requestState(), "."); !hmac.Equal([]byte(signature), []byte(want)) {
		return failureResult(calls.Errorf(calls.Invalid, "the requestState is not one of this server and this user").WithHint("call the tool without it"), ""), nil
	}
	details, err := t.showRun(ctx, run)
	if err != nil {
		return failureResult(err, run), nil
	}
	if details.State.State != journal.RunWaiting { // it was answered elsewhere
		return t.followRun(ctx, dispatch.FollowOptions{After: details.State.LastSeq, UntilWaiting: true})
	}
	return t.applyForms(ctx, details, t.request.Params.InputResponses)
}

// applyForms answers the run with the values that the user has put into forms.
func (t *turn) applyForms(ctx context.Context, details *service.RunDetails, responses sdk.InputResponseMap) (*sdk.CallToolResult, error) {
	waiting := details.State.Waiting
	forms := t.userForms(details)
	t.refused = nil
	request := service.FormRequest{Run: t.run, Wait: service.SlotWait}
	elsewhere := false
	for _, w := range waiting {
		response, _ := responses[w.Step].(*sdk.ElicitResult)
		form := forms[w.Step]
		switch {
		case response == nil || form == nil:
		case response.Action != accepted:
			t.declined[w.Step] = true
		case form.Mode == urlMode:
			elsewhere = true // on the page of the form
		default:
			fields, err := filledFields(w, response.Content)
			if err != nil {
				return failureResult(err, t.run), nil
			}
			request.Fields = append(request.Fields, fields...)
		}
	}
	switch {
	case len(request.Fields) > 0:
		return t.answerForm(ctx, request)
	case elsewhere:
		return t.followAnswers(ctx, details.State.LastSeq)
	}
	return t.waitingResult(details.State), nil // the user does not want to answer now
}

// answerForm answers the run with the fields that the user has filled in, and asks again for unfit ones.
func (t *turn) answerForm(ctx context.Context, request service.FormRequest) (*sdk.CallToolResult, error) {
	reply, err := t.api.options.Service.AnswerForm(ctx, t.by.Principal, t.api.options.Dispatcher, request)
	var over *service.NotWaitingError
	if errors.As(err, &over) { // it was answered elsewhere
		return t.finishTurn(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return failureResult(err, t.run), nil
	}
	if ctx.Err() != nil {
		return t.leaveRun(ctx)
	}
	t.refused = reply.Refused
	switch reply.State {
	case journal.RunRunning:
		t.futile = 0
		return t.followAnswers(ctx, reply.After)
	case journal.RunCancelled:
		result := t.runResult(reply.State, "text", value.OfString(reply.Text))
		result.IsError = true
		return result, nil
	case journal.RunWaiting, journal.RunFailed, journal.RunFinished:
	}
	t.futile++
	return t.finishTurn(ctx)
}

// resumeRun resumes a run with fitting answers.
func (t *turn) resumeRun(ctx context.Context, details *service.RunDetails, answers []scheduler.Answer) (*sdk.CallToolResult, error) {
	err := t.api.options.Dispatcher.Resume(ctx, t.by.Principal, t.run, service.ResumeWith{Answers: answers, Wait: service.SlotWait})
	if err != nil && ctx.Err() == nil {
		return t.unfitResult(details, answers, err), nil
	}
	return t.followAnswers(ctx, details.State.LastSeq)
}

// unfitResult answers if values do not fit, in the words of the run.
func (t *turn) unfitResult(details *service.RunDetails, answers []scheduler.Answer, err error) *sdk.CallToolResult {
	why := t.api.options.Service.UnfitAnswers(details, answers)
	if why == "" || calls.KindOf(err) != calls.Invalid {
		return failureResult(err, t.run)
	}
	return failureResult(calls.Errorf(calls.Invalid, "%s", why), t.run)
}

// answerRun is the tool answer_run.
func (t *turn) answerRun(ctx context.Context) (*sdk.CallToolResult, error) {
	if t.request.Params.RequestState != "" {
		return t.continueRequest(ctx)
	}
	doc, err := argumentsOf(t.request)
	if err != nil {
		return failureResult(err, ""), nil
	}
	var in struct {
		Run     string `json:"run"`
		Message string `json:"message"`
		Answers []struct {
			Step    string      `json:"step"`
			Pointer string      `json:"pointer"`
			Value   value.Value `json:"value"`
		} `json:"answers"`
	}
	if err := value.Decode(doc, &in); err != nil {
		return failureResult(calls.Errorf(calls.Invalid, "%w", err), ""), nil
	}
	details, err := t.showRun(ctx, in.Run)
	if err != nil {
		return failureResult(err, ""), nil
	}
	if !details.State.TakesAnswers() {
		return failureResult(calls.Errorf(calls.Invalid, "the run does not wait: it is %s", details.State.State), t.run), nil
	}
	if in.Message != "" && len(in.Answers) == 0 {
		return t.replyToRun(ctx, details, in.Message)
	}
	var answers []scheduler.Answer
	for _, one := range in.Answers {
		answers = append(answers, scheduler.Answer{Step: one.Step, Pointer: one.Pointer, Value: one.Value})
	}
	if len(answers) == 0 {
		err = calls.Errorf(calls.Invalid, "answers is empty").WithHint(`write [{"pointer": ..., "value": ...}], or message`)
	} else {
		err = scheduler.CheckAnswers(answers, details.State.Waiting)
	}
	if err != nil {
		return t.unfitResult(details, answers, err), nil
	}
	return t.resumeRun(ctx, details, answers)
}

// replyToRun gives the run the user's text.
func (t *turn) replyToRun(ctx context.Context, details *service.RunDetails, message string) (*sdk.CallToolResult, error) {
	reply, err := t.api.options.Service.Reply(ctx, t.by.Principal, t.api.options.Dispatcher, service.ReplyRequest{Run: t.run, Text: message, Wait: service.SlotWait})
	if err != nil && ctx.Err() == nil {
		return failureResult(err, t.run), nil
	}
	if err == nil && reply.State != journal.RunRunning {
		doc := value.Pairs("run", t.run, "state", string(reply.State))
		key := "text"
		if reply.State == journal.RunWaiting {
			key = "question"
			doc.Set("waiting", value.Must(details.State.Waiting))
		}
		doc.Set(key, value.OfString(reply.Text))
		return documentResult(value.OfMap(doc)), nil
	}
	return t.followAnswers(ctx, details.State.LastSeq)
}

// userForms returns the forms that the client can show to the user, by step, without the forms that the user has declined.
func (t *turn) userForms(details *service.RunDetails) map[string]*sdk.ElicitParams {
	forms := map[string]*sdk.ElicitParams{}
	capabilities := t.request.ClientCapabilities()
	if capabilities == nil || capabilities.Elicitation == nil {
		return nil
	}
	// A client that names no mode has forms, as all had before there were modes.
	hasURL := capabilities.Elicitation.URL != nil && t.by.Address != ""
	hasForm := capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil
	for _, w := range details.State.Waiting {
		fields := w.FormFields()
		if t.declined[w.Step] || len(fields) == 0 {
			continue
		}
		message, labels := t.api.options.Service.FormOf(details, w, fields, t.refused)
		schema, isSimple := formSchema(fields, labels, t.request.ProtocolVersion() >= listsSince)
		isForm := hasForm && (isSimple || !hasURL)
		if isForm {
			forms[w.Step] = &sdk.ElicitParams{Mode: formMode, Message: message, RequestedSchema: schema}
		} else if hasURL {
			forms[w.Step] = &sdk.ElicitParams{
				Mode: urlMode, Message: message, URL: t.by.Address + "/runs/" + url.PathEscape(t.run), ElicitationID: t.run + "/" + w.Step,
			}
		}
	}
	return forms
}

// elicit asks the client, and returns the user's values unchecked: the library would check them by the schema of
// the form, with messages of its own. So the schema is added to the request without the library.
func (t *turn) elicit(ctx context.Context, form *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	bare := *form
	bare.RequestedSchema = nil
	return t.request.Session.Elicit(context.WithValue(ctx, formKey{}, form), &bare)
}

// formKey is the key of the form that [turn.elicit] sends.
type formKey struct{}

// sendForms is the middleware that sends the form of a context.
func sendForms(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		form, isForm := ctx.Value(formKey{}).(*sdk.ElicitParams)
		asked, isAsked := r.(*sdk.ServerRequest[sdk.Params])
		if isForm && isAsked {
			whole := *asked
			whole.Params = form
			r = &whole
		}
		return next(ctx, method, r)
	}
}
