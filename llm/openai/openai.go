// Package openai asks any server that speaks the OpenAI chat-completions API:
// OpenAI, vLLM, Ollama, llama.cpp, DeepSeek, OpenRouter, LiteLLM and many more.
//
// The client is written on net/http, for a reason: what vendors add to messages,
// requests and answers passes through it unharmed, and the ways in which servers
// bend the protocol are dealt with in one place. llmtest lists them.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// Defaults of a [Config].
const (
	DefaultTimeout   = 2 * time.Minute
	DefaultRetryWait = 500 * time.Millisecond
)

// maxWait is the longest wait before a retry. Who asks for more has to be asked
// again later.
const maxWait = time.Minute

// Config says which server to ask, and how.
type Config struct {
	// Name is the provider's name in messages.
	Name string
	// BaseURL is the address up to the version: https://api.openai.com/v1. A query
	// in it is kept.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none. It never appears in errors.
	APIKey string
	// Model is asked where the request names none.
	Model string
	// Headers are sent along, and replace those that the client would send.
	Headers []Header
	// Extra are members for every request body, as [llm.Request.Extra] are for one;
	// those of the request win. A null takes a member out of the body: for servers
	// that refuse max_tokens or stream_options.
	Extra map[string]json.RawMessage
	// NoStream asks for answers in one piece.
	NoStream bool
	// Timeout is the longest silence: before the answer begins, and within it. 0 is
	// [DefaultTimeout].
	Timeout time.Duration
	// MaxRetries is how often a request is tried again that failed before its answer
	// began. 0 leaves it to the caller, who may have a layer that retries.
	MaxRetries int
	// RetryWait is the wait before the first retry, where the server asks for none;
	// it doubles each time. 0 is [DefaultRetryWait].
	RetryWait time.Duration
	// Transport makes the round trips; nil is [http.DefaultTransport].
	Transport http.RoundTripper
}

// Header is one HTTP header.
type Header = endpoint.Header

// Settings are what a provider of this type has in the settings file.
type Settings struct {
	endpoint.Settings
	BaseURL endpoint.URL `json:"base_url" doc:"The address up to the version: https://api.example.com/v1."`
}

// Open makes a client from settings. The error says what is wrong with them, or that
// the key is missing.
func Open(s Settings) (*Provider, error) {
	key, err := s.APIKey()
	if err != nil {
		return nil, err
	}
	return New(Config{
		Name: s.Name, BaseURL: string(s.BaseURL), APIKey: key, Model: s.Model,
		Headers: s.Headers, Extra: s.ExtraMembers(), Timeout: time.Duration(s.Timeout), MaxRetries: s.Retries(),
	})
}

// Provider is a client of one server.
type Provider struct {
	config   Config
	endpoint string
	vectors  string // the endpoint of embeddings
	client   *http.Client
	secrets  []string
	mask     *strings.Replacer
}

var (
	_ llm.EmbeddingProvider = (*Provider)(nil)
	_ llm.SecretHolder      = (*Provider)(nil)
)

// New makes a client. Nothing is sent yet; the error says what is wrong with the
// configuration.
func New(config Config) (*Provider, error) {
	u, err := endpoint.ParseURL(config.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("provider %s: base_url: %w", config.Name, err)
	}
	base := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.Path = base + "/embeddings"
	vectors := u.String()
	u.Path = base + "/chat/completions"
	config.APIKey = strings.TrimSpace(config.APIKey)
	if strings.ContainsFunc(config.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("provider %s: the API key has characters that no key has", config.Name)
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	if config.RetryWait == 0 {
		config.RetryWait = DefaultRetryWait
	}
	p := &Provider{config: config, endpoint: u.String(), vectors: vectors, secrets: secretsOf(config, u)}
	p.mask = newMask(p.secrets)
	p.client = &http.Client{Transport: config.Transport, CheckRedirect: p.checkRedirect}
	return p, nil
}

// String names the provider: printing one shows no secret.
func (p *Provider) String() string { return "openai provider " + p.config.Name }

// minSecret is the least length of a secret beside the key: a header such as
// "X-Auth-Mode: on" makes no secret of every "on" in a record.
const minSecret = 6

// Secrets returns the key, and what of the headers and the address is secret.
func (p *Provider) Secrets() []string {
	return slices.DeleteFunc(slices.Clone(p.secrets), func(s string) bool {
		return len(s) < minSecret && s != p.config.APIKey
	})
}

// maxRedirects bounds the detours within one host.
const maxRedirects = 3

// checkRedirect follows a redirect only to the host that the key was meant for,
// and only one that keeps the request's body.
func (p *Provider) checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme || req.Method != http.MethodPost || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// errStopped says that the one who reads the answer has enough of it.
var errStopped = errors.New("stopped")

// Chat asks the server. All errors are of type [*llm.Error].
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		body, err := p.body(req)
		if err != nil {
			yield(llm.Delta{}, &llm.Error{Provider: p.config.Name, Err: err})
			return
		}
		waits := backoff.ExponentialBackOff{
			InitialInterval: p.config.RetryWait, Multiplier: 2, MaxInterval: maxWait,
			RandomizationFactor: backoff.DefaultRandomizationFactor,
		}
		for retries := 0; ; retries++ {
			begun := false
			failure := p.attempt(ctx, body, func(d llm.Delta) bool {
				begun = true
				return yield(d, nil)
			})
			if failure == nil {
				return
			}
			wait := max(waits.NextBackOff(), failure.RetryAfter)
			if begun || retries >= p.config.MaxRetries || llm.IsSentOnce(ctx) || !failure.Temporary || wait > maxWait {
				yield(llm.Delta{}, failure)
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(llm.Delta{}, p.ended(err))
				return
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// body is the JSON of the request.
func (p *Provider) body(req *llm.Request) ([]byte, error) {
	members := map[string]any{"messages": req.Messages}
	if members["model"] = req.Model; req.Model == "" {
		members["model"] = p.config.Model
	}
	if len(req.Messages) == 0 {
		return nil, errors.New("the request has no messages")
	}
	if req.Temperature != nil {
		members["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		members["max_tokens"] = req.MaxTokens
	}
	if len(req.Tools) > 0 {
		members["tools"] = req.Tools
	}
	if len(req.ResponseSchema) > 0 {
		members["response_format"] = map[string]any{
			"type":        "json_schema",
			"json_schema": map[string]any{"name": "answer", "schema": req.ResponseSchema},
		}
	}
	if members["stream"] = !p.config.NoStream; !p.config.NoStream {
		members["stream_options"] = map[string]any{"include_usage": true}
	}
	for _, extra := range []map[string]json.RawMessage{p.config.Extra, req.Extra} {
		for name, member := range extra {
			if members[name] = member; string(member) == "null" {
				delete(members, name)
			}
		}
	}
	body, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return body, nil
}
