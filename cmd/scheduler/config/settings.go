// Package config is the settings of the program: the defaults, the settings file over
// them and the environment over both, with the place of everything that is wrong.
package config

import (
	"bytes"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/configs"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Settings are those of the program; configs/scheduler.yaml documents each of them.
// [Load] makes them. They do not change then, so that all parts of a process may share
// them.
type Settings struct {
	Language string `json:"language,omitempty"`
	StateDir string `json:"state_dir,omitempty" min:"1"`
	// Store is the URL of the Postgres database that has the journal and the memory; "" keeps
	// them in the state directory. It may hold a password: no message shows it. [Load] takes
	// it from the variable StoreEnv where that is set.
	Store     string   `json:"store,omitempty"`
	StoreEnv  string   `json:"store_env,omitempty"`
	Journal   Journal  `json:"journal,omitempty"`
	Languages string   `json:"languages,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	LLM       LLM      `json:"llm,omitempty"`
	Media     []string `json:"media_roots,omitempty"`
	HTTP      HTTP     `json:"http,omitempty"`
	Run       Run      `json:"run,omitempty"`
	Plugins   Plugins  `json:"plugins,omitempty"`
	MCP       MCP      `json:"mcp,omitempty"`
	Memory    Memory   `json:"memory,omitempty"`
	Serve     Serve    `json:"serve,omitempty"`
	// On is where runs are carried out: "" or local, or temporal://HOST:PORT.
	On       string   `json:"on,omitempty"`
	Temporal Temporal `json:"temporal,omitempty"`
	Worker   Worker   `json:"worker,omitempty"`

	// Root is the directory of the project: the nearest one, from the working directory
	// upward, with a settings file or a state directory. "" is the working directory.
	Root string `json:"-"`

	file *settingsFile // the file that was read; nil for none
}

// HTTP is what the call http may reach beside the public Internet.
type HTTP struct {
	AllowHosts []string `json:"allow_hosts,omitempty"`
}

// LLM is the settings of model providers.
type LLM struct {
	Default   string     `json:"default,omitempty"`
	Mode      string     `json:"mode,omitempty" enum:"auto|live|record|replay"`
	Providers []Provider `json:"providers,omitempty"`
}

// Journal is how runs are recorded.
type Journal struct {
	Durability string `json:"durability,omitempty" enum:"sync|async"`
	KeyEnv     string `json:"key_env,omitempty"`
}

// Run bounds how many steps of a run work at once and in all, the outputs that it holds,
// and how long it waits for steps that were cancelled.
type Run struct {
	MaxParallel    int            `json:"max_parallel,omitempty" min:"1"`
	MaxSteps       int            `json:"max_steps,omitempty" min:"1"`
	MaxOutputBytes ByteSize       `json:"max_output_bytes,omitempty"`
	CancelGrace    value.Duration `json:"cancel_grace,omitempty"`
}

// Plugins is where plugins are, and which of them are trusted.
type Plugins struct {
	Folders  []string `json:"folders,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	LockFile string   `json:"lock_file,omitempty" min:"1"`
	Log      string   `json:"log,omitempty" enum:"debug|info|warn|error"`
	AutoMTLS bool     `json:"auto_mtls,omitempty"`
}

// File returns the path of the settings file that was read; "" where there was none.
func (c *Settings) File() string { return c.file.filePath() }

// Place names the settings that are read.
type Place struct {
	// File is the settings file; "" is that of the project ([Settings] Root).
	File string
	// StateDir is the state directory; "" is the setting. Where the folder around it has a
	// settings file, that is the project's.
	StateDir string
}

// Load reads the defaults, the file over them and the environment over both. types are
// the kinds of model servers that llm.providers can name.
func Load(place Place, types []ProviderType) (*Settings, error) {
	path, root := place.findFile()
	file, err := readSettings(path)
	if err != nil {
		return nil, err
	}
	settings, err := mergeSettings(file)
	if err != nil {
		return nil, err
	}
	cfg := &Settings{file: file, Root: root}
	if wrong := checkSettings(settings, configSchema(), cfg); len(wrong) > 0 {
		return nil, file.placeErrors(wrong)
	}
	cfg.anchorPaths()
	if place.StateDir != "" {
		cfg.StateDir = place.StateDir
	} else if !filepath.IsAbs(cfg.StateDir) && os.Getenv(settingVariable("state_dir")) == "" {
		cfg.StateDir = filepath.Join(root, cfg.StateDir)
	}
	if err := cfg.readStore(); err != nil {
		return nil, file.placeErrors(err)
	}
	if err := cfg.check(types); err != nil {
		return nil, file.placeErrors(err)
	}
	return cfg, nil
}

// The names that mark the directory of a project.
const (
	fileName     = "scheduler.yaml"
	stateDirName = ".scheduler"
)

// findFile returns the path of the settings file, "" where there is none, and the directory of
// the project, "" where that is the working directory.
func (p Place) findFile() (file, root string) {
	if p.File != "" {
		return p.File, ""
	}
	if around := filepath.Dir(filepath.Clean(p.StateDir)); p.StateDir != "" && pathExists(filepath.Join(around, fileName)) {
		return filepath.Join(around, fileName), ""
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", ""
	}
	for here := range FoldersUp(dir) {
		if here != dir {
			root = here
		}
		if pathExists(filepath.Join(here, fileName)) {
			return filepath.Join(root, fileName), root
		}
		if pathExists(filepath.Join(here, stateDirName)) {
			return "", root
		}
	}
	return "", ""
}

// FoldersUp yields a folder and those above it in which a project is looked for: up to the root, or
// to below a folder that all users share, as /tmp is. What lies there may be anybody's, and a
// project is what is run.
func FoldersUp(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for here := dir; ; here = filepath.Dir(here) {
			isShared := isSharedFolder(here)
			if here != dir && isShared || !yield(here) {
				return
			}
			if isShared || filepath.Dir(here) == here {
				return
			}
		}
	}
}

// isSharedFolder reports whether everybody may write into a folder, and nobody remove what is
// another's: that is what folders for temporary files are like.
func isSharedFolder(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	const writableByAll = 0o002
	return info.Mode()&fs.ModeSticky != 0 && info.Mode().Perm()&writableByAll != 0
}

// pathExists reports whether there is a file or a directory.
func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readSettings reads the settings file; nil where path is "".
func readSettings(path string) (*settingsFile, error) {
	if path == "" {
		return nil, nil
	}
	text, err := calls.ReadFile(path, yaml.MaxBytes)
	if err != nil {
		return nil, wording.Errorf("reading the settings: %w", err)
	}
	return parseSettings(path, text)
}

// mergeSettings returns the defaults, the file over them and the environment over both.
func mergeSettings(file *settingsFile) (value.Value, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	v.SetEnvPrefix("SCHEDULER")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	if err := v.ReadConfig(bytes.NewReader(configs.Defaults)); err != nil {
		return value.Value{}, wording.Errorf("reading the default settings: %w", err)
	}
	var providers value.Value
	if file != nil && file.settings.Kind() == value.Object {
		if err := v.MergeConfigMap(file.settings.Any().(map[string]any)); err != nil {
			return value.Value{}, wording.Errorf("reading the settings %s: %w", file.path, err)
		}
		providers, _ = file.settings.At("/llm/providers")
	}
	merged, err := value.Of(v.AllSettings())
	if err != nil {
		return value.Value{}, wording.Errorf("merging the settings: %w", err)
	}
	if os.Getenv(settingVariable("llm.providers")) == "" && !providers.IsNull() {
		llm, _ := merged.Get("llm")
		llm.Map().Set("providers", providers) // as written: the library lowers the case of keys
	}
	return asSettings(merged, configSchema().Doc()), nil
}

// anchorPaths makes the paths of a settings file those that the file means, from wherever
// the program is started. Those of the environment are as the shell means them.
func (c *Settings) anchorPaths() {
	if c.file.filePath() == "" {
		return
	}
	from := func(variable string, path *string) {
		if *path != "" && !filepath.IsAbs(*path) && os.Getenv(variable) == "" {
			*path = filepath.Join(filepath.Dir(c.file.path), *path)
		}
	}
	from("SCHEDULER_LANGUAGES", &c.Languages)
	for i := range c.Media {
		from("SCHEDULER_MEDIA_ROOTS", &c.Media[i])
	}
}

// check finds values that make no sense.
func (c *Settings) check(types []ProviderType) error {
	if _, err := guard.NewClient(c.HTTP.AllowHosts); err != nil {
		return wrongSetting("http.allow_hosts", "%w", err)
	}
	if err := c.LLM.check(types); err != nil {
		return err
	}
	if c.LLM.Default != "" && !slices.Contains(c.LLM.Names(), c.LLM.Default) {
		return wrongSetting("llm.default", "unknown provider %q%s", c.LLM.Default, value.DidYouMeanOrListSuffix(c.LLM.Default, c.LLM.Names()))
	}
	if err := c.KnownLanguages().Check(c.DefaultLanguage()); err != nil {
		return wrongSetting("language", "%w", err)
	}
	if err := c.MCP.check(); err != nil {
		return err
	}
	if err := c.Serve.check(&c.LLM); err != nil {
		return err
	}
	if err := c.Temporal.check(c.On); err != nil {
		return err
	}
	return c.Memory.check(&c.LLM)
}

// DefaultLanguage returns the setting, else the language of LANG, else en.
func (c *Settings) DefaultLanguage() string {
	if c.Language != "" {
		return c.Language
	}
	locale, _, _ := strings.Cut(os.Getenv("LANG"), ".") // zh_CN.UTF-8
	known := c.FurtherLanguages().Names()
	for _, name := range calls.WithoutRegion(locale) {
		if slices.Contains(known, name) {
			return name
		}
	}
	return "en"
}

// KnownLanguages returns those that there are texts for.
func (c *Settings) KnownLanguages() *flow.Languages {
	l := c.FurtherLanguages()
	l.Default = c.DefaultLanguage()
	return l
}

// FurtherLanguages returns those that the setting languages adds to the built-in ones.
func (c *Settings) FurtherLanguages() *flow.Languages {
	l := &flow.Languages{Dir: c.Languages}
	if c.Languages != "" {
		l.Files = os.DirFS(c.Languages)
	}
	return l
}
