package replay

import (
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// failure is the error of a model as a cassette has it: a step that tried again, or that asked another
// provider instead, does the same in a replay.
type failure struct {
	Status       int    `json:"status,omitempty"`
	Message      string `json:"message,omitempty"`
	MessageZh    string `json:"message_zh,omitempty"`
	Cause        string `json:"cause,omitempty"`
	CauseZh      string `json:"cause_zh,omitempty"`
	Hint         string `json:"hint,omitempty"`
	Temporary    bool   `json:"temporary,omitempty"`
	Unsent       bool   `json:"unsent,omitempty"`
	Exhausted    bool   `json:"exhausted,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	// IsOverdue is set if the time of the step was over before the model had answered: a replay waits for that.
	IsOverdue bool `json:"overdue,omitempty"`
}

// newFailure returns the error as it is recorded; nil for one that says nothing of the model: the run was stopped, or the
// provider could not be opened.
func newFailure(ctx context.Context, err error) *failure {
	var e *llm.Error
	isOverdue := errors.Is(ctx.Err(), context.DeadlineExceeded)
	isStopped := ctx.Err() != nil && !isOverdue
	if isStopped || !errors.As(err, &e) {
		return nil
	}
	f := &failure{
		Status: e.Status, Hint: e.Hint, Temporary: e.Temporary, Unsent: e.Unsent, Exhausted: e.Exhausted, RetryAfterMS: e.RetryAfter.Milliseconds(), IsOverdue: isOverdue,
	}
	f.Message, f.MessageZh = split(e.MessageText())
	if e.Err != nil {
		f.Cause, f.CauseZh = split(wording.OfError(e.Err))
	}
	return f
}

// split returns a text, and the Chinese one if it is another.
func split(text wording.Text) (en, zh string) {
	if text.Zh == text.En {
		return text.En, ""
	}
	return text.En, text.Zh
}

// join is the opposite of split.
func join(en, zh string) wording.Text {
	if zh == "" {
		zh = en
	}
	return wording.Text{En: en, Zh: zh}
}

// play returns the error again, of the provider with that name.
func (f *failure) play(ctx context.Context, name string) error {
	e := &llm.Error{
		Provider: name, Status: f.Status, Hint: f.Hint, Temporary: f.Temporary, Unsent: f.Unsent, Exhausted: f.Exhausted, RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
	}
	if f.Message != "" {
		e = e.WithMessage("%s", join(f.Message, f.MessageZh))
	}
	if f.IsOverdue {
		if _, has := ctx.Deadline(); has {
			<-ctx.Done()
		}
		e.Err = context.DeadlineExceeded
		return e
	}
	if f.Cause != "" {
		e.Err = wording.Errorf("%s", join(f.Cause, f.CauseZh))
	}
	return e
}

// mapTexts returns the failure with its texts changed.
func (f *failure) mapTexts(change func(string) string) *failure {
	c := *f
	for _, text := range []*string{&c.Message, &c.MessageZh, &c.Cause, &c.CauseZh, &c.Hint} {
		*text = change(*text)
	}
	return &c
}
