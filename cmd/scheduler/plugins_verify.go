package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/verify"
)

func newPluginsVerify(a *app) *cobra.Command {
	var asJSON, log bool
	cmd := &cobra.Command{
		Use:   "verify FOLDER|NAME",
		Short: "Check that a plugin does everything that scheduler relies on",
		Long: `Start a plugin, trusted or not, and check everything that scheduler relies on: how it
describes itself, every function, wrong and cancelled requests, many at once, and its
end. Its examples are run. It is given by its folder, or by its name where it is found
as a plugin. Exit code 1 means that a check fails.`,
		Example: "  scheduler plugins verify my-first\n  scheduler plugins verify plugins.d/my-first\n  scheduler plugins verify . --log    # with what the plugin writes",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			names, _ := completePlugins(a, false)(cmd, args, typed)
			return names, cobra.ShellCompDirectiveDefault // if no name fits, the shell offers files
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verifyPlugin(cmd.Context(), args[0], log, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {plugin, version, ok, checks} as JSON")
	cmd.Flags().BoolVar(&log, "log", false, "show what the plugin writes to stdout, stderr and the log")
	return cmd
}

// pluginFolder returns the folder of a plugin that is given by its folder or its name. A
// word that is both is the folder.
func (a *app) pluginFolder(word string) (string, error) {
	if info, err := os.Stat(word); err == nil {
		if info.IsDir() {
			return word, nil
		}
		return "", wording.Errorf("%s is not a folder (give the folder of a plugin, or its name)", word)
	}
	if strings.ContainsAny(word, `/\`) {
		return "", wording.Errorf("there is no folder %s", word)
	}
	h, err := a.runtime.PluginHost("")
	if err != nil {
		return "", err
	}
	return h.Dir(word)
}

func (a *app) verifyPlugin(ctx context.Context, word string, log, asJSON bool) error {
	dir, err := a.pluginFolder(word)
	if err != nil {
		return usageError(err)
	}
	m, err := manifest.Read(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = wording.Errorf("%s is not a plugin: it has no %s", dir, manifest.FileName)
		}
		return usageError(err)
	}
	opts := host.Options{AutoMTLS: a.settings.Plugins.AutoMTLS, Reaper: true}
	if log {
		opts.Log = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	results, err := verify.Folder(ctx, dir, m.Name, opts)
	if ctx.Err() != nil {
		return exitError{exitInterrupted, wording.Errorf("interrupted")}
	}
	if err != nil {
		return exitError{exitFailed, err}
	}
	failed := 0
	var b strings.Builder
	checks := []value.Value{}
	for _, r := range results {
		check := value.Pairs("check", r.Check, "ok", r.Err == nil)
		if r.Err == nil {
			fmt.Fprintf(&b, "ok    %s\n", r.Check)
		} else {
			failed++
			fmt.Fprintf(&b, "FAIL  %s\n", r.Check)
			terminal.Indent(&b, r.Err.Error())
			check.Set("error", value.OfString(r.Err.Error()))
		}
		checks = append(checks, value.OfMap(check))
	}
	text := b.String()
	if asJSON {
		err = a.PrintJSON(value.OfMap(value.Pairs("plugin", m.Name, "version", m.Version, "ok", failed == 0, "checks", checks)))
	} else {
		_, err = fmt.Fprint(a.Stdout, terminal.Visible(text))
	}
	if err != nil {
		return err
	}
	if failed > 0 {
		return exitError{exitFailed, wording.Errorf("%s fails %d of %d checks", m.Name, failed, len(results))}
	}
	if !asJSON {
		a.Tellf("%s passes all %d checks.", m.Name, len(results))
	}
	return nil
}
