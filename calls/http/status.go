package http

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/secret"
)

// temporary are the statuses after which the same request may succeed later.
var temporary = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// maxBodyLine is how much of an error's body the message shows, in characters.
const maxBodyLine = 200

// badStatus returns the error of a status that is not accepted. body is the part of the answer that could be read.
func badStatus(ctx context.Context, what string, resp *http.Response, body []byte) error {
	message := fmt.Sprintf("%s: HTTP %d %s", what, resp.StatusCode, http.StatusText(resp.StatusCode))
	if line := firstLine(ctx, body, resp.Header); line != "" {
		message += ": " + line
	}
	cause := &llm.Error{
		Status: resp.StatusCode, Temporary: slices.Contains(temporary, resp.StatusCode),
		RetryAfter: llm.RetryAfter(resp.Header, time.Now()),
	}
	return calls.Errorf(calls.Provider, "%w", &statusError{strings.TrimSpace(message), cause}).
		WithHint("accept_status: [%d] makes it an answer like any other", resp.StatusCode)
}

// statusError is the error of a status, wrapped around the error that decides whether and when to retry.
type statusError struct {
	message string
	cause   *llm.Error
}

func (e *statusError) Error() string { return e.message }

// Unwrap returns the cause, by which the engine decides about a retry.
func (e *statusError) Unwrap() error { return e.cause }

// firstLine returns the first line of a body that has text, as people may see it.
func firstLine(ctx context.Context, body []byte, header http.Header) string {
	v, err := parseBody(body, header)
	text, isText := v.Str()
	if err == nil && !isText && !v.IsNull() {
		text = v.JSON()
	}
	if err != nil {
		text = strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return secret.FromContext(ctx).FirstLine(text, maxBodyLine)
}
