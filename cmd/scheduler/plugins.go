package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
)

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
			h, err := a.runtime.PluginHost("")
			if err != nil {
				return err
			}
			list, problems := h.List()
			for _, p := range problems {
				for line := range strings.SplitSeq(terminal.Visible(wording.OfError(p).In(string(a.Language))), "\n") {
					a.Tellf("warning: %s", line)
				}
			}
			if asJSON {
				all := []value.Value{}
				for _, s := range list {
					all = append(all, pluginJSON(s, a.settings.DefaultLanguage()))
				}
				return a.PrintJSON(value.OfList(all...))
			}
			if len(list) == 0 {
				a.Tellf("There are no plugins in %s.\nMake one: scheduler plugins init --lang go my-first", strings.Join(a.pluginFolders(), ", "))
			}
			_, err = fmt.Fprint(a.Stdout, a.pluginList(list))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// pluginFolders returns the folders that plugins are looked for in, for messages.
func (a *app) pluginFolders() []string {
	return slices.Concat(a.settings.Plugins.Folders, []string{filepath.Join(a.settings.StateDir, "plugins")}, a.settings.Plugins.Paths)
}

// stateWords returns a state as people read it.
func stateWords(s manifest.State, language terminal.Language) string {
	switch s {
	case manifest.Untrusted:
		return language.Say("not trusted")
	case manifest.NoProgram:
		return language.Say("no program")
	case manifest.Trusted, manifest.Changed, manifest.Missing:
	}
	return language.Say(string(s))
}

// pluginList returns the list for people: a line for each plugin, and one for each thing
// that flows can name.
func (a *app) pluginList(list []manifest.Status) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s %s: %s\n", s.Name, s.Version, stateWords(s.State, a.Language))
		if s.Description != "" {
			fmt.Fprintf(&b, "  %s\n", s.Description)
		}
		if s.Dir != "" {
			b.WriteString("  " + a.Language.Say("in %s", shortPath(s.Dir)) + "\n")
		}
		if s.Entry != nil {
			writeOffers(&b, s.Entry, a.settings.DefaultLanguage())
		}
	}
	return terminal.Visible(b.String())
}

// writeOffers lists the calls and functions of a plugin by the names that flows use.
func writeOffers(b *strings.Builder, e *manifest.Entry, language string) {
	for i := range e.Functions {
		f := &e.Functions[i]
		fmt.Fprintf(b, "  %s  %s\n", functionUsage(e.Name, f), f.Doc().In(language))
	}
}

// functionUsage returns how a flow names a function.
func functionUsage(plugin string, f *manifest.Function) string {
	switch f.Kind {
	case manifest.Importance:
		return "importance_func: " + f.Title(plugin)
	case manifest.Check:
		return "plugin: " + f.Title(plugin)
	case manifest.Variable:
		return "{{ " + f.Title(plugin) + " }}"
	case manifest.Call:
	}
	return "call: " + f.Title(plugin)
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
		if a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		h, err := a.runtime.PluginHost("")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := h.List()
		var names []string
		for _, s := range list {
			if s.Entry != nil || !trusted {
				names = append(names, s.Name+"\t"+stateWords(s.State, a.Language))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
