package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ErrStopped is returned by an exchange after its reader stopped reading the answer.
var ErrStopped = wording.Errorf("the reader has left")

// Do sends one request. The error of a response with a status other than 2xx is an [*llm.Error].
type Do func(req *http.Request) (*http.Response, error)

// Exchange lets talk send one request through do and read its answer. The context that
// talk gets ends when the server is silent for too long. Exchange returns nil when talk
// does, or when talk returns [ErrStopped].
func (c *Client) Exchange(ctx context.Context, talk func(ctx context.Context, do Do) error) *llm.Error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.options.Timeout, func() { cancel(errSilence) })
	defer silence.Stop()
	err := talk(inner, func(req *http.Request) (*http.Response, error) {
		resp, err := c.http.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			defer resp.Body.Close()
			return nil, c.statusError(resp)
		}
		resp.Body = &watchedBody{ReadCloser: resp.Body, silence: silence, timeout: c.options.Timeout}
		return resp, nil
	})
	if err == nil || errors.Is(err, ErrStopped) {
		return nil
	}
	return c.exchangeError(ctx, inner, err)
}

// Post returns an [Client.Exchange] of one request with a JSON body; read reads the answer.
func (c *Client) Post(ctx context.Context, url string, body []byte, read func(io.Reader) error) *llm.Error {
	return c.Exchange(ctx, func(ctx context.Context, do Do) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = c.header.Clone()
		req.Header.Set("Content-Type", "application/json")
		resp, err := do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return read(resp.Body)
	})
}

// watchedBody puts off the silence timer whenever something arrives, and bounds the
// whole.
type watchedBody struct {
	io.ReadCloser
	silence *time.Timer
	timeout time.Duration
	n       int
}

// Read reads on.
func (w *watchedBody) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	w.silence.Reset(w.timeout)
	w.n += n
	if w.n > maxBody {
		return 0, wording.Errorf("%w: more than %d MB", ErrTooLong, maxBody>>20)
	}
	return n, err
}

// maxBody is how much of an answer is read.
const maxBody = 64 << 20
