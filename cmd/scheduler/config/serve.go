package config

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Serve is the settings of the subcommand serve.
type Serve struct {
	Listen         string         `json:"listen,omitempty" min:"1"`
	Flows          []string       `json:"flows,omitempty"`
	Auth           string         `json:"auth,omitempty" enum:"token|none"`
	TLS            TLS            `json:"tls,omitempty"`
	BehindTLS      bool           `json:"behind_tls,omitempty"`
	Hosts          []string       `json:"hosts,omitempty"`
	CORSOrigins    []string       `json:"cors_origins,omitempty"`
	Edit           bool           `json:"edit,omitempty"`
	MaxRuns        int            `json:"max_runs,omitempty" min:"1"`
	MaxRunsPerUser int            `json:"max_runs_per_user,omitempty" min:"1"`
	MaxQueued      int            `json:"max_queued,omitempty" min:"0"`
	MaxBody        string         `json:"max_body,omitempty"`
	MaxCheck       value.Duration `json:"max_check,omitempty"`
	Drain          value.Duration `json:"drain,omitempty"`
	Recover        string         `json:"recover,omitempty" enum:"own|all|none"`
	GiveUpAfter    value.Duration `json:"give_up_after,omitempty"`
	Prune          Prune          `json:"prune,omitempty"`
	Aliases        []string       `json:"aliases,omitempty"`
	Notify         []Notify       `json:"notify,omitempty"`
	OpenAI         OpenAI         `json:"openai,omitempty"`
	BoundCalls     []string       `json:"bound_calls,omitempty"`
	MCP            ServeMCP       `json:"mcp,omitempty"`
	OTLP           OTLP           `json:"otlp,omitempty"`
}

// ServeMCP is the settings of the MCP server.
type ServeMCP struct {
	Calls []string `json:"calls,omitempty"`
}

// Prune selects the runs that the server deletes.
type Prune struct {
	OlderThan value.Duration `json:"older_than,omitempty"`
	Keep      int            `json:"keep,omitempty" min:"0"`
}

// Notify is a URL to which the server sends messages about runs.
type Notify struct {
	URL string `json:"url,omitempty" min:"1"`
	// URLEnv is the variable that holds the URL instead, if the URL is a credential.
	URLEnv string `json:"url_env,omitempty" min:"1"`
	// On has the states of a run for which it gets messages.
	On []string `json:"on"`
	// SecretEnv is the variable that holds the secret of the signatures.
	SecretEnv string `json:"secret_env" min:"1"`
}

// states returns the states that notifications may be about.
func (Notify) states() []string { return []string{"waiting", "failed", "finished", "stuck", "trigger"} }

// check refuses a URL that cannot get messages, or that has no states.
func (n *Notify) check(at string) error {
	if n.URL != "" && n.URLEnv != "" {
		return wrongSetting(at+".url_env", "url and url_env are both given (leave one out)")
	}
	if n.URL == "" && n.URLEnv == "" {
		return wrongSetting(at, "url is missing (or url_env, the name of a variable that holds it)")
	}
	if n.URL != "" && !isNotifyURL(n.URL) {
		return wrongSetting(at+".url", "this is not a URL (use https://host/path)") // it may be a credential
	}
	if len(n.On) == 0 {
		return wrongSetting(at+".on", "no state is named (use %s)", strings.Join(n.states(), ", "))
	}
	for _, state := range n.On {
		if !slices.Contains(n.states(), state) {
			return wrongSetting(at+".on", "unknown state %q%s (use %s)", state, value.DidYouMeanSuffix(state, n.states()), strings.Join(n.states(), ", "))
		}
	}
	return nil
}

// isNotifyURL reports whether a text is a URL that can get messages.
func isNotifyURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https"}, u.Scheme)
}

// Address returns the URL, which the variable of url_env may hold. Only the server reads that: other commands run without it.
// No error shows the URL, which may be a credential.
func (n *Notify) Address() (string, error) {
	if n.URLEnv == "" {
		return n.URL, nil
	}
	text := os.Getenv(n.URLEnv)
	if text == "" {
		return "", calls.Errorf(calls.Invalid, "serve.notify: url_env: the environment variable %s is not set", n.URLEnv)
	}
	if !isNotifyURL(text) {
		return "", calls.Errorf(calls.Invalid, "serve.notify: url_env: the environment variable %s does not hold a URL (use https://host/path)", n.URLEnv)
	}
	return text, nil
}

// OTLP configures the export of the runs' spans.
type OTLP struct {
	Endpoint   string            `json:"endpoint,omitempty"`
	HeadersEnv map[string]string `json:"headers_env,omitempty"`
	Content    bool              `json:"content,omitempty"`
}

// TLS is the files of a certificate.
type TLS struct {
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// OpenAI is the settings of the OpenAI-compatible API.
type OpenAI struct {
	TasksLLM []string `json:"tasks_llm,omitempty"`
	OnRetry  string   `json:"on_retry,omitempty" enum:"tell|hold"`
}

// MaxBodyBytes returns the setting max_body in bytes.
func (c *Serve) MaxBodyBytes() int64 {
	n, _ := parseSize(c.MaxBody) // it was checked
	return n
}

// parseSize reads a number of bytes: 500, 64KiB, 8MiB.
func parseSize(text string) (n int64, ok bool) {
	unit := int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if digits, found := strings.CutSuffix(text, suffix); found {
			text, unit = strings.TrimSpace(digits), size
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	const most = 1 << 33
	if err != nil || n < 1 || n > most/unit {
		return 0, false
	}
	return n * unit, true
}

// check refuses settings that make no sense.
func (c *Serve) check(models *LLM) error {
	if _, ok := parseSize(c.MaxBody); !ok {
		return wrongSetting("serve.max_body", "invalid size %q (use 8MiB)", c.MaxBody)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return wrongSetting("serve.tls", "cert and key belong together: give both or neither")
	}
	for _, path := range c.Aliases {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{} ") {
			return wrongSetting("serve.aliases", "%q is not a path (use /name)", path)
		}
	}
	for i := range c.Notify {
		if err := c.Notify[i].check("serve.notify." + strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return models.checkList("serve.openai.tasks_llm", c.OpenAI.TasksLLM)
}
