package calls

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Tape records the answers that the calls of a run get from outside, or plays them back without asking. Calls use
// it through [Exchange]; the engine uses it for calls that declare all their work as outside ([Info] IsOutside),
// for HTTP requests, for the memory and for variables. Models have recorders of their own. A tape is made for a
// run and safe for concurrent use.
type Tape interface {
	// Exchange returns the recorded answer to the request, or asks and records the answer. kind is the kind of the
	// service, such as http, and name its name. Errors are not recorded.
	Exchange(ctx context.Context, kind, name string, request value.Value, ask func(context.Context) (value.Value, error)) (value.Value, error)
}

// The kinds of services outside, besides models.
const (
	TapedHTTP       = "http"       // a request of [System] HTTP
	TapedMCP        = "mcp"        // a tool of an MCP server
	TapedCall       = "call"       // a call whose work is outside, such as one of a plugin
	TapedInput      = "input"      // the input that such a call computed from its parameters
	TapedMemory     = "memory"     // a call that changes the memory
	TapedRecall     = "recall"     // a look into the memory
	TapedVariables  = "variables"  // values of variables
	TapedImportance = "importance" // verdicts of importance functions
)

// Exchange asks a service outside, for example a tool of a server, through the run's tape if there is one. It
// records errors too, so that a step that was tried again does so in a replay, except the end of the run. T must
// be a type that [value.Of] and [value.Decode] understand.
func Exchange[T any](ctx context.Context, tape Tape, kind, name string, request any, ask func(context.Context) (T, error)) (T, error) {
	if tape == nil {
		return ask(ctx)
	}
	var result T
	asked, err := value.Of(request)
	if err != nil {
		return result, Errorf(Internal, "encoding the request to %s: %w", name, err)
	}
	var failed error
	isFresh := false
	answer, err := tape.Exchange(ctx, kind, name, asked, func(ctx context.Context) (value.Value, error) {
		isFresh = true
		result, failed = ask(ctx)
		return encodeAnswer(ctx, name, result, failed)
	})
	switch {
	case isFresh && failed != nil:
		return result, failed
	case err != nil || isFresh:
		return result, err
	}
	return decodeAnswer[T](ctx, name, answer)
}

// maxTaped bounds an answer that is recorded, in bytes.
const maxTaped = 1 << 20

// encodeAnswer returns the recorded form of an answer: {result} or {error}. The error is one that is not recorded.
func encodeAnswer(ctx context.Context, name string, result any, failed error) (value.Value, error) {
	if failed != nil {
		e := newTapedError(ctx, failed)
		if e == nil {
			return value.Value{}, failed
		}
		return value.OfMap(value.Pairs("error", value.Must(e))), nil
	}
	v, err := value.Of(result)
	if err != nil {
		return value.Value{}, Errorf(Internal, "encoding the answer of %s: %w", name, err)
	}
	if size := len(v.AppendJSON(nil)); size > maxTaped {
		tooLarge := Errorf(Provider, "the answer had %d bytes, and a recording keeps %d at most", size, maxTaped)
		return value.OfMap(value.Pairs("error", value.Must(newTapedError(ctx, tooLarge)))), nil
	}
	return value.OfMap(value.Pairs("result", v)), nil
}

func decodeAnswer[T any](ctx context.Context, name string, answer value.Value) (result T, err error) {
	if failed, ok := answer.Get("error"); ok {
		var e tapedError
		if err := value.Decode(failed, &e); err != nil {
			return result, Errorf(Invalid, "the recorded error of %s: %w", name, err)
		}
		return result, e.play(ctx)
	}
	v, ok := answer.Get("result")
	if !ok {
		return result, Errorf(Invalid, "the recorded answer of %s has neither a result nor an error", name).
			WithHint("record it again")
	}
	if err := value.Decode(v, &result); err != nil {
		return result, Errorf(Invalid, "the recorded answer of %s: %w", name, err)
	}
	return result, nil
}

// tapedError is the recorded form of an error: with everything that decides whether a step is tried again, and the
// text for people.
type tapedError struct {
	Kind      Kind   `json:"kind"`
	Message   string `json:"message"`
	MessageZh string `json:"message_zh,omitempty"`
	Hint      string `json:"hint,omitempty"`
	HintZh    string `json:"hint_zh,omitempty"`
	// Server is set if a server answered with a status, or was not reached.
	Server *tapedServerError `json:"server,omitempty"`
	// IsOverdue is set if the time of the step was over before there was an answer: a replay waits for that.
	IsOverdue bool `json:"overdue,omitempty"`
}

// tapedServerError is the recorded form of an [llm.Error].
type tapedServerError struct {
	Status       int   `json:"status,omitempty"`
	Temporary    bool  `json:"temporary,omitempty"`
	Unsent       bool  `json:"unsent,omitempty"`
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
}

// newTapedError returns the recorded form of an error; nil if the run was stopped, or waits for people: that is
// not an answer from outside.
func newTapedError(ctx context.Context, err error) *tapedError {
	isOverdue := errors.Is(ctx.Err(), context.DeadlineExceeded)
	isStopped := ctx.Err() != nil && !isOverdue
	if isStopped || errors.Is(err, ErrWaiting) {
		return nil
	}
	message := wording.OfError(err)
	e := &tapedError{Kind: KindOf(err), Message: message.En, Hint: HintIn(err, "en"), IsOverdue: isOverdue}
	if message.Zh != message.En {
		e.MessageZh = message.Zh
	}
	if hint := HintIn(err, "zh"); hint != e.Hint {
		e.HintZh = hint
	}
	var server *llm.Error
	if errors.As(err, &server) {
		e.Server = &tapedServerError{server.Status, server.Temporary, server.Unsent, server.RetryAfter.Milliseconds()}
	}
	return e
}

// play returns the error again.
func (e *tapedError) play(ctx context.Context) error {
	if e.IsOverdue {
		if _, has := ctx.Deadline(); has {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return context.DeadlineExceeded
	}
	zh := e.MessageZh
	if zh == "" {
		zh = e.Message
	}
	played := &playedError{message: wording.Text{En: e.Message, Zh: zh}}
	if s := e.Server; s != nil {
		played.server = &llm.Error{Status: s.Status, Temporary: s.Temporary, Unsent: s.Unsent, RetryAfter: time.Duration(s.RetryAfterMS) * time.Millisecond}
	}
	return (&Error{Kind: e.Kind, Err: played}).WithHint("%s", wording.Text{En: e.Hint, Zh: cmp.Or(e.HintZh, e.Hint)})
}

// playedError is an error of a recording.
type playedError struct {
	message wording.Text
	server  *llm.Error // nil if no server has answered with it
}

func (e *playedError) Error() string             { return e.message.En }
func (e *playedError) In(language string) string { return e.message.In(language) }

// Unwrap returns the error that decides about another try.
func (e *playedError) Unwrap() error {
	if e.server == nil {
		return nil
	}
	return e.server
}
