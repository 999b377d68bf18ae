// Package endpoint is shared by clients of model servers, whatever protocol they speak: the settings of a server,
// sending requests over HTTP, the errors of a server that does not answer, and the back-off before a refused
// request is sent again (retry_request.go): for example after status 429. The attempts of a step that retries are
// the engine's (scheduler, retry_step.go).
package endpoint

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Settings are the common settings of every provider that asks a server. The settings of a type of provider embed
// them and add base_url, which some types have a default for. Headers and extra members are lists, for names whose
// case matters.
type Settings struct {
	llm.Settings
	APIKeyEnv  string         `json:"api_key_env,omitempty" doc:"The environment variable that holds the key."`
	Headers    []Header       `json:"headers,omitempty" doc:"Headers of every request."`
	Extra      []Member       `json:"extra,omitempty" doc:"Further members of every request body."`
	Timeout    value.Duration `json:"timeout,omitempty" doc:"The longest wait for the first byte, and between two."`
	MaxRetries *int           `json:"max_retries,omitempty" min:"0" max:"100" doc:"How often a request is tried again where the step has no retry of its own; 2 where it is not given."`
}

// Header is one HTTP header.
type Header struct {
	Name  string `json:"name" min:"1"`
	Value string `json:"value"`
}

// Member is one member of a request body.
type Member struct {
	Name  string          `json:"name" min:"1"`
	Value json.RawMessage `json:"value"`
}

// defaultRetries is how often a request is tried again if the settings do not say.
const defaultRetries = 2

// Retries returns how often a request is tried again.
func (s *Settings) Retries() int {
	if s.MaxRetries == nil {
		return defaultRetries
	}
	return *s.MaxRetries
}

// APIKey reads the key from the environment; "" if the settings name no variable.
func (s *Settings) APIKey() (string, error) {
	if s.APIKeyEnv == "" {
		return "", nil
	}
	key, ok := os.LookupEnv(s.APIKeyEnv)
	if !ok {
		return "", wording.Errorf("the provider %q takes its key from the environment variable %s, which is not set (export %s=...)", s.Name, s.APIKeyEnv, s.APIKeyEnv)
	}
	return key, nil
}

// CleanKey returns a key without the white space around it. The error of one that cannot
// be a key does not show it.
func CleanKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", wording.Errorf("the API key has characters that no key has")
	}
	return key, nil
}

// ExtraMembers returns the further members of every request body by their names.
func (s *Settings) ExtraMembers() map[string]json.RawMessage {
	members := make(map[string]json.RawMessage, len(s.Extra))
	for _, m := range s.Extra {
		members[m.Name] = m.Value
	}
	return members
}

// URL is the address of a server. Reading a wrong one from settings is an error.
type URL string

// UnmarshalText takes an absolute http or https address.
func (u *URL) UnmarshalText(text []byte) error {
	if _, err := ParseURL(string(text)); err != nil {
		return err
	}
	*u = URL(text)
	return nil
}

// IsHost reports whether the address has this host, for example api.openai.com.
func (u URL) IsHost(host string) bool {
	parsed, err := ParseURL(string(u))
	return err == nil && parsed.Hostname() == host
}

// errURL does not repeat the address, which may hold a password.
var errURL = wording.Errorf("invalid server address (use https://api.example.com/v1)")

// ParseURL parses the address of a server: http or https, with a host.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, errURL
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errURL
	}
	return u, nil
}
