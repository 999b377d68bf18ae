package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// failure classifies what went wrong on the way. The URL, which may hold secrets, is
// not told.
func failure(ctx context.Context, what string, timeout time.Duration, err error) error {
	var own *calls.Error
	var located *url.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own):
		return calls.Errorf(own.Kind, "%s: %w", what, own)
	case errors.Is(err, context.DeadlineExceeded):
		return calls.Errorf(calls.Timeout, "%s: no complete answer within %s", what, timeout).WithHint("raise timeout, or let the step retry")
	case errors.As(err, &located):
		err = located.Err
	}
	return calls.Errorf(calls.Provider, "%s: %w", what, err)
}

// read reads a body of at most limit bytes.
func read(body io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(data) > limit {
		return nil, calls.Errorf(calls.Budget, "the answer has more than %d bytes", limit).WithHint("raise max_bytes")
	}
	return data, nil
}

// parse reads a body: JSON where the content type says so, else text.
func parse(data []byte, contentType string) (value.Value, error) {
	if len(data) == 0 {
		return value.Value{}, nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, params = "", nil
	}
	if media == typeJSON || strings.HasSuffix(media, "+json") {
		v, err := value.ParseJSON(data)
		if err != nil {
			return value.Value{}, fmt.Errorf("the answer is said to be JSON, but %w", err)
		}
		return v, nil
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		encoding, err := htmlindex.Get(charset)
		if err != nil {
			return value.Value{}, fmt.Errorf("the answer is written in the unknown charset %q", charset)
		}
		if data, err = encoding.NewDecoder().Bytes(data); err != nil {
			return value.Value{}, fmt.Errorf("reading the answer as %s: %w", charset, err)
		}
	}
	if !utf8.Valid(data) {
		return value.Value{}, fmt.Errorf("the answer (%q) is no text", media)
	}
	return value.OfString(string(data)), nil
}
