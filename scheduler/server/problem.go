package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// Problem is an error as clients get it: application/problem+json, RFC 9457. The handlers
// make one of every error.
type Problem struct {
	Type     string `json:"type" doc:"urn:scheduler: and the kind."`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty" doc:"What is wrong with this request."`
	Instance string `json:"instance,omitempty" doc:"The id of the request, as in the log."`
	Kind     string `json:"kind" doc:"What sort of error it is, for machines."`
	Hint     string `json:"hint,omitempty" doc:"What to do next."`
	// Errors are all that is wrong, each with its place.
	Errors []Fault `json:"errors,omitempty" doc:"All that is wrong, each with its place."`
	Run    string  `json:"run,omitempty" doc:"The run that the error is about."`

	header http.Header
	cause  error // for the log
}

// Fault is one of the things that are wrong.
type Fault struct {
	Pointer string `json:"pointer,omitempty" doc:"The JSON pointer of the place in the request."`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	File    string `json:"file,omitempty" doc:"The file of the place, where it is in a flow."`
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
}

var (
	_ huma.StatusError       = (*Problem)(nil)
	_ huma.ContentTypeFilter = (*Problem)(nil)
	_ huma.HeadersError      = (*Problem)(nil)
)

// Error returns the detail.
func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders returns headers such as Retry-After.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType returns the media type of problems.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// newProblem returns a problem of a kind.
func newProblem(status int, kind, detail, hint string) *Problem {
	return &Problem{
		Type: "urn:scheduler:" + kind, Title: http.StatusText(status), Status: status, Kind: kind, Detail: detail, Hint: hint, header: http.Header{},
	}
}

// retryAfter tells when to try again, in seconds.
func (p *Problem) retryAfter(seconds int) *Problem {
	p.header.Set("Retry-After", strconv.Itoa(seconds))
	return p
}

// notFound is the answer for what does not exist, or does not for the caller.
func notFound(what, id string) *Problem {
	return newProblem(http.StatusNotFound, string(calls.NotFound), "there is no "+what+" "+strconv.Quote(id), "")
}

// problemOf returns an error as a problem.
func problemOf(err error) *Problem {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	p := sentinelProblem(err)
	if p == nil {
		p = kindProblem(err)
	}
	p.cause = err
	return p
}

// sentinelProblem returns the problem of errors that mean more than their kind; nil for others.
func sentinelProblem(err error) *Problem {
	var held *journal.HeldError
	var waiting *scheduler.Waiting
	switch {
	case errors.Is(err, service.ErrQueueFull):
		return newProblem(http.StatusTooManyRequests, "busy", err.Error(), "try again later, or raise serve.max_queued").retryAfter(5)
	case errors.Is(err, service.ErrNoPlace):
		return newProblem(http.StatusServiceUnavailable, "busy", err.Error(), "try again later, or raise serve.max_runs").retryAfter(5)
	case errors.Is(err, service.ErrStopping):
		return newProblem(http.StatusServiceUnavailable, "stopping", err.Error(), "").retryAfter(5)
	case errors.Is(err, service.ErrAtWork):
		return newProblem(http.StatusConflict, "held", err.Error(), "wait until it is over or waits for values")
	case errors.Is(err, service.ErrNoJournal):
		return newProblem(http.StatusNotFound, string(calls.NotFound), "there are no runs yet", "")
	case errors.As(err, &held):
		p := newProblem(http.StatusConflict, "held", err.Error(), "")
		p.Run = held.Run
		return p
	case errors.As(err, &waiting):
		p := newProblem(http.StatusConflict, string(calls.Missing), err.Error(), "POST its answers to /api/v1/runs/"+waiting.Run+"/answers")
		p.Run = waiting.Run
		return p
	}
	return nil
}

// kindProblem returns the problem of an error by its kind.
func kindProblem(err error) *Problem {
	kind, detail, hint := calls.KindOf(err), err.Error(), calls.HintOf(err)
	var faults []Fault
	var failure *scheduler.Failure
	if errors.As(err, &failure) { // its own text may hold secrets
		kind, detail, hint = failure.Info.Kind, failure.Info.Message, failure.Info.Hint
		faults = append(faults, faultAt(failure.Info.Position, detail))
	}
	p := newProblem(statusOf(kind), string(kind), detail, hint)
	var problems flow.Problems
	if errors.As(err, &problems) {
		faults = flowFaults(problems)
	}
	var misfits schema.Problems
	if errors.As(err, &misfits) {
		faults = schemaFaults("", misfits)
	}
	for _, f := range faults {
		if f.File != "" || f.Pointer != "" || len(faults) > 1 {
			p.Errors = append(p.Errors, f)
		}
	}
	return p
}

// statusOf returns the status of an error's kind.
func statusOf(kind calls.Kind) int {
	switch kind {
	case calls.NotFound:
		return http.StatusNotFound
	case calls.Invalid, calls.Missing, calls.Budget:
		return http.StatusUnprocessableEntity
	case calls.Plugin, calls.Provider:
		return http.StatusBadGateway
	case calls.Timeout:
		return http.StatusGatewayTimeout
	case calls.Canceled:
		return http.StatusConflict
	case calls.Internal:
	}
	return http.StatusInternalServerError
}

// faultAt returns a fault at a position file:line:col.
func faultAt(position, message string) Fault {
	f := Fault{Message: message}
	rest, col, ok := cutLastColon(position)
	file, line, ok2 := cutLastColon(rest)
	if ok && ok2 {
		f.File, f.Line, f.Col = file, line, col
	}
	return f
}

func cutLastColon(s string) (before string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// flowFaults returns the errors of a flow.
func flowFaults(problems flow.Problems) (all []Fault) {
	for _, p := range problems.Errors() {
		all = append(all, Fault{Message: p.Message, Hint: p.Hint, File: p.Pos.File, Line: p.Pos.Line, Col: p.Pos.Col})
	}
	return all
}

// schemaFaults returns what does not fit a schema, below a pointer.
func schemaFaults(below string, problems schema.Problems) (all []Fault) {
	for _, p := range problems {
		all = append(all, Fault{Pointer: below + p.Pointer, Message: p.Message, Hint: p.Hint})
	}
	return all
}

// brokenFlow is the answer where a flow has errors.
func brokenFlow(problems flow.Problems) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), "the flow has errors", "correct the flow at these places")
	p.Errors = flowFaults(problems)
	return p
}

// quoteText returns a text of a client for a message.
func quoteText(text string) string { return strconv.Quote(value.Truncate(text, 80)) }
