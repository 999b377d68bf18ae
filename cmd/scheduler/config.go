package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/configs"
	"github.com/callnode/scheduler/scheduler"
)

// Config is the settings. configs/scheduler.yaml documents each of them.
type Config struct {
	Language  string        `mapstructure:"language"`
	StateDir  string        `mapstructure:"state_dir"`
	Journal   JournalConfig `mapstructure:"journal"`
	Languages string        `mapstructure:"languages"`
	Secrets   []string      `mapstructure:"secrets"`
	LLM       LLMConfig     `mapstructure:"llm"`
	Media     []string      `mapstructure:"media_roots"`
	HTTP      HTTPConfig    `mapstructure:"http"`
	Run       RunConfig     `mapstructure:"run"`
	Plugins   PluginsConfig `mapstructure:"plugins"`
	Memory    MemoryConfig  `mapstructure:"memory"`

	file *settingsFile // the file that was read; nil for none
}

// HTTPConfig is what the call http may reach beside the public Internet.
type HTTPConfig struct {
	AllowHosts []string `mapstructure:"allow_hosts"`
}

// LLMConfig is the settings of model providers.
type LLMConfig struct {
	Default   string           `mapstructure:"default"`
	Mode      string           `mapstructure:"mode"`
	Providers []ProviderConfig `mapstructure:"providers"`
}

// ProviderConfig is one server. Headers and extra fields are lists, for viper
// lowers the case of map keys.
type ProviderConfig struct {
	Name      string         `mapstructure:"name"`
	BaseURL   string         `mapstructure:"base_url"`
	APIKeyEnv string         `mapstructure:"api_key_env"`
	Model     string         `mapstructure:"model"`
	Headers   []HeaderConfig `mapstructure:"headers"`
	Extra     []ExtraConfig  `mapstructure:"extra"`
	Timeout   time.Duration  `mapstructure:"timeout"`
	// MaxRetries is nil where it is not given: two. A step that retries by itself has
	// its requests sent once.
	MaxRetries *int `mapstructure:"max_retries"`
}

// HeaderConfig is one header of every request.
type HeaderConfig struct {
	Name  string `mapstructure:"name"`
	Value string `mapstructure:"value"`
}

// ExtraConfig is one further field of every request body.
type ExtraConfig struct {
	Name  string `mapstructure:"name"`
	Value any    `mapstructure:"value"`
}

// JournalConfig says how runs are recorded.
type JournalConfig struct {
	Durability string `mapstructure:"durability"`
}

// RunConfig bounds how many steps of a run work at once, and how long it waits for
// those that were cancelled.
type RunConfig struct {
	MaxParallel int           `mapstructure:"max_parallel"`
	CancelGrace time.Duration `mapstructure:"cancel_grace"`
}

// loadConfig reads the defaults, the file over them (path, or ./scheduler.yaml
// where there is one) and the environment over both. Errors are usage errors.
func loadConfig(path string) (*Config, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	v.SetEnvPrefix("SCHEDULER")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	if err := v.ReadConfig(bytes.NewReader(configs.Defaults)); err != nil {
		return nil, fmt.Errorf("reading the default settings: %w", err)
	}
	named := path != ""
	if !named {
		path = "scheduler.yaml"
	}
	cfg := new(Config)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		cfg.file, err = checkSettings(path, text)
		if err != nil {
			return nil, usageError(err)
		}
		if err := v.MergeConfig(bytes.NewReader(text)); err != nil {
			return nil, usageError(fmt.Errorf("reading the settings %s: %w", path, err))
		}
	case named || !errors.Is(err, fs.ErrNotExist):
		return nil, usageError(fmt.Errorf("reading the settings: %w", err))
	}
	if err := checkEnvironment(); err != nil {
		return nil, usageError(err)
	}
	if err := v.UnmarshalExact(cfg, viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(
		mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(",")))); err != nil {
		return nil, usageError(fmt.Errorf("reading the settings: %w", err))
	}
	cfg.anchor()
	if err := cfg.check(); err != nil {
		return nil, usageError(cfg.file.place(err))
	}
	return cfg, nil
}

// anchor makes the paths of a settings file those that the file means, from wherever
// the program is started. Those of the environment are as the shell means them.
func (c *Config) anchor() {
	from := func(variable string, path *string) {
		if c.file.name() != "" && *path != "" && !filepath.IsAbs(*path) && os.Getenv(variable) == "" {
			*path = filepath.Join(filepath.Dir(c.file.path), *path)
		}
	}
	from("SCHEDULER_LANGUAGES", &c.Languages)
	for i := range c.Media {
		from("SCHEDULER_MEDIA_ROOTS", &c.Media[i])
	}
}

// check finds values that make no sense.
func (c *Config) check() error {
	if modes := []string{"auto", "live", "record", "replay"}; !slices.Contains(modes, c.LLM.Mode) {
		return wrongSetting("llm.mode", "is %q, want one of %s", c.LLM.Mode, strings.Join(modes, ", "))
	}
	if _, err := guard.NewClient(c.HTTP.AllowHosts); err != nil {
		return wrongSetting("http.allow_hosts", "cannot be used: %w", err)
	}
	if err := c.LLM.check(); err != nil {
		return err
	}
	if c.LLM.Default != "" && !slices.Contains(c.providerNames(), c.LLM.Default) {
		return wrongSetting("llm.default", "is %q, which is no provider%s", c.LLM.Default, didYouMean(c.LLM.Default, c.providerNames()))
	}
	if err := c.languages().Check(c.language()); err != nil {
		return wrongSetting("language", "cannot be used: %w", err)
	}
	if c.StateDir == "" {
		return wrongSetting("state_dir", "is empty")
	}
	if d := c.Journal.Durability; d != string(scheduler.Sync) && d != string(scheduler.Async) {
		return wrongSetting("journal.durability", "is %q, want sync or async", d)
	}
	if err := c.Memory.check(c.providerNames()); err != nil {
		return err
	}
	if err := c.Plugins.check(); err != nil {
		return err
	}
	if c.Run.MaxParallel < 1 {
		return wrongSetting("run.max_parallel", "is %d, want at least 1", c.Run.MaxParallel)
	}
	if c.Run.CancelGrace < 0 {
		return wrongSetting("run.cancel_grace", "cannot be negative")
	}
	return nil
}

// check finds providers that cannot be told apart or asked.
func (c *LLMConfig) check() error {
	seen := map[string]bool{"echo": true}
	for i, p := range c.Providers {
		at := fmt.Sprintf("llm.providers[%d]", i)
		switch address, err := url.Parse(p.BaseURL); {
		case p.Name == "":
			return wrongSetting(at, "has no name")
		case p.Name == "echo":
			return wrongSetting(at+".name", "cannot be echo: that is the provider that repeats the user's words")
		case seen[p.Name]:
			return wrongSetting(at+".name", "is %q, as that of another provider", p.Name)
		case p.BaseURL == "":
			return wrongSetting(at, "(%s) has no base_url", p.Name)
		case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
			return wrongSetting(at+".base_url", "is %q, want the address of a server, as https://api.example.com/v1", p.BaseURL)
		case p.Timeout < 0:
			return wrongSetting(at+".timeout", "cannot be negative")
		case p.MaxRetries != nil && *p.MaxRetries < 0:
			return wrongSetting(at+".max_retries", "cannot be negative")
		}
		seen[p.Name] = true
	}
	return nil
}

// providerNames lists the names that a flow may write under llm.
func (c *Config) providerNames() []string {
	names := []string{"echo"}
	for _, p := range c.LLM.Providers {
		names = append(names, p.Name)
	}
	return names
}

// language is the setting, else what LANG says, else en.
func (c *Config) language() string {
	if c.Language != "" {
		return c.Language
	}
	locale, _, _ := strings.Cut(os.Getenv("LANG"), ".") // zh_CN.UTF-8
	known := c.furtherLanguages().Names()
	for _, name := range calls.WithoutRegion(locale) {
		if slices.Contains(known, name) {
			return name
		}
	}
	return "en"
}

// languages are those that there are texts for.
func (c *Config) languages() *scheduler.Languages {
	l := c.furtherLanguages()
	l.Default = c.language()
	return l
}

func (c *Config) furtherLanguages() *scheduler.Languages {
	l := &scheduler.Languages{Dir: c.Languages}
	if c.Languages != "" {
		l.Files = os.DirFS(c.Languages)
	}
	return l
}
