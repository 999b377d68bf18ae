package openai

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
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
	asked, err := t.askedBefore(ctx)
	if err != nil {
		return nil, err
	}
	for _, kept := range asked {
		id, place, _ := strings.Cut(kept, "@")
		info, err := s.Run(ctx, t.by.Principal, id)
		if calls.KindOf(err) == calls.NotFound { // it was deleted
			continue
		}
		if err != nil {
			return nil, err
		}
		if info, err = t.ifAsked(ctx, info, place); err != nil || info != nil {
			return info, err
		}
	}
	return nil, nil
}

// askedBefore returns the runs that have said the assistant's last message in a chat like this one, the last one first, each with the
// place that it asked for: RUN@PLACE. Two chats may begin alike, and a user may go back to an earlier question. If no run has said
// these words, the result has the runs with another text there.
func (t *turn) askedBefore(ctx context.Context) (asked []string, err error) {
	n := t.in.askedEnd()
	if n < 2 {
		return nil, nil
	}
	keys := t.in.chatKeys(t.by, n-1, t.in.talk[n-1].text)
	for i, key := range keys {
		isForOtherWords := i == len(keys)-1
		if isForOtherWords && asked != nil {
			break
		}
		kept, err := t.api.options.Store.Conversation(ctx, key)
		if err != nil {
			return nil, err
		}
		runs := strings.Fields(kept)
		slices.Reverse(runs)
		asked = append(asked, runs...)
	}
	return asked, nil
}

// waitingOfSession is waitingRun for a request that names its session: of its runs the last one that waits, else the last one.
func (t *turn) waitingOfSession(ctx context.Context) (*journal.RunInfo, error) {
	kept, err := t.api.options.Store.Conversation(ctx, t.in.sessionKey(t.by))
	if err != nil {
		return nil, err
	}
	var last *journal.RunInfo
	for _, id := range runsOf(kept) {
		info, err := t.api.options.Service.LookUpRun(ctx, t.by.Principal, id)
		if err != nil {
			return nil, err
		}
		if info == nil { // it was deleted
			continue
		}
		if last == nil || info.State == journal.RunWaiting {
			last = info
		}
		if info.State == journal.RunWaiting {
			break
		}
	}
	if last == nil {
		return nil, nil
	}
	asked, err := t.askedBefore(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(asked, func(kept string) bool { return strings.HasPrefix(kept, last.ID+"@") })
	if i < 0 { // the client does not send the earlier text, or has changed it
		return t.ifAsked(ctx, last, "")
	}
	return t.ifAsked(ctx, last, strings.TrimPrefix(asked[i], last.ID+"@"))
}

// runsOf returns the ids of runs that were kept as RUN@PLACE, the last one first.
func runsOf(kept string) (ids []string) {
	for _, one := range slices.Backward(strings.Fields(kept)) {
		id, _, _ := strings.Cut(one, "@")
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ifAsked returns a run if the user can answer it, else nil: also if it now waits for other places than then, ""
// if these are not known. A run that asks for a name, a day and the name again, for example, no longer waits for
// the day the second time: the user went back and changed an answer, which does not answer the open question.
func (t *turn) ifAsked(ctx context.Context, info *journal.RunInfo, place string) (*journal.RunInfo, error) {
	switch info.State {
	case journal.RunFailed:
	case journal.RunWaiting:
		if place == "" {
			return info, nil
		}
		details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, info.ID)
		if err != nil || placeOf(details.State.Waiting) != place {
			return nil, err
		}
		return info, nil
	default:
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

// answerField answers the run's question with the user's message, and continues the run.
func (t *turn) answerField(ctx context.Context, info *journal.RunInfo) error {
	t.out.run, t.out.isFinal = info.ID, true
	at := t.in.lastQuestion()
	if at < 0 {
		return calls.Errorf(calls.Invalid, "the run %s waits for nothing that can be asked for here", info.ID)
	}
	if err := t.keepRequest(ctx, answers, info.LastSeq); err != nil { // first: a repeat may come as soon as the run continues
		return err
	}
	reply, err := t.api.options.Service.Reply(ctx, t.by.Principal, t.api.options.Dispatcher, service.ReplyRequest{
		Run: info.ID, Text: textOf(t.in.messages.List()[at]), Seen: info.LastSeq, Wait: service.SlotWait,
	})
	var over *service.NotWaitingError // another request has answered it
	if errors.As(err, &over) {
		return NewError(http.StatusConflict, over.Text(), "", codeHeld)
	}
	if err != nil {
		return t.cancelIfLeft(ctx, err)
	}
	if reply.IsLate {
		return NewError(http.StatusConflict, wording.Say("another message has answered this question"), "", codeHeld)
	}
	if reply.State == journal.RunWaiting {
		t.out.addText(reply.Text)
		if err := t.keepQuestion(ctx, reply.Waiting); err != nil {
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
	return t.followRun(ctx, dispatch.FollowOptions{After: info.LastSeq, UntilWaitingAgain: true})
}

// saidBefore returns the text of a run between its last continuation and its wait, and each step's text.
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

// askFirstField asks for the field that the next message of the user answers. known has the run's questions in
// order, in case it has been answered elsewhere since.
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
	return t.keepQuestion(ctx, known)
}

// keepQuestion keeps that the run has asked while it waited for these places: the conversation so far, which its next request begins with,
// leads back to it.
func (t *turn) keepQuestion(ctx context.Context, waiting []journal.WaitingFor) error {
	return t.keepKeys(ctx, t.chatKeysNow(), placeOf(waiting))
}

// placeOf returns a mark of all places that a run waits for, the one that it asks for first.
func placeOf(waiting []journal.WaitingFor) string {
	if len(waiting) == 0 {
		return ""
	}
	var places []string
	for _, w := range waiting {
		places = append(places, w.Step, w.AskedPlace().Pointer, strings.Join(w.Pointers(), " "))
	}
	return hex.EncodeToString(hashOf(places...)[:8])
}

// keepReply keeps the words that a run which has finished said. A chat in which it said something else, and that began alike, is another one: its
// next message does not answer this run. A run of a flow that cannot wait is never answered, and leaves no such key.
func (t *turn) keepReply(ctx context.Context) error {
	if !t.model.Flow.CanWait {
		return nil
	}
	keys := t.in.chatKeys(t.by, len(t.in.talk), t.out.whole.String())
	return t.keepKeys(ctx, t.withSessionKey(keys[:len(keys)-1]), "")
}

// keepFailure keeps that a run has failed, which the user may try again, and may answer once more if it failed while it read an
// answer. A client may keep the text about it as a message of the assistant.
func (t *turn) keepFailure(ctx context.Context) error {
	keys := [][]byte{t.in.sameKey(t.by, t.model.Hash), t.in.failureKey(t.by, t.model.Hash, len(t.in.talk))}
	if t.in.session != "" {
		keys = append(keys, t.in.failureKey(t.by, t.model.Hash, 0))
	}
	if t.model.Flow.CanWait {
		keys = append(keys, t.chatKeysNow()...)
	}
	return t.keepKeys(ctx, keys, "")
}

// chatKeysNow returns the keys of the chat with the last words of the run.
func (t *turn) chatKeysNow() [][]byte {
	return t.withSessionKey(t.in.chatKeys(t.by, len(t.in.talk), t.out.whole.String()))
}

// withSessionKey adds the key of the session, if the request names one.
func (t *turn) withSessionKey(keys [][]byte) [][]byte {
	if t.in.session == "" {
		return keys
	}
	return append(keys, t.in.sessionKey(t.by))
}

// keepKeys keeps that keys lead to the run, which asks for a place.
func (t *turn) keepKeys(ctx context.Context, keys [][]byte, place string) error {
	return t.api.options.Store.AddConversation(context.WithoutCancel(ctx), t.out.run+"@"+place, keys...)
}
