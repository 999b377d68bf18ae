package openai

import (
	"errors"
	"net/http"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// Error is an error in the form that clients of the API read. [NewError] makes one for one answer.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	status int
	text   wording.Text
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// maxMessage bounds the message of an error, in characters: it may list all that is wrong.
const maxMessage = 8 << 10

// errorFor returns any error as the client reads it, in its language.
func (a *API) errorFor(err error, language string) *Error {
	whole := *errorOf(err)
	whole.Message = value.Truncate(a.options.HideFolders(whole.text.In(language)), maxMessage)
	return &whole
}

// NewError returns an error with a status; its message is in English until it is written.
// param and code are "" for none.
func NewError(status int, message wording.Text, param, code string) *Error {
	e := &Error{Message: message.En, Type: "server_error", status: status, text: message}
	switch {
	case status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case status < http.StatusInternalServerError:
		e.Type = "invalid_request_error"
	}
	for _, one := range []struct {
		text string
		to   **string
	}{{param, &e.Param}, {code, &e.Code}} {
		if one.text != "" {
			*one.to = &one.text
		}
	}
	return e
}

const (
	// codeBusy is the code of errors that are over after a while.
	codeBusy = "busy"
	// codeHeld is the code of the error of a run that another request or process is continuing.
	codeHeld = "held"
)

// isBusy reports whether the error is over after a while.
func (e *Error) isBusy() bool { return e.Code != nil && *e.Code == codeBusy }

// asFinal returns the error of a run that failed, with a status after which clients do not ask again by themselves: each
// repeat of the request would begin another run, which is paid for again. For example, the AI SDK repeats a request after
// 408, 409, 429 and every 5xx, whatever X-Should-Retry says. A run that another request is continuing stays 409: a
// repeat finds that run.
func (e *Error) asFinal() *Error {
	isHeld := e.Code != nil && *e.Code == codeHeld
	switch {
	case isHeld:
	case e.status >= http.StatusInternalServerError, e.status == http.StatusRequestTimeout, e.status == http.StatusConflict, e.status == http.StatusTooManyRequests:
		final := *e
		final.status = http.StatusUnprocessableEntity
		return &final
	}
	return e
}

// Write answers with the error.
func (e *Error) Write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if e.isBusy() && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "5")
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(value.OfMap(value.Pairs("error", value.Must(e))).AppendJSON(nil)) // the client may have gone
}

// errorOf returns any error as one of the API.
func errorOf(err error) *Error {
	var known *Error
	var failure *scheduler.Failure
	var held *journal.HeldError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, dispatch.ErrNoSlot), errors.Is(err, dispatch.ErrStopping), errors.Is(err, service.ErrMachinesAway):
		return NewError(http.StatusServiceUnavailable, wording.OfError(err), "", codeBusy)
	case errors.Is(err, calls.ErrNoRoom):
		return NewError(http.StatusServiceUnavailable, wording.Say("the disk of the server is full"), "", codeBusy)
	case errors.Is(err, dispatch.ErrQueueFull):
		return NewError(http.StatusTooManyRequests, wording.OfError(err), "", codeBusy)
	case errors.Is(err, dispatch.ErrAtWork), errors.As(err, &held):
		return NewError(http.StatusConflict, wording.OfError(err), "", codeHeld)
	case errors.As(err, &failure): // its own text may hold secrets
		return kindError(failure.Info.Kind, wording.Of(failure.Info.Message))
	}
	return kindError(calls.KindOf(err), wording.OfError(err))
}

// kindError returns the error of a kind.
func kindError(kind calls.Kind, message wording.Text) *Error {
	status := http.StatusInternalServerError
	switch kind {
	case calls.Invalid, calls.Missing, calls.Budget:
		status = http.StatusBadRequest
	case calls.NotFound:
		status = http.StatusNotFound
	case calls.Provider, calls.Plugin:
		status = http.StatusBadGateway
	case calls.Timeout:
		status = http.StatusGatewayTimeout
	case calls.Canceled:
		status = http.StatusServiceUnavailable
	case calls.Denied:
		status = http.StatusForbidden
	case calls.Internal:
	}
	return NewError(status, message, "", string(kind))
}
