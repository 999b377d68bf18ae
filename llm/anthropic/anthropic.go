// Package anthropic asks servers of the Anthropic Messages API: Claude at api.anthropic.com, and gateways that
// speak the same.
//
// Requests come in the shape of the OpenAI API, as all requests do, and are translated: request.go and message.go
// say how, schema.go for the schema of an answer. For example {role: tool, tool_call_id: a, content: "18"} becomes
// a message of the user with the block {type: tool_result, tool_use_id: a}. Package endpoint sends the requests
// and interprets failures, as for every provider.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

const (
	// DefaultBaseURL is the vendor's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultMaxTokens is the longest answer of a request that does not say: the API
	// has no default of its own.
	DefaultMaxTokens = 8192
	// apiVersion is the version of the API that this package reads.
	apiVersion = "2023-06-01"
)

// Config is the server to ask and the way to ask it, for programs; [Settings] is its form
// in the settings file. [New] copies it.
type Config struct {
	// Name is the provider's name in messages.
	Name string
	// BaseURL is the address of the server; "" is [DefaultBaseURL].
	BaseURL string
	// APIKey is sent as X-Api-Key; "" sends none. It never appears in errors.
	APIKey string
	// Model is the default model, used if the request names none.
	Model string
	// MaxTokens is the longest answer of requests that do not say; 0 is
	// [DefaultMaxTokens].
	MaxTokens int
	// Headers are sent along, and replace those that the client would send.
	Headers []endpoint.Header
	// Extra are members for every request body; the request's own win. A null takes a member out of the body.
	Extra map[string]json.RawMessage
	// Prices are the prices of the models; nil leaves the cost unknown.
	Prices llm.Prices
	// Timeout, MaxRetries, RetryWait and Transport are as in [endpoint.Options].
	Timeout    time.Duration
	MaxRetries int
	RetryWait  time.Duration
	Transport  http.RoundTripper
}

// Settings are the settings of a provider of this type.
type Settings struct {
	endpoint.Settings
	BaseURL   endpoint.URL `json:"base_url,omitempty" doc:"The address of the server; https://api.anthropic.com where it is not given."`
	MaxTokens int          `json:"max_tokens,omitempty" min:"1" doc:"The longest answer, in tokens, of requests that do not say; 8192 where it is not given."`
}

// TakesImages reports whether all models of the server see images: Anthropic's do.
func (s Settings) TakesImages() bool { return s.BaseURL == "" || s.BaseURL.IsHost("api.anthropic.com") }

// Provider is a client of one server. [New] or [Open] makes one; it is safe for
// concurrent use.
type Provider struct {
	config Config
	client *endpoint.Client
	url    string
}

var _ llm.SecretHolder = (*Provider)(nil)

// Open returns a client made from settings. The error is a wrong setting or a missing
// key.
func Open(s Settings) (*Provider, error) {
	key, err := s.APIKey()
	if err != nil {
		return nil, err
	}
	return New(Config{
		Name: s.Name, BaseURL: string(s.BaseURL), APIKey: key, Model: s.Model, MaxTokens: s.MaxTokens,
		Headers: s.Headers, Extra: s.ExtraMembers(), Prices: s.Prices, Timeout: time.Duration(s.Timeout), MaxRetries: s.Retries(),
	})
}

// New returns a client. Nothing is sent yet; the error is a wrong setting.
func New(config Config) (*Provider, error) {
	config.BaseURL = cmp.Or(config.BaseURL, DefaultBaseURL)
	config.MaxTokens = cmp.Or(config.MaxTokens, DefaultMaxTokens)
	server := endpoint.Server{BaseURL: config.BaseURL, Key: config.APIKey, Sign: signRequest, Headers: config.Headers}
	client, address, err := endpoint.Connect(server, endpoint.Options{
		Name: config.Name, Timeout: config.Timeout, MaxRetries: config.MaxRetries, RetryWait: config.RetryWait,
		Transport: config.Transport, Prices: config.Prices, Hint: hint,
	})
	if err != nil {
		return nil, err
	}
	p := &Provider{config: config, client: client}
	base := strings.TrimSuffix(strings.TrimRight(address.Path, "/"), "/messages")
	address.Path = strings.TrimSuffix(base, "/v1") + "/v1/messages"
	p.url = address.String()
	return p, nil
}

// signRequest adds the key, and the version of the API that is asked.
func signRequest(h http.Header, key string) {
	h.Set("Anthropic-Version", apiVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// hint returns the remedy for a refusal that only this API has.
func hint(status int, _, message string) string {
	if strings.Contains(message, "prompt is too long") {
		return "the prompt is too long for the model: give it less history, or a max_tokens budget"
	}
	if status == http.StatusBadRequest && strings.Contains(message, "max_tokens") {
		return "set the provider's max_tokens, or that of the step, to what the model allows"
	}
	return ""
}

// String names the provider: printing one shows no secret.
func (p *Provider) String() string { return "anthropic provider " + p.config.Name }

// Secrets returns the key, and the secret parts of the headers and the address.
func (p *Provider) Secrets() []string { return p.client.Secrets() }

// Chat asks the server. All errors are of type [*llm.Error].
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	body, err := p.translateRequest(req)
	return p.client.Chat(ctx, p.modelOf(req), func(ctx context.Context, emit func(llm.Delta) bool) *llm.Error {
		if err != nil {
			return p.client.Unsendable(err)
		}
		return p.client.Post(ctx, p.url, body, func(r io.Reader) error {
			return p.readAnswer(r, emit)
		})
	})
}

// modelOf returns the model that a request is for.
func (p *Provider) modelOf(req *llm.Request) string { return cmp.Or(req.Model, p.config.Model) }
