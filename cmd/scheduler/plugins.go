package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/scheduler/flow"
)

// pluginParts is what the process shares of plugins: one host, which starts a plugin
// when a flow asks for it, and one registry. The zero value opens them when they are
// first wanted.
type pluginParts struct {
	// dir is where relative paths of plugins start; "" is the working directory.
	dir string

	mu       sync.Mutex
	host     *host.Host
	registry *calls.Registry
}

// startIn makes relative paths of plugins start where a run began, as far as that is
// still there.
func (p *pluginParts) startIn(dir string) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		p.dir = dir
	}
}

// workingDir is the working directory; "" where nobody knows it.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// openPlugins gives the host of plugins. Nothing is started.
func (a *app) openPlugins() (*host.Host, error) {
	p := &a.plugins
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.host != nil {
		return p.host, nil
	}
	c := a.config.Plugins
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log)); err != nil {
		return nil, usageError(err)
	}
	within := func(paths ...string) (full []string) {
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				path = filepath.Join(p.dir, path)
			}
			full = append(full, path)
		}
		return full
	}
	h, err := host.Open(host.Options{
		Folders:          slices.Concat(within(c.Folders...), []string{filepath.Join(a.config.StateDir, "plugins")}),
		Plugins:          within(c.Paths...),
		LockFile:         within(c.LockFile)[0],
		Log:              a.pluginLog(level),
		AutoMTLS:         c.AutoMTLS,
		Reaper:           true,
		BuiltInVariables: variableNames(),
	})
	if err != nil {
		return nil, usageError(err)
	}
	p.host = h
	return h, nil
}

// pluginLog is where plugins write to: standard error, without the secrets that a flow
// may have given them.
func (a *app) pluginLog(level slog.Level) *slog.Logger {
	var masks []string
	for _, secret := range a.secretTexts() {
		masks = append(masks, secret, "***")
	}
	mask := strings.NewReplacer(masks...)
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		if attr.Value.Kind() == slog.KindString {
			attr.Value = slog.StringValue(mask.Replace(attr.Value.String()))
		}
		return attr
	}}))
}

// variableNames are those of the built-in variables: no plugin can have them.
func variableNames() (names []string) {
	for _, v := range builtin.Variables() {
		names = append(names, v.Name)
	}
	return names
}

// registry is everything that a flow can name: what is built in, and what trusted
// plugins give.
func (a *app) registry() (*calls.Registry, error) {
	h, err := a.openPlugins()
	if err != nil {
		return nil, err
	}
	a.plugins.mu.Lock()
	defer a.plugins.mu.Unlock()
	if a.plugins.registry != nil {
		return a.plugins.registry, nil
	}
	registry, err := builtin.Registry()
	if err != nil {
		return nil, err
	}
	if err := h.Register(registry); err != nil {
		return nil, usageError(calls.Errorf(calls.Invalid, "the lock file of plugins: %w", err).
			WithHint("keep one of them: scheduler plugins untrust NAME takes the other out of %s", a.config.Plugins.LockFile))
	}
	a.plugins.registry = registry
	return registry, nil
}

// parseShown reads a flow as the journal kept it, to be looked at and not to be run:
// plugins may have changed, or be gone from their folders.
func (a *app) parseShown(file string, source []byte, files map[string][]byte) (*flow.Flow, flow.Problems) {
	h, err := a.openPlugins()
	var registry *calls.Registry
	if err == nil {
		registry, err = builtin.Registry()
	}
	if err == nil {
		err = h.Register(registry)
	}
	if err != nil {
		return nil, flow.Problems{{Pos: flow.Position{File: file, Line: 1, Col: 1}, Message: err.Error()}}
	}
	registry.SetPluginCheck(nil)
	return (&flow.Loader{Registry: registry}).LoadText(file, source, files)
}

// closePlugins ends all plugins, in bounded time.
func (a *app) closePlugins() {
	a.plugins.mu.Lock()
	h := a.plugins.host
	a.plugins.mu.Unlock()
	if h == nil {
		return
	}
	if err := h.Close(); err != nil {
		fmt.Fprintf(a.Stderr, "warning: ending the plugins: %v\n", err)
	}
}

func newPlugins(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List, write, check and trust plugins",
		Long: `Plugins are programs of their own, in any language, that offer importance functions,
variables and calls. A folder with a plugin.yaml is one. They are looked for in
./plugins.d, in plugins below the state directory, and where the settings say; only
those that you trust are started, when a flow uses them.`,
		Example: strings.Trim(`
  scheduler plugins init --lang go my-first    # writes plugins.d/my-first
  scheduler plugins verify plugins.d/my-first
  scheduler plugins trust my-first
  scheduler plugins list`, "\n"),
		Args: onlySubcommands,
	}
	list := newPluginsList(a)
	cmd.RunE = list.RunE
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, newPluginsInit(a), newPluginsVerify(a), newPluginsTrust(a), newPluginsUntrust(a))
	return cmd
}

func newPluginsList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins and what they offer; starts nothing",
		Long: `List the plugins that were found or are trusted, from files alone: nothing is started.

  trusted      flows can use it
  not trusted  it never was: scheduler plugins trust NAME
  changed      its folder is not the one that was trusted: trust it again if you know why
  no program   the command of its plugin.yaml is not there: build or install it
  missing      trusted, but in no folder`,
		Example: "  scheduler plugins list\n  scheduler plugins list --json | jq -r '.[].functions[].name'",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.openPlugins()
			if err != nil {
				return err
			}
			list, problems := h.List()
			for _, p := range problems {
				for line := range strings.SplitSeq(terminal.Visible(p.Error()), "\n") {
					fmt.Fprintf(a.Stderr, "warning: %s\n", line)
				}
			}
			if asJSON {
				all := []value.Value{}
				for _, s := range list {
					all = append(all, pluginJSON(s, a.config.DefaultLanguage()))
				}
				return a.PrintJSON(value.OfList(all...))
			}
			if len(list) == 0 {
				fmt.Fprintf(a.Stderr, "There are no plugins in %s.\nMake one: scheduler plugins init --lang go my-first\n", strings.Join(a.pluginFolders(), ", "))
			}
			_, err = fmt.Fprint(a.Stdout, a.pluginList(list))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// pluginFolders are the folders that plugins are looked for in, for messages.
func (a *app) pluginFolders() []string {
	return slices.Concat(a.config.Plugins.Folders, []string{filepath.Join(a.config.StateDir, "plugins")}, a.config.Plugins.Paths)
}

// stateWords is a state as people read it.
func stateWords(s manifest.State) string {
	switch s {
	case manifest.Untrusted:
		return "not trusted"
	case manifest.NoProgram:
		return "no program"
	case manifest.Trusted, manifest.Changed, manifest.Missing:
	}
	return string(s)
}

// pluginList is the list for people: a line for each plugin, and one for each thing
// that flows can name.
func (a *app) pluginList(list []manifest.Status) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s %s: %s\n", s.Name, s.Version, stateWords(s.State))
		if s.Description != "" {
			fmt.Fprintf(&b, "  %s\n", s.Description)
		}
		if s.Dir != "" {
			fmt.Fprintf(&b, "  in %s\n", shortPath(s.Dir))
		}
		if s.Entry != nil {
			offers(&b, s.Entry, a.config.DefaultLanguage())
		}
	}
	return terminal.Visible(b.String())
}

// offers lists what flows can name of a plugin, as they write it.
func offers(b *strings.Builder, e *manifest.Entry, language string) {
	for i := range e.Functions {
		f := &e.Functions[i]
		fmt.Fprintf(b, "  %s  %s\n", usage(e.Name, f), f.Doc().In(language))
	}
}

// usage is how a flow names a function.
func usage(plugin string, f *manifest.Function) string {
	switch f.Kind {
	case manifest.Importance:
		return "importance_func: " + f.Title(plugin)
	case manifest.Variable:
		return "{{ " + f.Title(plugin) + " }}"
	case manifest.Call:
	}
	return "call: " + f.Title(plugin)
}

// shortPath is a path below the working directory without that, for people.
func shortPath(path string) string {
	cwd, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func pluginJSON(s manifest.Status, language string) value.Value {
	doc := value.Pairs("name", s.Name, "version", s.Version, "state", string(s.State), "description", s.Description, "dir", s.Dir)
	functions := []value.Value{}
	if e := s.Entry; e != nil {
		doc.Set("sha256", value.OfString(e.SHA256))
		doc.Set("command", value.Must(e.Command))
		doc.Set("services", value.Must(slices.Concat([]string{}, e.Services)))
		doc.Set("env", value.Must(slices.Concat([]string{}, e.Env)))
		for i := range e.Functions {
			f := &e.Functions[i]
			functions = append(functions, value.OfMap(value.Pairs("name", f.Title(e.Name), "kind", string(f.Kind), "summary", f.Doc().In(language))))
		}
	}
	doc.Set("functions", value.OfList(functions...))
	return value.OfMap(doc)
}

// completePlugins offers the names of plugins, all or those that are in the lock file.
func completePlugins(a *app, trusted bool) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if !a.settle() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		h, err := a.openPlugins()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := h.List()
		var names []string
		for _, s := range list {
			if s.Entry != nil || !trusted {
				names = append(names, s.Name+"\t"+stateWords(s.State))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
