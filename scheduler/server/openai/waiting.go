package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// waitingRun returns the run that waits for the user's message; nil for none. It is
// found by the session, or by the conversation so far.
func (t *turn) waitingRun(ctx context.Context) (*journal.RunInfo, error) {
	s := t.api.options.Service
	if t.in.session != "" {
		filter := journal.RunFilter{
			States: []journal.RunStatus{journal.RunWaiting}, Flow: t.model.Flow.Name, Limit: 1,
			Labels: map[string]string{journal.LabelSession: t.in.session, journal.LabelOrigin: service.StartedByOpenAI},
		}
		for info, err := range s.Runs(ctx, t.by.Principal, filter) {
			return info, err
		}
		return nil, nil
	}
	list := t.in.messages.List()
	n := len(list)
	if n < 3 || roleOf(list[n-1]) != "user" || roleOf(list[n-2]) != "assistant" {
		return nil, nil
	}
	id, err := t.api.options.Store.Conversation(ctx, t.in.conversationKey(t.by, n-2))
	if err != nil || id == "" {
		return nil, err
	}
	info, err := s.Run(ctx, t.by.Principal, id)
	if calls.KindOf(err) == calls.NotFound { // it was deleted
		return nil, nil
	}
	if err != nil || info.State != journal.RunWaiting {
		return nil, err
	}
	return info, nil
}

// answerField answers the first field that the run waits for with the user's message, and goes on
// with the run.
func (t *turn) answerField(ctx context.Context, info *journal.RunInfo) error {
	t.out.run, t.out.isFinal = info.ID, true
	details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, info.ID)
	if err != nil {
		return err
	}
	waiting := details.State.Waiting
	at := t.in.lastQuestion()
	if len(waiting) == 0 || len(waiting[0].Pointers()) == 0 || at < 0 {
		return calls.Errorf(calls.Invalid, "the run %s waits for nothing that can be asked for here", info.ID)
	}
	place := waiting[0].Step + ":" + waiting[0].Pointers()[0]
	given, err := scheduler.ParseAnswer(place+"="+textOf(t.in.messages.List()[at]), waiting)
	if err == nil {
		err = t.api.options.Dispatcher.Resume(ctx, t.by.Principal, info.ID, service.ResumeWith{Answers: []scheduler.Answer{given}, Wait: service.SlotWait})
	}
	if err != nil && calls.KindOf(err) == calls.Invalid {
		return t.refuseAnswer(ctx, err)
	}
	if err != nil {
		return t.cancelIfLeft(ctx, err)
	}
	_, heard, err := t.saidBefore(ctx, info)
	if err == nil {
		err = t.keepRequest(ctx, answers)
	}
	if err != nil {
		return t.cancelIfLeft(ctx, err)
	}
	t.speech = service.NewSpeech(t.model.Flow.Language, heard)
	return t.followRun(ctx, service.FollowOptions{After: info.LastSeq, UntilWaitingAgain: true})
}

// refuseAnswer asks again after an answer that was not taken, and tells why. A run that does not wait any more was answered by
// another request.
func (t *turn) refuseAnswer(ctx context.Context, why error) error {
	details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, t.out.run)
	if err != nil {
		return err
	}
	if state := details.Info.State; state != journal.RunWaiting {
		return NewError(http.StatusConflict, wording.Say("the run does not wait: it is %s", wording.Of(string(state))), "", codeHeld)
	}
	if err := t.askField(ctx, details.State.Waiting, why.Error()); err != nil {
		return err
	}
	return t.out.finishAnswer(nil, string(journal.RunWaiting), reasonStop)
}

// saidBefore returns the text that a run said before it came to wait, since it last went on, and what each of its steps said.
func (t *turn) saidBefore(ctx context.Context, info *journal.RunInfo) (text string, heard map[string]string, err error) {
	speech := service.NewSpeech(t.model.Flow.Language, nil)
	for e, err := range t.api.options.Service.Events(ctx, t.by.Principal, info.ID, 1) {
		if err != nil {
			return "", nil, err
		}
		if e.Seq > info.LastSeq {
			break
		}
		if e.Type == journal.FlowResumed {
			speech, text = service.NewSpeech(t.model.Flow.Language, speech.Heard()), ""
		}
		text += speech.Add(e)
	}
	return text, speech.Heard(), nil
}

// askFirstField asks for the field that the next message of the user answers. known is what the run has waited for in the
// order in which it came to it, in case it has been answered elsewhere since.
func (t *turn) askFirstField(ctx context.Context, known []journal.WaitingFor) error {
	details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, t.out.run)
	if err != nil {
		return err
	}
	if len(details.State.Waiting) > 0 {
		known = details.State.Waiting
	}
	return t.askField(ctx, known, "")
}

// askField asks for the first field that a run waits for. why is what was wrong with an answer.
// The conversation so far, which its next request begins with, leads back to the run.
func (t *turn) askField(ctx context.Context, waiting []journal.WaitingFor, why string) error {
	if len(waiting) == 0 {
		return calls.Errorf(calls.Internal, "the run %s waits for nothing", t.out.run)
	}
	if t.said {
		t.out.addText("\n")
	}
	t.out.addText(questionFor(waiting[0], why, t.model.Flow.Language))
	return t.api.options.Store.PutConversation(context.WithoutCancel(ctx), t.in.conversationKey(t.by, len(t.in.messages.List())), t.out.run)
}

// questionFor returns the question for the first field that a step waits for.
func questionFor(w journal.WaitingFor, why, language string) string {
	pointers := w.Pointers()
	if len(pointers) == 0 {
		return w.String()
	}
	properties, _ := w.RemainingSchema.Get("properties")
	property, _ := properties.Get(pointers[0])
	name := pointers[0][strings.LastIndexByte(pointers[0], '/')+1:]
	if name == "" {
		name = w.Step
	}
	var lines []string
	if why != "" {
		lines = append(lines, why)
	} else {
		lines = append(lines, w.Reasons...)
	}
	say := func(format string, args ...any) string { return wording.Say(format, args...).In(language) }
	ask := say("Please tell me: %s", name)
	for _, key := range []string{"title", "description"} {
		v, _ := property.Get(key)
		if text, ok := v.Str(); ok && text != "" {
			ask += " (" + text + ")"
			break
		}
	}
	choices, _ := property.Get("enum")
	var texts []string
	for _, choice := range choices.List() {
		texts = append(texts, choice.PlainText())
	}
	if len(texts) > 0 {
		ask += ": " + strings.Join(texts, say(" or "))
	}
	return strings.Join(append(lines, ask), "\n")
}
