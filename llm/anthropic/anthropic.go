// Package anthropic asks servers of the Anthropic Messages API through the vendor's own
// SDK: Claude at api.anthropic.com, and gateways that speak the same.
//
// Requests come in the shape of the OpenAI API, as all requests do, and are translated:
// request.go and message.go say how. The SDK encodes and decodes; how a server is asked
// and what its failures mean is the endpoint's, as for every provider.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

const (
	// DefaultBaseURL is the vendor's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultMaxTokens is the longest answer of a request that does not say: the API
	// has no default of its own.
	DefaultMaxTokens = 8192
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
	// Model is asked where the request names none.
	Model string
	// MaxTokens is the longest answer of requests that do not say; 0 is
	// [DefaultMaxTokens].
	MaxTokens int
	// Headers are sent along, and replace those that the SDK would send.
	Headers []endpoint.Header
	// Extra are members for every request body; those of the request win. A null takes
	// a member out of the body.
	Extra map[string]json.RawMessage
	// Prices are those of the models; nil leaves the cost unknown.
	Prices llm.Prices
	// Timeout, MaxRetries, RetryWait and Transport are those of [endpoint.Options].
	Timeout    time.Duration
	MaxRetries int
	RetryWait  time.Duration
	Transport  http.RoundTripper
}

// Settings are what a provider of this type has in the settings file.
type Settings struct {
	endpoint.Settings
	BaseURL   endpoint.URL `json:"base_url,omitempty" doc:"The address of the server; https://api.anthropic.com where it is not given."`
	MaxTokens int          `json:"max_tokens,omitempty" min:"1" doc:"The longest answer, in tokens, of requests that do not say; 8192 where it is not given."`
}

// Provider is a client of one server. [New] or [Open] makes one; it is safe for
// concurrent use.
type Provider struct {
	config   Config
	client   *endpoint.Client
	messages sdk.MessageService
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
	address, err := endpoint.ParseURL(config.BaseURL)
	if err != nil {
		return nil, wording.Errorf("provider %s: base_url: %w", config.Name, err)
	}
	config.APIKey, err = endpoint.CleanKey(config.APIKey)
	if err != nil {
		return nil, wording.Errorf("provider %s: %w", config.Name, err)
	}
	address.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(address.Path, "/"), "/messages"), "/v1") // the SDK adds them
	options := []option.RequestOption{
		option.WithBaseURL(address.String()),
		option.WithMaxRetries(0), // the endpoint retries
		option.WithoutOpenTelemetry(),
		option.WithHeader("User-Agent", "scheduler"),
	}
	if config.APIKey != "" {
		options = append(options, option.WithAPIKey(config.APIKey))
	}
	for _, h := range config.Headers {
		options = append(options, option.WithHeader(h.Name, h.Value))
	}
	return &Provider{
		config: config,
		// Not sdk.NewClient, which reads keys and addresses from the environment.
		messages: sdk.NewMessageService(options...),
		client: endpoint.NewClient(endpoint.Options{
			Name: config.Name, Timeout: config.Timeout, MaxRetries: config.MaxRetries, RetryWait: config.RetryWait,
			Transport: config.Transport, Prices: config.Prices, Secrets: endpoint.SecretsOf(config.APIKey, config.Headers, address), Hint: hint,
		}),
	}, nil
}

// hint returns what to do about a refusal that only this API knows.
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

// Secrets returns the key, and what of the headers and the address is secret.
func (p *Provider) Secrets() []string { return p.client.Secrets() }

// Chat asks the server. All errors are of type [*llm.Error].
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	params, body, err := p.translateRequest(req)
	return p.client.Chat(ctx, params.Model, func(ctx context.Context, emit func(llm.Delta) bool) *llm.Error {
		if err != nil {
			return p.client.Unsendable(err)
		}
		return p.client.Exchange(ctx, func(ctx context.Context, do endpoint.Do) error {
			return p.readStream(ctx, params, body, do, emit)
		})
	})
}

// readStream sends the request and passes on the pieces of its answer.
func (p *Provider) readStream(ctx context.Context, params sdk.MessageNewParams, body []byte, do endpoint.Do, emit func(llm.Delta) bool) error {
	server := &doer{do: do}
	stream := p.messages.NewStreaming(ctx, params, option.WithRequestBody("application/json", body), option.WithHTTPClient(server))
	defer stream.Close()
	a := answer{provider: p, emit: emit}
	for stream.Next() {
		if err := a.addEvent(stream.Current()); err != nil {
			return err
		}
	}
	if server.document != nil {
		return a.addWhole(server.document)
	}
	return a.endStream(stream.Err())
}
