package calls

import (
	"context"
	"errors"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Kind is the kind of an error; it decides whether a step is tried again, and programs read it. For example, a
// step is tried again after Timeout, but not after Invalid.
type Kind string

// The kinds of errors. Only Provider, Plugin and Timeout errors are retried.
const (
	Invalid  Kind = "invalid"  // the caller's values are wrong
	NotFound Kind = "notfound" // a named thing does not exist
	Missing  Kind = "missing"  // required parameters are not known
	Plugin   Kind = "plugin"   // a plugin failed
	Provider Kind = "provider" // a model provider failed
	Budget   Kind = "budget"   // a limit of tokens or steps is used up
	Timeout  Kind = "timeout"  // the time allowed is over
	Canceled Kind = "canceled" // the run was stopped
	Denied   Kind = "denied"   // a person, or the time for a decision, denied it; or the caller may not decide
	Internal Kind = "internal" // a fault of the program or of a call, for example a panic
)

// Name returns the kind in words.
func (k Kind) Name() wording.Text {
	zh := map[Kind]string{
		Invalid: "无效", NotFound: "未找到", Missing: "缺少值", Plugin: "插件出错", Provider: "服务商出错", Budget: "额度用尽", Timeout: "超时", Canceled: "已取消", Denied: "已拒绝", Internal: "内部错误",
	}[k]
	if zh == "" {
		return wording.Same(string(k))
	}
	return wording.Text{En: string(k), Zh: zh}
}

// ErrWaiting is in the error of [Flows] and [Calls] when the flow or call that they ran waits for values from
// people. The step around it waits too, so a call that gets it should end and pass it on.
var ErrWaiting = wording.Errorf("values are waited for")

// Error is the one error type of calls. [Errorf] makes it; the engine adds its place. Its maker may add a hint;
// after that it does not change.
type Error struct {
	Kind Kind
	// Hint is the remedy; "" if there is none.
	Hint string
	Err  error

	hintFormat string // "" if Hint was set by itself
	hintArgs   []any
}

// ErrNoRoom is in the chain of the error of a store whose disk is full: it works again once there is room.
var ErrNoRoom = wording.Errorf("the disk is full")

// Error returns the text of the error below; the hint is printed apart.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error below.
func (e *Error) Unwrap() error { return e.Err }

// In returns the text of the error below in a language.
func (e *Error) In(language string) string {
	return wording.OfError(e.Err).In(language)
}

// Errorf makes an [*Error]. The format works as for [fmt.Errorf], with %w; arguments that are texts are inserted
// in the language of the reader.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: wording.Errorf(format, args...)}
}

// WithHint returns the error with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	return &Error{Kind: e.Kind, Hint: wording.SayIn("en", format, args...), Err: e.Err, hintFormat: format, hintArgs: args}
}

// hintIn returns the hint in a language.
func (e *Error) hintIn(language string) string {
	if e.hintFormat != "" {
		if hint := wording.SayIn(language, e.hintFormat, e.hintArgs...); hint != e.Hint {
			return hint
		}
	}
	return wording.Of(e.Hint).In(language) // such as the name that was probably meant, as "%s"
}

// MessageIn returns the message of any error in a language, as far as it is known there.
func MessageIn(err error, language string) string { return wording.OfError(err).In(language) }

// HintIn is [HintOf] in a language.
func HintIn(err error, language string) string {
	for below := err; below != nil; below = errors.Unwrap(below) {
		if e, ok := below.(*Error); ok && e.Hint != "" { //nolint:errorlint // each link is looked at by itself
			return e.hintIn(language)
		}
	}
	return wording.Of(HintOf(err)).In(language)
}

// ProblemOf makes the problem of a parameter, by its JSON pointer, of an error and its hint.
func ProblemOf(pointer string, err error) schema.Problem {
	p := schema.Problem{Pointer: pointer}.WithMessage("%v", err)
	if hint := HintOf(err); hint != "" {
		p = p.WithHint("%s", wording.Text{En: hint, Zh: HintIn(err, "zh")})
	}
	return p
}

// KindOf classifies any error: the kind of the outermost [*Error] in its chain, a context's end as Timeout or
// Canceled, a provider's as Provider, else Internal.
func KindOf(err error) Kind {
	var e *Error
	var p *llm.Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.As(err, &p):
		return Provider
	}
	return Internal
}

// HintOf returns the hint of the outermost error in the chain that has one.
func HintOf(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) { //nolint:errorlint // each link is looked at by itself
		case *Error:
			if e.Hint != "" {
				return e.Hint
			}
		case *llm.Error:
			if e.Hint != "" {
				return e.Hint
			}
		}
	}
	return ""
}
