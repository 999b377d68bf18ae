package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/charset"
	"github.com/callnode/scheduler/llm/value/wording"
)

// sendError classifies an error of sending. It does not show the URL, which may hold secrets.
func sendError(ctx context.Context, what string, timeout time.Duration, err error) error {
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

// readBody reads a body of at most limit bytes.
func readBody(body io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if err != nil {
		return nil, wording.Errorf("reading the answer: %w", err)
	}
	if len(data) > limit {
		return nil, calls.Errorf(calls.Budget, "the answer has more than %d bytes", limit).WithHint("raise max_bytes")
	}
	return data, nil
}

// parseBody reads a body: JSON if the content type says so, else text. Either may be in any charset.
func parseBody(data []byte, header http.Header) (value.Value, error) {
	if len(data) == 0 {
		return value.Value{}, nil
	}
	if packed := header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return value.Value{}, calls.Errorf(calls.Provider, "the answer is compressed as %q, which is not undone here", packed).
			WithHint("leave out the header Accept-Encoding: what the program asks for by itself, it can read")
	}
	media, named := charset.SplitContentType(header.Get("Content-Type"))
	if named == "" && !utf8.Valid(data) {
		named = ownCharset(data)
	}
	data, err := charset.Decode(data, named)
	if err != nil {
		return value.Value{}, wording.Errorf("reading the answer: %w", err)
	}
	if !utf8.Valid(data) {
		return value.Value{}, wording.Errorf("the answer (%q) is not text", media)
	}
	if media == typeJSON || media == "text/json" || strings.HasSuffix(media, "+json") {
		v, err := value.ParseJSON(data)
		if err != nil {
			return value.Value{}, wording.Errorf("the answer is said to be JSON, but %w", err)
		}
		return v, nil
	}
	return value.OfString(string(data)), nil
}

// saysCharset matches the declaration of a charset at the beginning of HTML and XML.
var saysCharset = regexp.MustCompile(`(?i)^[^<]{0,64}<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)|<meta\s[^>]*charset\s*=\s*["']?\s*([\w.:-]+)`)

// ownCharset returns the charset that a document names itself; "" if it names none.
func ownCharset(data []byte) string {
	const head = 1024 // browsers look for it there
	m := saysCharset.FindSubmatch(data[:min(len(data), head)])
	if m == nil {
		return ""
	}
	return string(append(m[1], m[2]...))
}
