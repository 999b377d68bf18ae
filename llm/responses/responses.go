// Package responses asks servers of the Responses API: OpenAI, and servers that speak Open Responses, for example
// LM Studio, vLLM, Ollama, llama.cpp and OpenRouter.
//
// Requests come in the shape of the chat-completions API, as all requests do, and are translated: request.go and
// input.go say how. The server keeps nothing (store: false): the history is in the journal. Thoughts that the
// model wants to see again come back in the assistant message's response_items, see items.go. Package endpoint
// sends the requests and interprets failures, as for every provider.
package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// DefaultBaseURL is the vendor's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config is the server to ask and the way to ask it, for programs; [Settings] is its form
// in the settings file. [New] copies it.
type Config struct {
	// Name is the provider's name in messages.
	Name string
	// BaseURL is the address up to the version; "" is [DefaultBaseURL]. A query in it is kept.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none. It never appears in errors.
	APIKey string
	// Model is the default model, used if the request names none.
	Model string
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
	BaseURL endpoint.URL `json:"base_url,omitempty" doc:"The address up to the version; https://api.openai.com/v1 where it is not given."`
}

// TakesImages reports whether all models of the server see images: OpenAI's do.
func (s Settings) TakesImages() bool { return s.BaseURL == "" || s.BaseURL.IsHost("api.openai.com") }

// Provider is a client of one server. [New] or [Open] makes one; it is safe for
// concurrent use.
type Provider struct {
	config Config
	client *endpoint.Client
	url    string
	// withoutThoughts has the models that refuse to send encrypted thoughts.
	withoutThoughts sync.Map
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
		Name: s.Name, BaseURL: string(s.BaseURL), APIKey: key, Model: s.Model,
		Headers: s.Headers, Extra: s.ExtraMembers(), Prices: s.Prices, Timeout: time.Duration(s.Timeout), MaxRetries: s.Retries(),
	})
}

// New returns a client. Nothing is sent yet; the error is a wrong setting.
func New(config Config) (*Provider, error) {
	config.BaseURL = cmp.Or(config.BaseURL, DefaultBaseURL)
	server := endpoint.Server{BaseURL: config.BaseURL, Key: config.APIKey, Sign: endpoint.SignBearer, Headers: config.Headers}
	client, address, err := endpoint.Connect(server, endpoint.Options{
		Name: config.Name, Timeout: config.Timeout, MaxRetries: config.MaxRetries, RetryWait: config.RetryWait,
		Transport: config.Transport, Prices: config.Prices, Hint: hint,
	})
	if err != nil {
		return nil, err
	}
	p := &Provider{config: config, client: client}
	address.Path = strings.TrimSuffix(strings.TrimRight(address.Path, "/"), "/responses") + "/responses"
	p.url = address.String()
	return p, nil
}

// hint returns the remedy for a refusal that only this API has.
func hint(_ int, code, message string) string {
	switch {
	case strings.Contains(code, "context_length"):
		return "the prompt is too long for the model: give it less history, or a max_tokens budget"
	case strings.Contains(code+message, "invalid_encrypted_content"):
		return "the thoughts are of another account or model: leave response_items out of the messages"
	case strings.Contains(message, "max_output_tokens"):
		return "this API wants a max_tokens of 16 or more"
	case strings.Contains(message, "'temperature'"):
		return "leave temperature out: models that think take none"
	}
	return ""
}

// String names the provider: printing one shows no secret.
func (p *Provider) String() string { return "openai-responses provider " + p.config.Name }

// Secrets returns the key, and the secret parts of the headers and the address.
func (p *Provider) Secrets() []string { return p.client.Secrets() }

// Chat asks the server. All errors are of type [*llm.Error].
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	model := p.modelOf(req)
	return p.client.Chat(ctx, model, func(ctx context.Context, emit func(llm.Delta) bool) *llm.Error {
		_, plain := p.withoutThoughts.Load(model)
		failure := p.ask(ctx, req, !plain, emit)
		if !plain && refusesThoughts(failure) {
			// Not another try of the same request, so also for callers that retry by themselves.
			p.withoutThoughts.Store(model, true)
			failure = p.ask(ctx, req, false, emit)
		}
		return failure
	})
}

// refusesThoughts reports whether the server refused a request only because it asked for
// encrypted thoughts, which models that do not think have none of.
func refusesThoughts(failure *llm.Error) bool {
	return failure != nil && failure.Status == http.StatusBadRequest &&
		strings.Contains(strings.ToLower(failure.Message), "encrypted content is not supported")
}

// ask sends the request once; withThoughts asks for encrypted thoughts.
func (p *Provider) ask(ctx context.Context, req *llm.Request, withThoughts bool, emit func(llm.Delta) bool) *llm.Error {
	body, err := p.translateRequest(req, withThoughts)
	if err != nil {
		return p.client.Unsendable(err)
	}
	return p.client.Post(ctx, p.url, body, func(r io.Reader) error {
		a := answer{provider: p, emit: emit}
		return endpoint.ReadBody(r, a.readDocument, a.readEvents)
	})
}

// modelOf returns the model that a request is for.
func (p *Provider) modelOf(req *llm.Request) string { return cmp.Or(req.Model, p.config.Model) }
