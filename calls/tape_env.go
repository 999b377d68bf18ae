package calls

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/callnode/scheduler/plugins"
)

// UseTape sends all requests of a run's calls to the outside through a tape, except to models: their providers
// record themselves. Env is the run's.
func (e *Env) UseTape(tape Tape) {
	e.Tape = tape
	e.HTTP = tapedHTTP{e.HTTP, tape}
	e.Memory = tapedMemory{e.Memory, tape}
	e.Registry = e.Registry.withTape(tape)
}

// tapedHTTP records requests, or plays their answers.
type tapedHTTP struct {
	inner HTTP
	tape  Tape
}

// tapedHTTPRequest is the recorded form of a request.
type tapedHTTPRequest struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers,omitempty"`
	Body    string              `json:"body,omitempty"`
}

// tapedResponse is the recorded form of an answer. A body that is not text is in base64.
type tapedResponse struct {
	Status  int                 `json:"status"`
	Headers map[string][]string `json:"headers,omitempty"`
	Body    string              `json:"body,omitempty"`
	Base64  string              `json:"base64,omitempty"`
	// Broken is the error that reading the body ended with.
	Broken *tapedError `json:"broken,omitempty"`
}

// Do plays the answer of the request, or sends it.
func (h tapedHTTP) Do(req *http.Request) (*http.Response, error) {
	asked := tapedHTTPRequest{Method: req.Method, URL: req.URL.String(), Headers: req.Header}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close() // it was read to its end
		req.Body = io.NopCloser(bytes.NewReader(body))
		asked.Body = string(body)
		if !utf8.Valid(body) {
			asked.Body = base64.StdEncoding.EncodeToString(body)
		}
	}
	var live *http.Response
	name := req.Method + " " + req.URL.Host + req.URL.EscapedPath()
	played, err := Exchange(req.Context(), h.tape, TapedHTTP, name, asked, func(ctx context.Context) (tapedResponse, error) {
		resp, err := h.inner.Do(req) //nolint:bodyclose // readTaped gives it another body, which the caller closes
		if err != nil {
			return tapedResponse{}, unlocated(err)
		}
		live = resp
		return readTaped(ctx, resp), nil
	})
	switch {
	case err != nil && live != nil:
		_ = live.Body.Close() // the error that counts is the recording's
		return nil, err
	case err != nil:
		return nil, err
	case live != nil:
		return live, nil
	}
	return played.response(req.Context(), req)
}

// unlocated returns the error of a request without its URL, which may hold secrets, and with its kind.
func unlocated(err error) error {
	var located *url.Error
	if errors.As(err, new(*Error)) || errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &located) {
		return err
	}
	return Errorf(Provider, "%w", located.Err)
}

// readTaped reads the body of an answer, as far as it is recorded, and leaves the answer as if it had not been read.
func readTaped(ctx context.Context, resp *http.Response) tapedResponse {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxTaped+1))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = brokenReader{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), rest), resp.Body}
	taped := tapedResponse{Status: resp.StatusCode, Headers: resp.Header}
	if utf8.Valid(data) {
		taped.Body = string(data)
	} else {
		taped.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	if err != nil {
		taped.Broken = newTapedError(ctx, err)
	}
	return taped
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// response returns the recorded answer.
func (t *tapedResponse) response(ctx context.Context, req *http.Request) (*http.Response, error) {
	data := []byte(t.Body)
	if t.Base64 != "" {
		var err error
		data, err = base64.StdEncoding.DecodeString(t.Base64)
		if err != nil {
			return nil, Errorf(Invalid, "the recorded answer of %s has no base64: %w", req.URL.Host, err)
		}
	}
	body := io.Reader(bytes.NewReader(data))
	if t.Broken != nil {
		body = io.MultiReader(body, brokenReader{t.Broken.play(ctx)})
	}
	return &http.Response{
		StatusCode: t.Status, Status: http.StatusText(t.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header(t.Headers), Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}, nil
}

// tapedMemory records looks into the memory, or plays them.
type tapedMemory struct {
	Memory
	tape Tape
}

// tapedLook is a look into the memory.
type tapedLook struct {
	Scope Scope  `json:"scope"`
	Query string `json:"query,omitempty"`
	Limit int    `json:"limit"`
}

// Recent looks for the newest utterances; there are none without a scope.
func (m tapedMemory) Recent(ctx context.Context, scope Scope, limit int) ([]plugins.Turn, error) {
	if scope == (Scope{}) {
		return m.Memory.Recent(ctx, scope, limit)
	}
	return Exchange(ctx, m.tape, TapedRecall, "recent", tapedLook{Scope: scope, Limit: limit}, func(ctx context.Context) ([]plugins.Turn, error) {
		return m.Memory.Recent(ctx, scope, limit)
	})
}

// Retrieve looks for memories that matter; there are none without a scope.
func (m tapedMemory) Retrieve(ctx context.Context, scope Scope, query string, limit int) ([]plugins.Recalled, error) {
	if scope == (Scope{}) {
		return m.Memory.Retrieve(ctx, scope, query, limit)
	}
	return Exchange(ctx, m.tape, TapedRecall, "retrieve", tapedLook{scope, query, limit}, func(ctx context.Context) ([]plugins.Recalled, error) {
		return m.Memory.Retrieve(ctx, scope, query, limit)
	})
}
