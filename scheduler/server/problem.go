package server

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/folder"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/trigger"
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

	chineseDetail, chineseHint string
}

// Fault is one of the things that are wrong.
type Fault struct {
	Pointer string `json:"pointer,omitempty" doc:"The JSON pointer of the place in the request."`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Words   string `json:"words,omitempty" doc:"Why an answer does not fit, for the person who gave it, in the language of the flow."`
	File    string `json:"file,omitempty" doc:"The file of the place, where it is in a flow."`
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`

	chineseMessage, chineseHint string
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
func newProblem(status int, kind string, detail, hint wording.Text) *Problem {
	return &Problem{
		Type: "urn:scheduler:" + kind, Title: http.StatusText(status), Status: status, Kind: kind, Detail: detail.En, Hint: hint.En, header: http.Header{},
		chineseDetail: detail.Zh, chineseHint: hint.Zh,
	}
}

// maxDetail bounds the detail of a problem, in characters: it may list all that is wrong, as Errors does with its places.
const maxDetail = 8 << 10

// in returns the problem with its texts in a language, as far as they fit an answer.
func (p *Problem) in(language string) *Problem {
	whole := *p
	whole.Title = wording.RecognizeOr(p.Title).In(language)
	whole.Detail = value.Truncate(wording.Text{En: p.Detail, Zh: p.chineseDetail}.In(language), maxDetail)
	whole.Hint = wording.Text{En: p.Hint, Zh: p.chineseHint}.In(language)
	whole.Errors = slices.Clone(p.Errors[:min(len(p.Errors), maxFaults)])
	for i := range whole.Errors {
		f := &whole.Errors[i]
		f.Message = wording.Text{En: f.Message, Zh: f.chineseMessage}.In(language)
		f.Hint = wording.Text{En: f.Hint, Zh: f.chineseHint}.In(language)
	}
	return &whole
}

// without returns the problem without the paths of folders.
func (p *Problem) without(folders *folder.Hider) *Problem {
	whole := *p
	whole.Detail, whole.Hint = folders.Hide(p.Detail), folders.Hide(p.Hint)
	whole.Errors = slices.Clone(p.Errors)
	for i := range whole.Errors {
		f := &whole.Errors[i]
		f.Message, f.Hint, f.Words, f.File = folders.Hide(f.Message), folders.Hide(f.Hint), folders.Hide(f.Words), folders.Hide(f.File)
	}
	return &whole
}

// newFault returns a fault at a place.
func newFault(pointer string, message, hint wording.Text) Fault {
	return Fault{Pointer: pointer, Message: message.En, Hint: hint.En, chineseMessage: message.Zh, chineseHint: hint.Zh}
}

// hintOf returns the hint of an error.
func hintOf(err error) wording.Text {
	return wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")}
}

// retryAfter sets the time after which to try again, in seconds.
func (p *Problem) retryAfter(seconds int) *Problem {
	p.header.Set("Retry-After", strconv.Itoa(seconds))
	return p
}

// notFound is the answer for a thing that does not exist, or that the caller may not see.
func notFound(format, id string) *Problem {
	return newProblem(http.StatusNotFound, string(calls.NotFound), wording.Say(format, id), wording.Text{})
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
	case errors.Is(err, calls.ErrNoRoom):
		return newProblem(http.StatusServiceUnavailable, string(calls.Internal), wording.Say("the disk of the server is full"), wording.Say("free some space on it, then try again")).retryAfter(30)
	case errors.Is(err, dispatch.ErrQueueFull):
		return newProblem(http.StatusTooManyRequests, "busy", wording.OfError(err), wording.Say("try again later, or raise serve.max_queued")).retryAfter(5)
	case errors.Is(err, dispatch.ErrNoSlot):
		return newProblem(http.StatusServiceUnavailable, "busy", wording.OfError(err), wording.Say("try again later, or raise serve.max_runs")).retryAfter(5)
	case errors.Is(err, service.ErrManyTexts):
		return newProblem(http.StatusServiceUnavailable, "busy", wording.OfError(err), wording.Say("try again later")).retryAfter(5)
	case errors.Is(err, dispatch.ErrStopping):
		return newProblem(http.StatusServiceUnavailable, "stopping", wording.OfError(err), wording.Text{}).retryAfter(5)
	case errors.Is(err, service.ErrMachinesAway):
		return newProblem(http.StatusServiceUnavailable, string(calls.Internal), wording.OfError(err), wording.Say("try again later")).retryAfter(5)
	case errors.Is(err, dispatch.ErrAtWork):
		return newProblem(http.StatusConflict, "held", wording.OfError(err), wording.Say("wait until it is over or waits for values"))
	case errors.Is(err, service.ErrTestsRunning):
		return newProblem(http.StatusConflict, "held", wording.OfError(err), wording.Say("wait until they have ended")).retryAfter(1)
	case errors.Is(err, service.ErrNoJournal):
		return newProblem(http.StatusNotFound, string(calls.NotFound), wording.Say("there are no runs yet"), wording.Text{})
	case errors.Is(err, trigger.ErrUnknownEncoding):
		return newProblem(http.StatusUnsupportedMediaType, string(calls.Invalid), wording.OfError(err), hintOf(err))
	case errors.Is(err, trigger.ErrTooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, string(calls.Invalid), wording.OfError(err), wording.Text{})
	case errors.As(err, &held):
		p := newProblem(http.StatusConflict, "held", wording.OfError(err), wording.Text{})
		p.Run = held.Run
		return p
	case errors.As(err, &waiting):
		p := newProblem(http.StatusConflict, string(calls.Missing), wording.OfError(err), wording.Say("POST its answers to /api/v1/runs/%s/answers", waiting.Run))
		p.Run = waiting.Run
		return p
	}
	return nil
}

// kindProblem returns the problem of an error by its kind.
func kindProblem(err error) *Problem {
	kind, detail, hint := calls.KindOf(err), wording.OfError(err), hintOf(err)
	var faults []Fault
	var failure *scheduler.Failure
	if errors.As(err, &failure) { // its own text may hold secrets
		kind, detail, hint = failure.Info.Kind, wording.Of(failure.Info.Message), wording.Of(failure.Info.Hint)
		faults = append(faults, faultAt(failure.Info.Position, detail))
	}
	p := newProblem(statusOf(kind), string(kind), detail, hint)
	var problems flow.Problems
	if errors.As(err, &problems) {
		faults = flowFaults(problems)
	}
	if bare, ok := err.(flow.Problems); ok { //nolint:errorlint // an error around them says more
		p.Detail, p.chineseDetail = bare.ForReader("en").Error(), bare.ForReader("zh").Error()
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
	case calls.Denied:
		return http.StatusForbidden
	case calls.Internal:
	}
	return http.StatusInternalServerError
}

// faultAt returns a fault at a position file:line:col.
func faultAt(position string, message wording.Text) Fault {
	f := newFault("", message, wording.Text{})
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
	found := problems.Errors()
	english := found.ForReader("en")
	for i, p := range found.ForReader("zh") {
		f := newFault("", wording.Text{En: english[i].Message, Zh: p.Message}, wording.Text{En: english[i].Hint, Zh: p.Hint})
		f.File, f.Line, f.Col = p.Pos.File, p.Pos.Line, p.Pos.Col
		all = append(all, f)
	}
	return all
}

// schemaFaults returns the values that do not fit a schema, below a pointer.
func schemaFaults(below string, problems schema.Problems) (all []Fault) {
	for _, p := range problems {
		message, hint := p.Text()
		all = append(all, newFault(below+p.Pointer, message, hint))
	}
	return all
}

// brokenFlow is the answer if a flow has errors.
func brokenFlow(problems flow.Problems) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), wording.Say("the flow has errors"), wording.Say("correct the flow at these places"))
	p.Errors = flowFaults(problems)
	return p
}

// quoteText returns a text of a client for a message.
func quoteText(text string) string { return strconv.Quote(value.Truncate(text, 80)) }
