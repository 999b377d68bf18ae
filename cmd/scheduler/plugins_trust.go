package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

func newPluginsTrust(a *app) *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "trust NAME...",
		Short: "Show what plugins want, ask, and let flows use them",
		Long: `Show what a plugin wants: its command, the environment and the services of scheduler
that it gets, its limits, and what changed since it was last trusted. Then ask; with
yes it is started once to say what it offers, and that is written to the lock file
(plugins.lock.json), with the SHA-256 of its folder. The file can be committed: who
checks the project out trusts the same programs, and no others.

A plugin runs with your rights: to trust it is to say what it is, it is not locked in.`,
		Example:           "  scheduler plugins trust my-first\n  scheduler plugins trust --yes my-first    # in scripts: asks nothing",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completePlugins(a, false),
		RunE: func(cmd *cobra.Command, names []string) error {
			h, err := a.runtime.pluginHost("")
			if err != nil {
				return err
			}
			entries := []value.Value{}
			for _, name := range names {
				e, err := a.trustPlugin(cmd.Context(), h, name, yes)
				if err != nil {
					return err
				}
				entries = append(entries, value.Must(*e))
			}
			if asJSON {
				return a.PrintJSON(value.OfList(entries...))
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was written to the lock file as a JSON array")
	return cmd
}

func newPluginsUntrust(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "untrust NAME...",
		Short: "Take trust back: flows can no longer use the plugins",
		Long: `Take plugins out of the lock file (plugins.lock.json). Their folders stay; nothing is
started. A flow that uses one is refused until it is trusted again.`,
		Example:           "  scheduler plugins untrust my-first",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completePlugins(a, true),
		RunE: func(_ *cobra.Command, names []string) error {
			h, err := a.runtime.pluginHost("")
			if err != nil {
				return err
			}
			entries := []value.Value{}
			for _, name := range names {
				e, err := h.Untrust(name)
				if err != nil {
					return usageError(err)
				}
				fmt.Fprintf(a.Stderr, "%s is no longer trusted (%s). Its folder was left as it is.\n", name, a.settings.Plugins.LockFile)
				entries = append(entries, value.Must(*e))
			}
			if asJSON {
				return a.PrintJSON(value.OfList(entries...))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was taken out of the lock file as a JSON array")
	return cmd
}

// trustPlugin shows what a plugin wants, asks, and trusts it.
func (a *app) trustPlugin(ctx context.Context, h *host.Host, name string, yes bool) (*manifest.Entry, error) {
	w, err := h.Review(name)
	if err != nil {
		return nil, usageError(err)
	}
	fmt.Fprint(a.Stderr, wantsText(w))
	if w.Missing != nil {
		return nil, usageError(w.Missing)
	}
	if !yes {
		if err := a.confirmTrust(ctx, name); err != nil {
			return nil, err
		}
	}
	e, err := h.TrustReviewed(ctx, w)
	if err != nil {
		if ctx.Err() != nil {
			return nil, exitError{exitInterrupted, wording.Errorf("interrupted")}
		}
		return nil, exitError{exitFailed, err}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is trusted (%s). Flows can use\n", name, a.settings.Plugins.LockFile)
	writeOffers(&b, e, a.settings.DefaultLanguage())
	if w.Trusted != nil {
		if changes := w.Trusted.Changes(e); changes != "" {
			fmt.Fprintf(&b, "What it offers changed: %s\n", changes)
		}
	}
	fmt.Fprint(a.Stderr, terminal.Visible(b.String()))
	return e, nil
}

// confirmTrust asks a person; without one it says how to go on.
func (a *app) confirmTrust(ctx context.Context, name string) error {
	if !a.CanAsk() {
		return usageError(calls.Errorf(calls.Invalid, "the plugin %s was not trusted: this is no terminal, so nobody can be asked", name).
			WithHint("if you want what is shown above: scheduler plugins trust --yes %s", name))
	}
	fmt.Fprintf(a.Stderr, "It will run with your rights. Trust %s? [y/N] ", name)
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return exitError{exitInterrupted, wording.Errorf("interrupted")}
	case line := <-a.Lines():
		line = strings.ToLower(strings.TrimSpace(line))
		if line != "y" && line != "yes" {
			return exitError{exitFailed, wording.Errorf("the plugin %s was not trusted; nothing was started or written", name)}
		}
		return nil
	}
}

// serviceWords says what services of the host mean.
var serviceWords = map[string]string{
	"llm":    "asks the flow's model, which costs tokens",
	"memory": "searches the memories of the flow's user",
	"vars":   "reads what its step sees: inputs, history, variables",
	"log":    "writes to the log",
}

// maxLinksShown bounds the links that a review shows.
const maxLinksShown = 20

// wantsText returns what a user should know before trusting a plugin.
func wantsText(w *manifest.Review) string {
	m := w.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", m.Name, m.Version)
	if m.Description != "" {
		fmt.Fprintf(&b, ": %s", m.Description)
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, text string) { fmt.Fprintf(t, "  %s\t%s\n", name, text) }
	row("folder", shortPath(w.Dir))
	row("command", commandLine(append([]string{m.Command}, m.Args...)))
	if w.Program != "" && !w.CoversCommand {
		row("", "which is "+realPath(w.Program)+", and not part of the sha256")
	}
	for i, link := range w.Links {
		if i == maxLinksShown {
			row("", fmt.Sprintf("and %d more", len(w.Links)-i))
			break
		}
		name := ""
		if i == 0 {
			name = "links"
		}
		row(name, link.Name+" -> "+link.Target)
	}
	row("sha256", w.SHA256)
	if len(m.Data) > 0 {
		row("", "of the folder but "+strings.Join(m.Data, ", ")+", which may change")
	}
	row("environment", joinOrNone(m.Env))
	for i, service := range m.Services {
		name := ""
		if i == 0 {
			name = "services"
		}
		row(name, service+": "+serviceWords[service])
	}
	if len(m.Services) == 0 {
		row("services", "none")
	}
	row("limits", strings.Join(limitsOf(m.Limits), ", "))
	_ = t.Flush() // a strings.Builder takes everything
	writeChanges(&b, w)
	return terminal.Visible(b.String())
}

// realPath returns a path without links, where that is known.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// writeChanges says what is different from what was trusted.
func writeChanges(b *strings.Builder, w *manifest.Review) {
	old, m := w.Trusted, w.Manifest
	if old == nil {
		b.WriteString("It was never trusted before.\n")
		return
	}
	if old.SHA256 == w.SHA256 {
		b.WriteString("It was trusted before, and its folder did not change since.\n")
		return
	}
	b.WriteString("Since it was trusted, its folder changed:\n")
	row := func(name, before, now string) {
		if before != now {
			fmt.Fprintf(b, "  %s: %s, now %s\n", name, before, now)
		}
	}
	row("version", old.Version, m.Version)
	row("sha256", old.SHA256, w.SHA256)
	row("command", commandLine(old.Command), commandLine(append([]string{m.Command}, m.Args...)))
	row("environment", joinOrNone(old.Env), joinOrNone(m.Env))
	row("services", joinOrNone(old.Services), joinOrNone(m.Services))
	before, now := limitsOf(old.Limits), limitsOf(m.Limits)
	for i := range now {
		row("limits", before[i], now[i])
	}
}

func joinOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// commandLine returns a program and its arguments as a shell reads them.
func commandLine(words []string) string {
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = terminal.ShellQuote(word)
	}
	return strings.Join(words, " ")
}

// limitsOf returns the limits for people.
func limitsOf(l manifest.Limits) []string {
	memory := "no memory limit"
	if l.Memory > 0 {
		memory = "memory " + l.Memory.String()
	}
	return []string{
		fmt.Sprintf("start %s", time.Duration(l.StartTimeout)),
		fmt.Sprintf("request %s", time.Duration(l.Timeout)),
		fmt.Sprintf("execution %s", time.Duration(l.ExecTimeout)),
		fmt.Sprintf("message %d MiB", l.MaxMessage),
		fmt.Sprintf("output %d MiB", l.MaxOutput),
		fmt.Sprintf("%d chunks", l.MaxChunks),
		fmt.Sprintf("%d requests at once", l.Concurrency),
		fmt.Sprintf("%d restarts", l.Restarts),
		fmt.Sprintf("%d calls of the host per request", l.HostCalls),
		memory,
	}
}
