package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// DefaultTimeout is the longest silence of a server where the settings do not say.
const DefaultTimeout = 2 * time.Minute

// Limits of what a server may send.
const (
	maxBody = 64 << 20
	// MaxErrorBody is how much of an error's body is read.
	MaxErrorBody = 64 << 10
)

// Options are how a server is asked. [NewClient] copies them.
type Options struct {
	// Name is the provider's name in messages.
	Name string
	// Timeout is the longest silence: before the answer begins, and within it. 0 is
	// [DefaultTimeout].
	Timeout time.Duration
	// MaxRetries is how often a request is tried again that failed before its answer
	// began; 0 for callers that retry by themselves.
	MaxRetries int
	// RetryWait is the wait before the first retry, where the server asks for none;
	// it doubles each time. 0 is [DefaultRetryWait].
	RetryWait time.Duration
	// Transport makes the round trips; nil is [http.DefaultTransport].
	Transport http.RoundTripper
	// Prices are those of the server's models.
	Prices llm.Prices
	// Secrets are the texts that no message may show.
	Secrets []string
	// Hint returns what a user can do about a refusal, by its status, code and
	// message; "" where the protocol has nothing to add to the general hints. May be nil.
	Hint func(status int, code, message string) string
}

// Client asks one server: it follows redirects only within the host, gives up on a
// server that is silent for too long, bounds what is read, tries again where that can
// help, and turns what fails into an [llm.Error] without secrets. A provider makes one
// with [NewClient] and keeps it; it is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
	secrets []string
	mask    *strings.Replacer
}

// NewClient returns a client. Nothing is sent yet.
func NewClient(options Options) *Client {
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	if options.RetryWait == 0 {
		options.RetryWait = DefaultRetryWait
	}
	replacer, _ := secret.Replacer(options.Secrets, mask)
	return &Client{
		options: options,
		http:    &http.Client{Transport: options.Transport, CheckRedirect: checkRedirect},
		secrets: options.Secrets,
		mask:    replacer,
	}
}

// maxRedirects bounds the detours within one host.
const maxRedirects = 3

// checkRedirect follows a redirect only to the host that the key was meant for,
// and only one that keeps the request's body.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	sameServer := req.URL.Host == first.Host && req.URL.Scheme == first.Scheme
	if !sameServer || req.Method != http.MethodPost || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// ErrStopped is what an exchange returns whose reader has enough of the answer.
var ErrStopped = wording.Errorf("the reader has left")

// Do sends one request. The error of a response whose status is not 2xx is an
// [*llm.Error].
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

// Post returns an [Client.Exchange] of one request with a JSON body, whose answer read reads.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body []byte, read func(io.Reader) error) *llm.Error {
	return c.Exchange(ctx, func(ctx context.Context, do Do) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/json")
		resp, err := do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return read(resp.Body)
	})
}

var (
	errSilence = wording.Errorf("the server fell silent")
	// ErrTooLong is what reading an answer returns that is longer than any real one.
	ErrTooLong = wording.Errorf("the server's answer is too long")
)

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
