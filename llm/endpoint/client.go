package endpoint

import (
	"net/http"
	"slices"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// DefaultTimeout is the longest silence of a server if the settings set none.
const DefaultTimeout = 2 * time.Minute

// MaxErrorBody is how much of an error's body is read.
const MaxErrorBody = 64 << 10

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
	// RetryWait is the wait before the first retry, if the server asks for none; it doubles each time. 0 is
	// [DefaultRetryWait].
	RetryWait time.Duration
	// Transport makes the round trips; nil is [http.DefaultTransport].
	Transport http.RoundTripper
	// Prices are the prices of the server's models.
	Prices llm.Prices
	// Secrets are the texts that no message may show.
	Secrets []string
	// Hint returns the remedy for a refusal, by its status, code and message; "" if the protocol has nothing to
	// add to the general hints. May be nil.
	Hint func(status int, code, message string) string
}

// Client asks one server: it follows redirects only within the host, gives up on a server that is silent for too
// long, bounds the length of answers, tries again if that can help, and turns failures into an [llm.Error] without
// secrets. A provider makes one with [NewClient] and keeps it; it is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
	header  http.Header // of every request
	secrets []string
	own     *secret.Set // of the same texts
}

// NewClient returns a client. Nothing is sent yet.
func NewClient(options Options) *Client {
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	if options.RetryWait == 0 {
		options.RetryWait = DefaultRetryWait
	}
	return &Client{
		options: options,
		http:    &http.Client{Transport: options.Transport, CheckRedirect: checkRedirect},
		header:  http.Header{},
		secrets: options.Secrets,
		own:     secret.SetOf(options.Secrets...),
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

var (
	errSilence = wording.Errorf("the server fell silent")
	// ErrTooLong is returned when reading an answer that is longer than any real one.
	ErrTooLong = wording.Errorf("the server's answer is too long")
)

// DefaultRetryWait is the wait before the first retry if the options set none.
const DefaultRetryWait = 500 * time.Millisecond

// Secrets returns the texts that no message and no record may show.
func (c *Client) Secrets() []string { return slices.Clone(c.secrets) }
