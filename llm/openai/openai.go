// Package openai asks any server that speaks the OpenAI chat-completions API: for example OpenAI, vLLM, Ollama,
// llama.cpp, DeepSeek, OpenRouter, LiteLLM and many more.
//
// The client is written on net/http, for a reason: vendors' additions to messages, requests and answers pass
// through it unharmed, and the ways in which servers bend the protocol are dealt with in one place. llmtest lists
// them.
package openai

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
	"github.com/callnode/scheduler/llm/value/wording"
)

// Config is the server to ask and the way to ask it, for programs; [Settings] is its form
// in the settings file. [New] copies it.
type Config struct {
	// Name is the provider's name in messages.
	Name string
	// BaseURL is the address up to the version: https://api.openai.com/v1. A query
	// in it is kept.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none. It never appears in errors.
	APIKey string
	// Model is the default model, used if the request names none.
	Model string
	// Headers are sent along, and replace those that the client would send.
	Headers []endpoint.Header
	// Extra are members for every request body, as [llm.Request.Extra] are for one; the request's own win. A null
	// takes a member out of the body: for servers that refuse max_tokens or stream_options.
	Extra map[string]json.RawMessage
	// Prices are the prices of the models; nil leaves the cost to the server's own report.
	Prices llm.Prices
	// NoStream asks for answers in one piece.
	NoStream bool
	// Timeout is the longest silence: before the answer begins, and within it. 0 is
	// [endpoint.DefaultTimeout].
	Timeout time.Duration
	// MaxRetries is how often a request is tried again that failed before its answer
	// began; 0 for callers that retry by themselves.
	MaxRetries int
	// RetryWait is the wait before the first retry, if the server asks for none; it doubles each time. 0 is
	// [endpoint.DefaultRetryWait].
	RetryWait time.Duration
	// Transport makes the round trips; nil is [http.DefaultTransport].
	Transport http.RoundTripper
}

// Settings are the settings of a provider of this type.
type Settings struct {
	endpoint.Settings
	BaseURL endpoint.URL `json:"base_url" doc:"The address up to the version: https://api.example.com/v1."`
}

// TakesImages reports whether all models of the server see images: OpenAI's do.
func (s Settings) TakesImages() bool { return s.BaseURL.IsHost("api.openai.com") }

// Provider is a client of one server. [New] or [Open] makes one; it is safe for
// concurrent use.
type Provider struct {
	config        Config
	client        *endpoint.Client
	chatURL       string
	embeddingsURL string
}

var (
	_ llm.EmbeddingProvider = (*Provider)(nil)
	_ llm.SecretHolder      = (*Provider)(nil)
)

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
	server := endpoint.Server{BaseURL: config.BaseURL, Key: config.APIKey, Sign: endpoint.SignBearer, Headers: config.Headers}
	client, address, err := endpoint.Connect(server, endpoint.Options{
		Name: config.Name, Timeout: config.Timeout, MaxRetries: config.MaxRetries, RetryWait: config.RetryWait,
		Transport: config.Transport, Prices: config.Prices, Hint: hint,
	})
	if err != nil {
		return nil, err
	}
	p := &Provider{config: config, client: client}
	base := strings.TrimSuffix(strings.TrimRight(address.Path, "/"), "/chat/completions")
	address.Path = base + "/embeddings"
	p.embeddingsURL = address.String()
	address.Path = base + "/chat/completions"
	p.chatURL = address.String()
	return p, nil
}

// hint returns the remedy for a refusal that only this API has.
func hint(_ int, code, message string) string {
	if strings.Contains(code, "context_length") {
		return "the prompt is too long for the model: give it less history, or a max_tokens budget"
	}
	if strings.Contains(message, "max_completion_tokens") {
		return "give extra: {max_tokens: null, max_completion_tokens: ...} instead of max_tokens"
	}
	return ""
}

// String names the provider: printing one shows no secret.
func (p *Provider) String() string { return "openai provider " + p.config.Name }

// Secrets returns the key, and the secret parts of the headers and the address.
func (p *Provider) Secrets() []string { return p.client.Secrets() }

// Chat asks the server. All errors are of type [*llm.Error].
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	body, err := p.requestBody(req)
	return p.client.Chat(ctx, p.modelOf(req), func(ctx context.Context, emit func(llm.Delta) bool) *llm.Error {
		if err != nil {
			return p.client.Unsendable(err)
		}
		return p.client.Post(ctx, p.chatURL, body, func(r io.Reader) error {
			return p.readAnswer(r, emit)
		})
	})
}

// modelOf returns the model that a request is for.
func (p *Provider) modelOf(req *llm.Request) string { return cmp.Or(req.Model, p.config.Model) }

// requestBody returns the JSON of the request.
func (p *Provider) requestBody(req *llm.Request) ([]byte, error) {
	if len(req.Messages) == 0 {
		return nil, wording.Errorf("the request has no messages")
	}
	if err := endpoint.CheckImages(req.Messages); err != nil {
		return nil, err
	}
	members := map[string]any{"model": p.modelOf(req), "messages": withoutForeign(req.Messages), "stream": !p.config.NoStream}
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
		members["response_format"] = responseFormat(req.ResponseSchema)
	}
	if !p.config.NoStream {
		members["stream_options"] = map[string]any{"include_usage": true}
	}
	return endpoint.EncodeBody(members, nil, p.config.Extra, req.Extra)
}

// responseFormat is raw JSON: a format among the extra members replaces it as a whole.
func responseFormat(schema json.RawMessage) json.RawMessage {
	return endpoint.MustEncode(map[string]any{
		"type":        "json_schema",
		"json_schema": map[string]any{"name": "answer", "schema": schema},
	})
}
