package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/configs"
	"github.com/callnode/scheduler/llm/value"
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

	path string // the file that was read; "" for none
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
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		if err := v.MergeConfig(bytes.NewReader(text)); err != nil {
			return nil, usageError(fmt.Errorf("reading the settings %s: %w", path, err))
		}
	case named || !errors.Is(err, fs.ErrNotExist):
		return nil, usageError(fmt.Errorf("reading the settings: %w", err))
	}
	cfg := new(Config)
	if err == nil {
		cfg.path = path
	}
	if err := v.UnmarshalExact(cfg, viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(
		durationWithUnit, mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(",")))); err != nil {
		return nil, usageError(fmt.Errorf("in the settings %s: %s", path, settingsHint(err)))
	}
	cfg.anchor()
	return cfg, cfg.check(path)
}

// anchor makes the paths of a settings file those that the file means, from wherever
// the program is started. Those of the environment are as the shell means them.
func (c *Config) anchor() {
	from := func(variable string, path *string) {
		if c.path != "" && *path != "" && !filepath.IsAbs(*path) && os.Getenv(variable) == "" {
			*path = filepath.Join(filepath.Dir(c.path), *path)
		}
	}
	from("SCHEDULER_LANGUAGES", &c.Languages)
	for i := range c.Media {
		from("SCHEDULER_MEDIA_ROOTS", &c.Media[i])
	}
}

// durationWithUnit refuses a bare number where a duration belongs: it would count
// nanoseconds.
func durationWithUnit(from, to reflect.Type, data any) (any, error) {
	if to == reflect.TypeFor[time.Duration]() && from.Kind() != reflect.String && from != to {
		return nil, fmt.Errorf("%v is a duration without a unit: write %vs or %vms", data, data, data)
	}
	return data, nil
}

// settingsHint words the library's complaint about unknown keys as ours.
func settingsHint(err error) string {
	text := strings.TrimPrefix(err.Error(), "decoding failed due to the following error(s):\n\n")
	var known []string
	for t := range fieldNames(reflect.TypeFor[Config]()) {
		known = append(known, t)
	}
	slices.Sort(known)
	if _, keys, found := strings.Cut(text, "has invalid keys: "); found {
		key, _, _ := strings.Cut(strings.TrimSpace(keys), ",")
		if near := value.Nearest(key, known); near != "" {
			return fmt.Sprintf("unknown setting %q (did you mean %q?)", key, near)
		}
		return fmt.Sprintf("unknown setting %q (the settings are in configs/scheduler.yaml)", key)
	}
	return strings.TrimSpace(text)
}

// fieldNames is the set of all setting names, at any depth.
func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	switch t.Kind() {
	case reflect.Slice:
		return fieldNames(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				continue
			}
			names[t.Field(i).Tag.Get("mapstructure")] = true
			for n := range fieldNames(t.Field(i).Type) {
				names[n] = true
			}
		}
	}
	return names
}

func (c *Config) check(path string) error {
	modes := []string{"auto", "live", "record", "replay"}
	if !slices.Contains(modes, c.LLM.Mode) {
		return usageError(fmt.Errorf("in the settings %s: llm.mode is %q, want one of %s", path, c.LLM.Mode, strings.Join(modes, ", ")))
	}
	if _, err := guard.NewClient(c.HTTP.AllowHosts); err != nil {
		return usageError(fmt.Errorf("in the settings %s: http.allow_hosts: %w", path, err))
	}
	seen := map[string]bool{"echo": true}
	for i, p := range c.LLM.Providers {
		switch {
		case p.Name == "":
			return usageError(fmt.Errorf("in the settings %s: llm.providers[%d] has no name", path, i))
		case seen[p.Name]:
			return usageError(fmt.Errorf("in the settings %s: two providers are called %q", path, p.Name))
		case p.BaseURL == "":
			return usageError(fmt.Errorf("in the settings %s: the provider %q has no base_url", path, p.Name))
		}
		seen[p.Name] = true
	}
	if c.LLM.Default != "" && !seen[c.LLM.Default] {
		return usageError(fmt.Errorf("in the settings %s: llm.default is %q, which is no provider", path, c.LLM.Default))
	}
	if c.StateDir == "" {
		return usageError(fmt.Errorf("in the settings %s: state_dir is empty", path))
	}
	if d := c.Journal.Durability; d != string(scheduler.Sync) && d != string(scheduler.Async) {
		return usageError(fmt.Errorf("in the settings %s: journal.durability is %q, want sync or async", path, d))
	}
	if err := c.Memory.check(c.providerNames()); err != nil {
		return usageError(fmt.Errorf("in the settings %s: %w", path, err))
	}
	if err := c.Plugins.check(); err != nil {
		return usageError(fmt.Errorf("in the settings %s: %w", path, err))
	}
	if c.Run.MaxParallel < 1 {
		return usageError(fmt.Errorf("in the settings %s: run.max_parallel is %d, want at least 1", path, c.Run.MaxParallel))
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
	if strings.HasPrefix(os.Getenv("LANG"), "zh") {
		return "zh"
	}
	return "en"
}
