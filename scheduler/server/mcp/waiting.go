package mcp

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// What the protocol calls what a user does with a form, and the kinds of forms.
const (
	accepted = "accept"
	formMode = "form"
	urlMode  = "url"
)

// askUser asks the user for what the run waits for, a form for each step, and goes on with the
// answers. why is what was wrong with answers. Where the client cannot ask, the result has
// what the run waits for.
func (t *turn) askUser(ctx context.Context, details *service.RunDetails, why string) (*sdk.CallToolResult, error) {
	forms := t.userForms(details.State.Waiting, why)
	if len(forms) == 0 {
		return t.waitingResult(details.State, why), nil
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
		response, err := t.request.Session.Elicit(ctx, form)
		if ctx.Err() != nil {
			return t.leaveRun(ctx)
		}
		if err != nil { // a client that cannot after all, or values that do not fit the form
			return t.waitingResult(details.State, err.Error()), nil
		}
		responses[w.Step] = response
	}
	return t.applyForms(ctx, details, responses)
}

// waitingResult answers with what the run waits for.
func (t *turn) waitingResult(state *journal.RunState, why string) *sdk.CallToolResult {
	doc := value.Pairs("run", t.run, "state", string(state.State), "waiting", value.Must(state.Waiting))
	if why != "" {
		doc.Set("error", value.OfMap(value.Pairs("kind", string(calls.Invalid), "message", why)))
	}
	return documentResult(value.OfMap(doc))
}

// requestState returns what the client carries to its next request: the run, signed for the caller.
func (t *turn) requestState() string {
	return t.run + "." + t.api.signTexts("run", t.run, t.by.Key, t.by.User)
}

// continueRequest goes on with the run that the request carries answers for.
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
	if details.State.State != journal.RunWaiting { // someone else has answered
		return t.followRun(ctx, service.FollowOptions{After: details.State.LastSeq, UntilWaiting: true})
	}
	return t.applyForms(ctx, details, t.request.Params.InputResponses)
}

// applyForms answers the run with what the user has put into forms.
func (t *turn) applyForms(ctx context.Context, details *service.RunDetails, responses sdk.InputResponseMap) (*sdk.CallToolResult, error) {
	waiting := details.State.Waiting
	given, elsewhere := value.NewMap(len(responses)), false
	for _, w := range waiting {
		response, _ := responses[w.Step].(*sdk.ElicitResult)
		if response == nil || response.Action != accepted {
			continue
		}
		if response.Content == nil {
			elsewhere = true // on the page of the form
			continue
		}
		text, err := json.Marshal(response.Content) // whole numbers are such again
		values, parseErr := value.ParseJSON(text)
		if err := errors.Join(err, parseErr); err != nil {
			return failureResult(calls.Errorf(calls.Invalid, "%w", err), t.run), nil
		}
		given.Set(w.Step, withoutEmpty(values, w))
	}
	if given.Len() > 0 {
		answers, err := answersOf(given, waiting)
		if err != nil {
			return t.askUser(ctx, details, err.Error())
		}
		return t.resumeRun(ctx, details, answers)
	}
	if elsewhere { // on the page of the run's form
		return t.followAnswers(ctx, details.State.LastSeq)
	}
	return t.waitingResult(details.State, ""), nil // the user does not want to answer now
}

// withoutEmpty returns the values of a form without the empty texts that clients send for
// fields that were left alone, where the form needs none of them.
func withoutEmpty(values value.Value, w journal.WaitingFor) value.Value {
	required, _ := w.RemainingSchema.Get("required")
	kept := value.NewMap(values.Map().Len())
	for name, v := range values.Map().All() {
		isRequired := slices.ContainsFunc(required.List(), func(one value.Value) bool {
			pointer, _ := one.Str()
			return fieldName(pointer) == name
		})
		if text, isText := v.Str(); isText && text == "" && !isRequired {
			continue
		}
		kept.Set(name, v)
	}
	return value.OfMap(kept)
}

// answersOf returns the answers of forms by step, by the pointers of their fields.
func answersOf(given *value.Map, waiting []journal.WaitingFor) (answers []scheduler.Answer, err error) {
	for _, w := range waiting {
		values, _ := given.Get(w.Step)
		for _, pointer := range w.Pointers() {
			if v, ok := values.Get(fieldName(pointer)); ok {
				answers = append(answers, scheduler.Answer{Step: w.Step, Pointer: pointer, Value: v})
			}
		}
	}
	if len(answers) == 0 {
		return nil, calls.Errorf(calls.Invalid, "the form was empty")
	}
	return answers, scheduler.CheckAnswers(answers, waiting)
}

// resumeRun goes on with a run with answers that fit.
func (t *turn) resumeRun(ctx context.Context, details *service.RunDetails, answers []scheduler.Answer) (*sdk.CallToolResult, error) {
	err := t.api.options.Dispatcher.Resume(ctx, t.by.Principal, t.run, service.ResumeWith{Answers: answers, Wait: service.SlotWait})
	if err != nil && ctx.Err() == nil {
		return failureResult(err, t.run), nil
	}
	return t.followAnswers(ctx, details.State.LastSeq)
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
	if details.State.State != journal.RunWaiting {
		return failureResult(calls.Errorf(calls.Invalid, "the run does not wait: it is %s", details.State.State), t.run), nil
	}
	var answers []scheduler.Answer
	for _, one := range in.Answers {
		answers = append(answers, scheduler.Answer{Step: one.Step, Pointer: one.Pointer, Value: one.Value})
	}
	if len(answers) == 0 {
		err = calls.Errorf(calls.Invalid, "answers is empty").WithHint(`write [{"pointer": ..., "value": ...}]`)
	} else {
		err = scheduler.CheckAnswers(answers, details.State.Waiting)
	}
	if err != nil {
		return failureResult(err, t.run), nil
	}
	return t.resumeRun(ctx, details, answers)
}

// userForms returns what the client can ask the user for, by step.
func (t *turn) userForms(waiting []journal.WaitingFor, why string) map[string]*sdk.ElicitParams {
	forms := map[string]*sdk.ElicitParams{}
	capabilities := t.request.ClientCapabilities()
	if capabilities == nil || capabilities.Elicitation == nil {
		return nil
	}
	// A client that names no mode has forms, as all had before there were modes.
	hasURL := capabilities.Elicitation.URL != nil && t.by.Address != ""
	hasForm := capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil
	for _, w := range waiting {
		schema, isFlat := formSchema(w)
		if isFlat && hasForm {
			forms[w.Step] = &sdk.ElicitParams{Mode: formMode, Message: questionText(w, why), RequestedSchema: schema}
		} else if hasURL {
			forms[w.Step] = &sdk.ElicitParams{
				Mode: urlMode, Message: questionText(w, why), URL: t.by.Address + "/runs/" + url.PathEscape(t.run), ElicitationID: t.run + "/" + w.Step,
			}
		}
	}
	return forms
}

// questionText returns the text above a form.
func questionText(w journal.WaitingFor, why string) string {
	lines := slices.Clone(w.Reasons)
	if why != "" {
		lines = []string{why}
	}
	var names []string
	for _, pointer := range w.Pointers() {
		names = append(names, fieldName(pointer))
	}
	return strings.Join(append(lines, fmt.Sprintf("The step %s needs: %s", w.Step, strings.Join(names, ", "))), "\n")
}

// fieldName returns the name of a form's field: that of a member at the top, else its
// pointer.
func fieldName(pointer string) string {
	name := strings.TrimPrefix(pointer, "/")
	if name == "" {
		return "value"
	}
	if strings.ContainsAny(name, "/~") {
		return pointer
	}
	return name
}

// formSchema returns the schema of the form for a step that waits, in the few words that
// forms have; isFlat is false where they cannot say it. What it leaves out is checked when
// the answer comes.
func formSchema(w journal.WaitingFor) (form value.Value, isFlat bool) {
	properties, _ := w.RemainingSchema.Get("properties")
	required, _ := w.RemainingSchema.Get("required")
	fields, needed := value.NewMap(properties.Map().Len()), []string{}
	for pointer, property := range properties.Map().All() {
		field, ok := formField(property)
		if !ok {
			return form, false
		}
		fields.Set(fieldName(pointer), field)
	}
	for _, one := range required.List() {
		pointer, _ := one.Str()
		needed = append(needed, fieldName(pointer))
	}
	if fields.Len() == 0 {
		return form, false
	}
	return value.OfMap(value.Pairs("type", "object", "properties", value.OfMap(fields), "required", needed)), true
}

// formWords returns the words of a field of a type; nil for types that forms do not have.
func formWords(kind string) []string {
	common := []string{"title", "description", "default"}
	switch kind {
	case "string":
		return append(common, "minLength", "maxLength", "format", "enum")
	case "number", "integer":
		return append(common, "minimum", "maximum")
	case "boolean":
		return common
	}
	return nil
}

// formField returns the schema of a field.
func formField(property value.Value) (value.Value, bool) {
	kind := typeOf(property)
	words := formWords(kind)
	if words == nil {
		return property, false
	}
	field := value.Pairs("type", kind)
	for _, word := range words {
		v, ok := property.Get(word)
		if ok && isFormValue(word, v) {
			field.Set(word, v)
		}
	}
	if choices, ok := property.Get("enum"); ok && kind != "string" && len(choices.List()) > 0 {
		return property, false // a form would let any number pass
	}
	return value.OfMap(field), true
}

// isFormValue reports whether forms can have a word with a value.
func isFormValue(word string, v value.Value) bool {
	text, isText := v.Str()
	switch word {
	case "format":
		return slices.Contains([]string{"email", "uri", "date", "date-time"}, text)
	case "title", "description":
		return isText
	case "enum":
		return len(v.List()) > 0 && !slices.ContainsFunc(v.List(), func(one value.Value) bool { return one.Kind() != value.String })
	case "default":
		return v.Kind() != value.Object && v.Kind() != value.List && !v.IsNull()
	}
	return true
}
