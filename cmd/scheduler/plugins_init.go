package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	pluginproject "github.com/callnode/scheduler/plugins/project"
)

func newPluginsInit(a *app) *cobra.Command {
	var language, source string
	cmd := &cobra.Command{
		Use:   "init --lang go|python|node NAME",
		Short: "Write a plugin that works, with a test, to start from",
		Long: `Write the project of a plugin that works: one function of every kind, and a test. NAME
is the plugin's, in kebab-case; the project gets into plugins.d/NAME, or into the
folder whose path is given (my/folder/NAME). A folder with files is left alone.

A plugin in Go builds with the module ` + pluginproject.Module + ` of this version. A
version that is not published has to be built from a source folder: that is found
from the program (bin/scheduler in a clone) or the working directory, or named with
--source.`,
		Example: strings.Trim(`
  scheduler plugins init --lang go my-first          # plugins.d/my-first
  scheduler plugins init --lang python ./tools/words
  scheduler plugins init --lang go --source ~/src/scheduler my-first`, "\n"),
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.initPlugin(args[0], language, source)
		},
	}
	cmd.Flags().StringVar(&language, "lang", "", "go, python or node")
	cmd.Flags().StringVar(&source, "source", "", "for Go: the `folder` with the source of scheduler to build with")
	_ = cmd.MarkFlagRequired("lang") // fails only for a flag that is not there
	_ = cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(pluginproject.Languages(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) initPlugin(path, language, source string) error {
	dir := filepath.Clean(path)
	if !strings.ContainsAny(path, `/\`) && path != "." {
		dir = filepath.Join("plugins.d", path)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return usageError(err)
	}
	o := pluginproject.Options{Name: filepath.Base(full), Language: language}
	if err := o.ChooseModule(buildVersion(), source); err != nil {
		return usageError(err)
	}
	next, err := pluginproject.Write(dir, o)
	if err != nil {
		return usageError(err)
	}
	a.Tellf("created %s", dir)
	if o.Replace != "" {
		a.Tellf("go.mod builds with the source of scheduler in %s", o.Replace)
	} else if language == "go" && o.Version == "" {
		a.Tellf("warning: this program is not a release (%s): name its source with --source, or add to go.mod\n  replace %s => FOLDER OF ITS SOURCE", buildVersion(), pluginproject.Module)
	}
	next = append(append([]string{"cd " + terminal.ShellQuote(dir)}, next...), "cd -", "scheduler plugins verify "+terminal.ShellQuote(dir), "scheduler plugins trust "+o.Name)
	a.Tellf("\nNext:\n  %s", strings.Join(next, "\n  "))
	if parent := filepath.Dir(full); !slices.ContainsFunc(a.pluginFolders(), func(folder string) bool { return sameFolder(folder, parent) }) {
		a.Tellf("\nPlugins are looked for in %s: for this one, add to scheduler.yaml\n  plugins: {paths: [%s]}",
			strings.Join(a.pluginFolders(), ", "), terminal.ShellQuote(dir))
	}
	return nil
}

// sameFolder reports whether two paths are the same, if they are readable.
func sameFolder(a, b string) bool {
	full, err := filepath.Abs(a)
	return err == nil && full == filepath.Clean(b)
}
