package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
			h, err := a.runtime.PluginHost("")
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
			h, err := a.runtime.PluginHost("")
			if err != nil {
				return err
			}
			entries := []value.Value{}
			for _, name := range names {
				e, err := h.Untrust(name)
				if err != nil {
					return usageError(err)
				}
				a.Tellf("%s is no longer trusted (%s). Its folder was left as it is.", name, a.settings.Plugins.LockFile)
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

// trustPlugin shows what a plugin requests, asks, and trusts it.
func (a *app) trustPlugin(ctx context.Context, h *host.Host, name string, yes bool) (*manifest.Entry, error) {
	w, err := h.Review(name)
	if err != nil {
		return nil, usageError(err)
	}
	fmt.Fprint(a.Stderr, wantsText(w, a.Language))
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
	b.WriteString(a.Language.Say("%s is trusted (%s). Flows can use", name, a.settings.Plugins.LockFile) + "\n")
	writeOffers(&b, e, a.settings.DefaultLanguage())
	if w.Trusted != nil {
		if changes := w.Trusted.Changes(e); changes.En != "" {
			b.WriteString(a.Language.Say("What it offers changed: %s", changes) + "\n")
		}
	}
	fmt.Fprint(a.Stderr, terminal.Visible(b.String()))
	return e, nil
}

// confirmTrust asks a person; without one its error describes the next step.
func (a *app) confirmTrust(ctx context.Context, name string) error {
	if !a.CanAsk() {
		return usageError(calls.Errorf(calls.Invalid, "the plugin %s was not trusted: this is not a terminal, so no one can be asked", name).
			WithHint("if you want what is shown above: scheduler plugins trust --yes %s", name))
	}
	fmt.Fprint(a.Stderr, a.Language.Say("It will run with your rights. Trust %s? [y/N] ", name))
	return a.awaitYes(ctx, wording.Errorf("the plugin %s was not trusted; nothing was started or written", name))
}

// awaitYes reads the answer to a question of yes or no. Any answer but yes is the error refused.
func (a *app) awaitYes(ctx context.Context, refused error) error {
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return exitError{exitInterrupted, wording.Errorf("interrupted: %w", refused)}
	case line := <-a.Lines():
		line = strings.ToLower(strings.TrimSpace(line))
		if line != "y" && line != "yes" {
			return exitError{exitFailed, refused}
		}
		return nil
	}
}

// serviceWords describes the services of the host.
var serviceWords = map[string]string{
	"llm":    "asks the flow's model, which costs tokens",
	"memory": "searches the memories of the flow's user",
	"vars":   "reads what its step sees: inputs, history, variables",
	"log":    "writes to the log",
}

// maxLinksShown bounds the links that a review shows.
const maxLinksShown = 20

// wantsText returns the text that a user should read before trusting a plugin.
func wantsText(w *manifest.Review, language terminal.Language) string {
	say := language.Say
	m := w.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", m.Name, m.Version)
	if m.Description != "" {
		fmt.Fprintf(&b, ": %s", m.Description)
	}
	b.WriteString("\n")
	t := terminal.NewTable(&b)
	row := func(name, text string) { fmt.Fprintf(t, "  %s\t%s\n", say(name), text) }
	row("folder", shortPath(w.Dir))
	row("command", commandLine(append([]string{m.Command}, m.Args...)))
	if w.Program != "" && !w.CoversCommand {
		row("", say("which is %s, and not part of the sha256", realPath(w.Program)))
	}
	for i, link := range w.Links {
		if i == maxLinksShown {
			row("", say("and %d more", len(w.Links)-i))
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
		row("", say("of the folder but %s, which may change", strings.Join(m.Data, ", ")))
	}
	row("environment", joinOrNone(m.Env, language))
	for i, service := range m.Services {
		name := ""
		if i == 0 {
			name = "services"
		}
		row(name, service+": "+say(serviceWords[service]))
	}
	if len(m.Services) == 0 {
		row("services", say("none"))
	}
	row("limits", strings.Join(limitsOf(m.Limits, language), ", "))
	_ = t.Flush() // a strings.Builder takes everything
	writeChanges(&b, w, language)
	return terminal.Visible(b.String())
}

// writeChanges writes the differences from the version that was trusted.
func writeChanges(b *strings.Builder, w *manifest.Review, language terminal.Language) {
	say := language.Say
	old, m := w.Trusted, w.Manifest
	if old == nil {
		b.WriteString(say("It was never trusted before.") + "\n")
		return
	}
	if old.SHA256 == w.SHA256 {
		b.WriteString(say("It was trusted before, and its folder did not change since.") + "\n")
		return
	}
	b.WriteString(say("Since it was trusted, its folder changed:") + "\n")
	row := func(name, before, now string) {
		if before != now {
			b.WriteString("  " + say("%s: %s, now %s", wording.Of(name), before, now) + "\n")
		}
	}
	row("version", old.Version, m.Version)
	row("sha256", old.SHA256, w.SHA256)
	row("command", commandLine(old.Command), commandLine(append([]string{m.Command}, m.Args...)))
	row("environment", joinOrNone(old.Env, language), joinOrNone(m.Env, language))
	row("services", joinOrNone(old.Services, language), joinOrNone(m.Services, language))
	before, now := limitsOf(old.Limits, language), limitsOf(m.Limits, language)
	for i := range now {
		row("limits", before[i], now[i])
	}
}

func joinOrNone(names []string, language terminal.Language) string {
	if len(names) == 0 {
		return language.Say("none")
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
func limitsOf(l manifest.Limits, language terminal.Language) []string {
	say := language.Say
	memory := say("no memory limit")
	if l.Memory > 0 {
		memory = say("memory %s", l.Memory)
	}
	return []string{
		say("start %s", time.Duration(l.StartTimeout)),
		say("request %s", time.Duration(l.Timeout)),
		say("execution %s", time.Duration(l.ExecTimeout)),
		say("message %d MiB", l.MaxMessage),
		say("output %d MiB", l.MaxOutput),
		say("%d chunks", l.MaxChunks),
		say("%d requests at once", l.Concurrency),
		say("%d restarts", l.Restarts),
		say("%d calls of the host per request", l.HostCalls),
		memory,
	}
}
