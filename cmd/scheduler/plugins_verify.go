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
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/verify"
)

func newPluginsVerify(a *app) *cobra.Command {
	var asJSON, log bool
	cmd := &cobra.Command{
		Use:   "verify FOLDER",
		Short: "Hold a plugin to everything that scheduler relies on",
		Long: `Start the plugin in a folder, trusted or not, and hold it to everything that scheduler
relies on: what it says of itself, every function, wrong and cancelled requests, many
at once, and its end. Its examples are run. Exit code 1 means that something fails.`,
		Example: "  scheduler plugins verify plugins.d/my-first\n  scheduler plugins verify . --log    # with what the plugin writes",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0], log, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {plugin, version, ok, checks} as JSON")
	cmd.Flags().BoolVar(&log, "log", false, "show what the plugin writes to stdout, stderr and the log")
	return cmd
}

func (a *app) verify(ctx context.Context, dir string, log, asJSON bool) error {
	m, err := manifest.Read(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("there is no folder %s", dir)
			if _, statErr := os.Stat(dir); statErr == nil {
				err = fmt.Errorf("%s is no plugin: it has no %s", dir, manifest.FileName)
			}
		}
		return usageError(err)
	}
	opts := host.Options{AutoMTLS: a.settings.Plugins.AutoMTLS, Reaper: true}
	if log {
		opts.Log = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	h, err := host.Single(ctx, dir, opts)
	switch {
	case err != nil && ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted")}
	case err != nil:
		return exitError{exitFailed, err}
	}
	results := verify.Run(ctx, h, m.Name)
	if err := h.Close(); err != nil {
		results = append(results, verify.Result{Check: "leaves nothing behind", Err: err})
	}
	if ctx.Err() != nil {
		return exitError{exitInterrupted, errors.New("interrupted")}
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
		return exitError{exitFailed, fmt.Errorf("%s fails %d of %d checks", m.Name, failed, len(results))}
	}
	if !asJSON {
		fmt.Fprintf(a.Stderr, "%s holds to all %d checks.\n", m.Name, len(results))
	}
	return nil
}
