package openai

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// A request may be repeated: its client got no answer and tries once more, or its user wants another answer. Its
// last message must then not be treated as an answer to the run's current question, or as the question of a new
// run.

// deed is the effect of a request on a run.
type deed string

const (
	begins  deed = "begins"
	answers deed = "answers"
)

// isKept reports whether repeats of the request can be recognised by its effect. Without a session, a request that
// begins a run looks like another conversation's, and the answers of a client that sends only its last message
// look alike.
func (t *turn) isKept(did deed) bool {
	if did == begins {
		return t.in.session != ""
	}
	return t.in.answerEnd() > 0
}

// keepRequest records the request's effect on its run. seen is the last event of the run before it: a run without
// a later event has not taken the answer.
func (t *turn) keepRequest(ctx context.Context, did deed, seen int64) error {
	if !t.isKept(did) {
		return nil
	}
	kept := fmt.Sprintf("%s@%d", t.out.run, seen)
	return t.api.options.Store.PutConversation(context.WithoutCancel(ctx), t.in.requestKey(t.by, did), kept)
}

// repeatedRun returns the run that the same request has begun or answered before; nil for none, or if the run has
// not taken the answer. If the run waits is not nil, the result is that one or none: the same conversation may
// belong to another run.
func (t *turn) repeatedRun(ctx context.Context, waits *journal.RunInfo) (*journal.RunInfo, error) {
	for _, did := range []deed{begins, answers} {
		if !t.isKept(did) {
			continue
		}
		kept, err := t.api.options.Store.Conversation(ctx, t.in.requestKey(t.by, did))
		if err != nil {
			return nil, err
		}
		id, seen, _ := strings.Cut(kept, "@")
		if waits != nil && waits.ID == id {
			if seen == strconv.FormatInt(waits.LastSeq, 10) {
				return nil, nil
			}
			return waits, nil
		}
		if waits == nil && did == answers && id != "" {
			return t.api.options.Service.LookUpRun(ctx, t.by.Principal, id)
		}
	}
	return nil, nil
}

// retryWords are messages that ask to try again, one a line: "again", "重试".
//
//go:embed retry_words.txt
var retryWords string

// asksToRetry reports whether the user asks to try again.
func (in *request) asksToRetry() bool {
	at := in.lastQuestion()
	if at < 0 {
		return false
	}
	words := strings.ToLower(strings.Trim(plainWords(textOf(in.messages.List()[at])), ".!。！"))
	return words != "" && strings.Contains("\n"+retryWords, "\n"+words+"\n")
}

// failedRun returns the run that has failed and that the request tries again; nil for none. It is the same request
// once more, or the same message again after the failed one, with or without the text about the failure. Finished
// steps of the run are not done, or paid for, again. If the flow has changed since, a new run begins.
func (t *turn) failedRun(ctx context.Context) (*journal.RunInfo, error) {
	keys := [][]byte{t.in.sameKey(t.by, t.model.Hash)}
	if t.in.asksToRetry() {
		keys = t.in.failureKeys(t.by, t.model.Hash)
	}
	for _, key := range keys {
		kept, err := t.api.options.Store.Conversation(ctx, key)
		if err != nil {
			return nil, err
		}
		for _, id := range runsOf(kept) {
			info, err := t.api.options.Service.LookUpRun(ctx, t.by.Principal, id)
			if err != nil {
				return nil, err
			}
			if info == nil || info.State != journal.RunFailed {
				break // a newer run of this chat has ended well
			}
			left, err := t.api.options.Store.Conversation(ctx, givenUpKey(id))
			if err != nil || left == "" {
				return info, err
			}
		}
	}
	return nil, nil
}

// repeatAnswer answers a repeated request: with the run's answer since its last continuation. A run that has
// failed or was cancelled continues.
func (t *turn) repeatAnswer(ctx context.Context, info *journal.RunInfo) error {
	t.out.run, t.out.isFinal = info.ID, true
	switch info.State {
	case journal.RunWaiting:
		return t.repeatQuestion(ctx, info)
	case journal.RunFailed, journal.RunCancelled:
		if at := t.in.lastQuestion(); at >= 0 && info.State == journal.RunCancelled && t.api.options.Service.IsCancelWord(textOf(t.in.messages.List()[at])) {
			return t.repeatCancel(ctx, info)
		}
		err := t.api.options.Dispatcher.Resume(ctx, t.by.Principal, info.ID, service.ResumeWith{Wait: service.SlotWait})
		if err != nil {
			return t.cancelIfLeft(ctx, err)
		}
		t.speech = service.NewSpeech(t.model.Flow.Language, nil)
		return t.followRun(ctx, dispatch.FollowOptions{After: info.LastSeq, UntilWaitingAgain: true})
	case journal.RunRunning, journal.RunFinished:
	}
	after, heard, err := t.lastStretch(ctx, info)
	if err != nil {
		return err
	}
	t.speech = service.NewSpeech(t.model.Flow.Language, heard)
	return t.followRun(ctx, dispatch.FollowOptions{After: after, UntilWaiting: true})
}

// repeatQuestion answers with the run's text, and a question for the first field that it waits for.
func (t *turn) repeatQuestion(ctx context.Context, info *journal.RunInfo) error {
	text, _, err := t.saidBefore(ctx, info)
	if err != nil {
		return err
	}
	t.addText(text)
	if err := t.askFirstField(ctx, nil); err != nil {
		return err
	}
	return t.out.finishAnswer(nil, string(journal.RunWaiting), reasonStop)
}

// repeatCancel answers that the user has cancelled the run.
func (t *turn) repeatCancel(ctx context.Context, info *journal.RunInfo) error {
	details, _, err := t.api.options.Service.ShowRun(ctx, t.by.Principal, info.ID)
	if err != nil {
		return err
	}
	t.out.addText(t.api.options.Service.CancelledText(details))
	return t.out.finishAnswer(nil, string(info.State), reasonStop)
}

// lastStretch returns the event before a run last continued, and its steps' text until then.
func (t *turn) lastStretch(ctx context.Context, info *journal.RunInfo) (after int64, heard map[string]string, err error) {
	speech := service.NewSpeech(t.model.Flow.Language, nil)
	for e, err := range t.api.options.Service.Events(ctx, t.by.Principal, info.ID, 1) {
		if err != nil {
			return 0, nil, err
		}
		if e.Seq > info.LastSeq {
			break
		}
		if e.Type == journal.FlowResumed {
			after, heard = e.Seq-1, maps.Clone(speech.Heard())
			speech = service.NewSpeech(t.model.Flow.Language, speech.Heard())
		}
		speech.Add(e)
	}
	return after, heard, nil
}
