package config

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Serve is the settings of the subcommand serve.
type Serve struct {
	Listen         string         `json:"listen,omitempty" min:"1"`
	Flows          []string       `json:"flows,omitempty"`
	Auth           string         `json:"auth,omitempty" enum:"token|none"`
	TLS            TLS            `json:"tls,omitempty"`
	Hosts          []string       `json:"hosts,omitempty"`
	CORSOrigins    []string       `json:"cors_origins,omitempty"`
	Edit           bool           `json:"edit,omitempty"`
	MaxRuns        int            `json:"max_runs,omitempty" min:"1"`
	MaxRunsPerUser int            `json:"max_runs_per_user,omitempty" min:"1"`
	MaxQueued      int            `json:"max_queued,omitempty" min:"0"`
	MaxBody        string         `json:"max_body,omitempty"`
	Drain          value.Duration `json:"drain,omitempty"`
	Recover        string         `json:"recover,omitempty" enum:"own|all|none"`
	Aliases        []string       `json:"aliases,omitempty"`
	OpenAI         OpenAI         `json:"openai,omitempty"`
}

// TLS is the files of a certificate.
type TLS struct {
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// OpenAI is the settings of the OpenAI-compatible API.
type OpenAI struct {
	TasksLLM string `json:"tasks_llm,omitempty"`
	OnRetry  string `json:"on_retry,omitempty" enum:"tell|hold"`
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
	names := append(models.Names(), "echo")
	for _, name := range names {
		if c.OpenAI.TasksLLM == "" || name == c.OpenAI.TasksLLM {
			return nil
		}
	}
	return wrongSetting("serve.openai.tasks_llm", "unknown provider %q%s", c.OpenAI.TasksLLM, value.DidYouMeanSuffix(c.OpenAI.TasksLLM, names))
}
