package config

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"net/url"
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

// Place names the settings that are read.
type Place struct {
	// File is the settings file; "" is the project's ([Settings] Root).
	File string
	// StateDir is the state directory; "" is the setting. If its parent folder has a settings file, that one applies.
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

// findFile returns the path of the settings file, "" if there is none, and the directory of the project, "" if
// that is the working directory.
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

// OtherSettings returns the settings file of the project that a flow is in, if these settings are not from it; else "". The
// program reads the settings of the folder that it runs in, for any flow.
func (c *Settings) OtherSettings(flow string) string {
	dir, err := filepath.Abs(filepath.Dir(flow))
	if err != nil {
		return ""
	}
	read := ""
	if c.file != nil {
		read, _ = filepath.Abs(c.file.path) // it was read from there
	}
	for here := range FoldersUp(dir) {
		file := filepath.Join(here, fileName)
		switch {
		case file == read:
			return ""
		case pathExists(file):
			return file
		}
	}
	return ""
}

// FoldersUp yields a folder and its parents in which to look for a project: up to the root, or until just below a
// folder that all users share, for example /tmp. Anybody could put a project there, and its flows would be run.
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

// isSharedFolder reports whether every user may create files in a folder but may not remove other users' files
// (the sticky bit), as in folders for temporary files.
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

// readSettings reads the settings file and checks it against the schema of [Settings]; nil if path is "".
func readSettings(path string) (*settingsFile, error) {
	if path == "" {
		return nil, nil
	}
	text, err := calls.ReadFile(path, yaml.MaxBytes)
	if err != nil {
		return nil, wording.Errorf("reading the settings: %w", err)
	}
	f := &settingsFile{path: path}
	root, err := yaml.Parse(text)
	if err == nil && root != nil {
		f.root = root
		f.settings, err = yaml.Value(root)
	}
	if fault := (*yaml.Error)(nil); errors.As(err, &fault) {
		message, hint := fault.Text()
		return nil, flow.Problems{flow.NewProblem(flow.Position{File: path, Line: fault.Line, Col: max(fault.Col, 1)}, message, hint)}
	}
	if err != nil || root == nil {
		return f, err
	}
	s := configSchema()
	f.settings = asSettings(f.settings, s.Doc())
	if wrong := checkSettings(f.settings, s, new(Settings)); len(wrong) > 0 {
		return nil, f.placeErrors(wrong)
	}
	return f, nil
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

// anchorPaths makes the paths of a settings file relative to that file, whichever directory the program is started
// in. Paths from the environment stay relative to the working directory.
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
	if strings.ContainsAny(c.Temporal.Program, `/\`) { // a bare name is looked for on PATH
		from("SCHEDULER_TEMPORAL_PROGRAM", &c.Temporal.Program)
	}
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
	if err := c.LLM.checkList("llm.default", c.LLM.Default); err != nil {
		return err
	}
	if err := c.KnownLanguages().Check(c.DefaultLanguage()); err != nil {
		return wrongSetting("language", "%w", err)
	}
	if _, err := c.CallApprovals(); err != nil {
		return err
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
	if err := c.checkZones(); err != nil {
		return err
	}
	return c.Memory.check(&c.LLM)
}

// readStore takes the URL of the store from its variable, and checks it with the settings that depend on it. No
// error shows the URL, which may hold a password.
func (c *Settings) readStore() error {
	setting := "store"
	if text := os.Getenv(c.StoreEnv); c.StoreEnv != "" && text != "" {
		c.Store = text
		if c.StoreEnv != settingVariable("store") {
			setting = "store_env"
		}
	} else if c.Store == "" && c.StoreEnv != "" && c.StoreEnv != settingVariable("store") {
		return wrongSetting("store_env", "the environment variable %s is not set", c.StoreEnv)
	}
	if c.Store == "" || c.Store == StoreLocal {
		c.Store = ""
		return nil
	}
	if _, err := url.Parse(c.Store); err != nil || !IsStoreURL(c.Store) {
		return wrongSetting(setting, "this is not the URL of a Postgres database (use postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %%XX, or local)")
	}
	if c.Memory.Mirror != "" {
		return wrongSetting("memory.mirror", "a mirror does not see what other machines save in the store (leave it out, and use scheduler memory export)")
	}
	_, err := c.Journal.ImageKey()
	return err
}

// settingNames returns the names of all settings, such as run.max_parallel.
func settingNames() (names []string) {
	var walk func(doc value.Value, section string)
	walk = func(doc value.Value, section string) {
		properties, _ := doc.Get("properties")
		for key, property := range properties.Map().All() {
			if _, isSection := property.Get("properties"); isSection {
				walk(property, section+key+".")
				continue
			}
			names = append(names, section+key)
		}
	}
	walk(configSchema().Doc(), "")
	return names
}

// UnknownVariables returns the names of environment variables that look like settings but are not,
// each with the setting that it may be meant to be.
// They may belong to another program, so they are worth a warning, not an error.
func UnknownVariables(environment []string) (names []string) {
	known := map[string]bool{}
	for _, setting := range settingNames() {
		known[settingVariable(setting)] = true
	}
	for _, entry := range environment {
		name, text, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "SCHEDULER_") && !known[name] && text != "" {
			names = append(names, name+value.DidYouMeanSuffix(name, slices.Sorted(maps.Keys(known))).En)
		}
	}
	return names
}
