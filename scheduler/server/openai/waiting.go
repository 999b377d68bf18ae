package openai

import (
	"context"
	"errors"
	"net/http"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// waitingRun returns the run that the user's message answers: one that waits, or that failed while it read the message before;
// nil for none. It is found by the session, or by the conversation so far.
func (t *turn) waitingRun(ctx context.Context) (*journal.RunInfo, error) {
	s := t.api.options.Service
	if t.in.session != "" {
		return t.waitingOfSession(ctx)
	}
	n := t.in.askedEnd()
	if n < 2 {
		return nil, nil
	}
	// The request that was answered with the question. Two chats may begin alike: the run that said these words comes first.
	var id string
	for _, key := range t.in.chatKeys(t.by, n-1, t.in.talk[n-1].text) {
		found, err := t.api.options.Store.Conversation(ctx, key)
		if err != nil {
			return nil, err
		}
		if id = found; id != "" {
			break
		}
	}
	if id == "" {
		return nil, nil
	}
	info, err := s.Run(ctx, t.by.Principal, id)
	if calls.KindOf(err) == calls.NotFound { // it was deleted
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.ifAsked(ctx, info)
}

// waitingOfSession is waitingRun for a request that names its session.
func (t *turn) waitingOfSession(ctx context.Context) (*journal.RunInfo, error) {
	filter := journal.RunFilter{
		Flow: t.model.Flow.Name, Limit: 1,
		Labels: map[string]string{journal.LabelSession: t.in.session, journal.LabelOrigin: service.StartedByOpenAI},
	}
	for _, states := range [][]journal.RunStatus{{journal.RunWaiting}, nil} { // else the newest, whatever became of it
		filter.States = states
		for info, err := range t.api.options.Service.Runs(ctx, t.by.Principal, filter) {
			if err != nil {
				return nil, err
			}
			return t.ifAsked(ctx, info)
		}
	}
	return nil, nil
}

// ifAsked returns a run if the user can answer it, and nil otherwise.
func (t *turn) ifAsked(ctx context.Context, info *journal.RunInfo) (*journal.RunInfo, error) {
	if info.State != journal.RunFailed {
		if info.State == journal.RunWaiting {
			return info, nil
		}
		return nil, nil
	}
	left, err := t.api.options.Store.Conversation(ctx, givenUpKey(info.ID))
	if err != nil || left != "" {
		return nil, err
	}
	details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, info.ID)
	if err != nil || !details.State.TakesAnswers() {
		return nil, err
	}
	return info, nil
}

// givenUpKey returns the key under which it is kept that the user wants no more of a run that has failed.
func givenUpKey(run string) []byte { return hashOf("given-up", run) }

// answerField answers what the run asks for with the user's message, and goes on with the run.
func (t *turn) answerField(ctx context.Context, info *journal.RunInfo) error {
	t.out.run, t.out.isFinal = info.ID, true
	at := t.in.lastQuestion()
	if at < 0 {
		return calls.Errorf(calls.Invalid, "the run %s waits for nothing that can be asked for here", info.ID)
	}
	if err := t.keepRequest(ctx, answers, info.LastSeq); err != nil { // first: a repeat may come as soon as the run goes on
		return err
	}
	reply, err := t.api.options.Dispatcher.Reply(ctx, t.by.Principal, service.ReplyRequest{
		Run: info.ID, Text: textOf(t.in.messages.List()[at]), Seen: info.LastSeq, Wait: service.SlotWait,
	})
	var over *service.NotWaitingError // another request has answered it
	if errors.As(err, &over) {
		return NewError(http.StatusConflict, over.Text(), "", codeHeld)
	}
	if err != nil {
		return t.cancelIfLeft(ctx, err)
	}
	if reply.State == journal.RunWaiting {
		t.out.addText(reply.Text)
		if err := t.keepQuestion(ctx); err != nil {
			return err
		}
		return t.out.finishAnswer(nil, string(reply.State), reasonStop)
	}
	_, heard, err := t.saidBefore(ctx, info)
	if err != nil {
		return t.cancelIfLeft(ctx, err)
	}
	if reply.State == journal.RunCancelled {
		if err := t.api.options.Store.PutConversation(ctx, givenUpKey(info.ID), info.ID); err != nil {
			return err
		}
		t.out.addText(reply.Text)
		return t.out.finishAnswer(nil, string(reply.State), reasonStop)
	}
	t.speech = service.NewSpeech(t.model.Flow.Language, heard)
	return t.followRun(ctx, service.FollowOptions{After: info.LastSeq, UntilWaitingAgain: true})
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
	if len(known) == 0 {
		return calls.Errorf(calls.Internal, "the run %s waits for nothing", t.out.run)
	}
	if t.said {
		t.out.addText("\n")
	}
	t.out.addText(t.api.options.Service.QuestionOf(details, known[0]))
	return t.keepQuestion(ctx)
}

// keepQuestion keeps that the run has asked: the conversation so far, which its next request begins with, leads back to it.
func (t *turn) keepQuestion(ctx context.Context) error {
	return t.keepKeys(ctx, t.chatKeysNow())
}

// keepReply keeps the words that a run which has finished said. A chat in which it said something else, and that began alike, is another one: its
// next message does not answer this run. A run of a flow that cannot wait is never answered, and leaves no such key.
func (t *turn) keepReply(ctx context.Context) error {
	if !t.model.Flow.CanWait {
		return nil
	}
	keys := t.chatKeysNow()
	return t.keepKeys(ctx, keys[:len(keys)-1])
}

// chatKeysNow returns the keys of the chat with the last words of the run.
func (t *turn) chatKeysNow() [][]byte {
	return t.in.chatKeys(t.by, len(t.in.talk), t.out.whole.String())
}

// keepKeys keeps that keys lead to the run. If the client names its session, that does, and nothing is kept.
func (t *turn) keepKeys(ctx context.Context, keys [][]byte) error {
	if t.in.session != "" {
		return nil
	}
	for _, key := range keys {
		if err := t.api.options.Store.PutConversation(context.WithoutCancel(ctx), key, t.out.run); err != nil {
			return err
		}
	}
	return nil
}
