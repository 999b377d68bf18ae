package endpoint

import (
	"net/http"
	"net/url"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Server is the server that a client asks, and how it signs in there.
type Server struct {
	BaseURL string
	// Key is "" for a server that wants none. It never appears in errors.
	Key string
	// Sign adds the key to the headers of a request, for example [SignBearer].
	Sign func(h http.Header, key string)
	// Headers are sent along, and replace those that the client would send.
	Headers []Header
}

// Connect returns a client of a server with the server's address, which the API has its paths
// below. Nothing is sent yet; the error is a wrong setting. It fills in the secrets of options.
func Connect(server Server, options Options) (*Client, *url.URL, error) {
	address, err := ParseURL(server.BaseURL)
	if err != nil {
		return nil, nil, wording.Errorf("provider %s: base_url: %w", options.Name, err)
	}
	key, err := CleanKey(server.Key)
	if err != nil {
		return nil, nil, wording.Errorf("provider %s: %w", options.Name, err)
	}
	options.Secrets = SecretsOf(key, server.Headers, address)
	c := NewClient(options)
	c.header.Set("Accept", "text/event-stream, application/json")
	c.header.Set("User-Agent", "scheduler")
	server.Sign(c.header, key)
	for _, own := range server.Headers {
		c.header.Set(own.Name, own.Value)
	}
	return c, address, nil
}

// SignBearer sends the key as a bearer token.
func SignBearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}
