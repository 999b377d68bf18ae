package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/mcp"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

func newMCPTrust(a *app) *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "trust NAME...",
		Short: "Show what MCP servers offer, ask, and let flows use their tools",
		Long: `Show what a server of mcp.servers offers: its tools, and what changed since it was last
trusted. To find out, a server with a command is started, one with a url is connected to.
Then ask; with yes the tools and their schemas are written to the lock file
(mcp.lock.json), which can be committed. Flows use them as mcp.NAME.TOOL; lint reads that
file alone. A tool that is not as it was trusted is refused when a step uses it.

A command runs with your rights, and what a tool is told leaves the project.`,
		Example:           "  scheduler mcp trust github\n  scheduler mcp trust --yes github    # in scripts: asks nothing",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeMCPServers(a),
		RunE: func(cmd *cobra.Command, names []string) error {
			h, err := a.runtime.MCPHost()
			if err != nil {
				return usageError(err)
			}
			entries := []value.Value{}
			for _, name := range names {
				entry, err := a.trustMCPServer(cmd.Context(), h, name, yes)
				if err != nil {
					return err
				}
				entries = append(entries, value.Must(entry))
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

// trustMCPServer shows the tools of a server, asks, and trusts it.
func (a *app) trustMCPServer(ctx context.Context, h *mcp.Host, name string, yes bool) (*mcp.LockedServer, error) {
	review, err := h.Review(ctx, name)
	if err != nil {
		if kind := calls.KindOf(err); kind == calls.NotFound || kind == calls.Invalid {
			return nil, usageError(err)
		}
		return nil, exitError{exitFailed, err}
	}
	fmt.Fprint(a.Stderr, terminal.Visible(reviewText(review, a.Language)))
	if !yes {
		if err := a.confirmMCPTrust(ctx, name); err != nil {
			return nil, err
		}
	}
	entry, err := h.Trust(review)
	if err != nil {
		return nil, exitError{exitFailed, err}
	}
	a.Tellf("%s is trusted (%s). Flows can use its %d tools as %s%s.TOOL", name, a.settings.MCP.LockFile, len(entry.Tools), mcp.Prefix, name)
	return entry, nil
}

// confirmMCPTrust asks a person; without one its error describes the next step.
func (a *app) confirmMCPTrust(ctx context.Context, name string) error {
	if !a.CanAsk() {
		return usageError(calls.Errorf(calls.Invalid, "the MCP server %s was not trusted: this is not a terminal, so no one can be asked", name).
			WithHint("if you want what is shown above: scheduler mcp trust --yes %s", name))
	}
	fmt.Fprint(a.Stderr, a.Language.Say("Let flows use these tools of %s? [y/N] ", name))
	return a.awaitYes(ctx, wording.Errorf("the MCP server %s was not trusted; nothing was written", name))
}

// maxShownDescription limits the shown part of a tool's description, in characters.
const maxShownDescription = 300

// reviewText returns the text that a user should read before trusting a server. It quotes the server's own texts
// unchanged.
func reviewText(r *mcp.Review, language terminal.Language) string {
	var b strings.Builder
	say := language.Say
	b.WriteString(r.Server.Name)
	if r.About != "" {
		b.WriteString(say(", which calls itself %q", r.About))
	}
	b.WriteString("\n")
	t := terminal.NewTable(&b)
	if r.Server.URL != "" {
		fmt.Fprintf(t, "  url\t%s\n", r.Server.URL)
	} else {
		fmt.Fprintf(t, "  %s\t%s\n", say("command"), commandLine(append([]string{r.Server.Command}, r.Server.Args...)))
		fmt.Fprintf(t, "  %s\t%s\n", say("environment"), joinOrNone(r.Server.Env, language))
	}
	for i := range r.Tools {
		tool := &r.Tools[i]
		description := strings.Join(strings.Fields(value.Truncate(tool.Description, maxShownDescription)), " ")
		fmt.Fprintf(t, "  %s\t%s\t%s\n", say("tool"), tool.Name, description)
		if names := parameterNames(tool.Input); names != "" {
			fmt.Fprintf(t, "  \t\t%s\n", say("takes %s", names))
		}
	}
	_ = t.Flush() // a builder takes all
	for _, why := range r.LeftOut {
		b.WriteString(say("left out: %s", why) + "\n")
	}
	for _, one := range []struct {
		text  string
		names []string
	}{
		{say("new since it was trusted"), r.Added}, {say("gone since it was trusted"), r.Removed}, {say("changed since it was trusted"), textsIn(r.Changed, language)},
	} {
		if len(one.names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", one.text, strings.Join(one.names, ", "))
		}
	}
	if r.WasTrusted && len(r.Added)+len(r.Removed)+len(r.Changed) == 0 {
		b.WriteString(say("nothing changed since it was trusted") + "\n")
	}
	return b.String()
}

// textsIn returns texts in a language.
func textsIn(texts []wording.Text, language terminal.Language) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = text.In(string(language))
	}
	return all
}

// parameterNames returns the names of a tool's parameters, optional ones with a question mark.
func parameterNames(input value.Value) string {
	properties, _ := input.Get("properties")
	required, _ := input.Get("required")
	var names []string
	for name := range properties.Map().All() {
		isRequired := false
		for _, one := range required.List() {
			isRequired = isRequired || value.Equal(one, value.OfString(name))
		}
		if !isRequired {
			name += "?"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func newMCPUntrust(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "untrust NAME...",
		Short:             "Take trust back: flows can no longer use the servers",
		Example:           "  scheduler mcp untrust github",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeMCPServers(a),
		RunE: func(_ *cobra.Command, names []string) error {
			h, err := a.runtime.MCPHost()
			if err != nil {
				return usageError(err)
			}
			for _, name := range names {
				if err := h.Untrust(name); err != nil {
					return usageError(err)
				}
				a.Tellf("%s is no longer trusted (%s)", name, a.settings.MCP.LockFile)
			}
			return nil
		},
	}
}

func newMCPList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the MCP servers of the settings, and what flows can use of them",
		Example: "  scheduler mcp list\n  scheduler mcp list --json | jq -r '.[].tools[]'",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.runtime.MCPHost()
			if err != nil {
				return usageError(err)
			}
			all := h.List()
			if asJSON {
				return a.PrintJSON(value.Must(all))
			}
			if len(all) == 0 {
				a.Tellf("no MCP servers (mcp.servers in scheduler.yaml names them)")
				return nil
			}
			w := terminal.NewTable(a.Stdout)
			fmt.Fprintln(w, a.Language.Say("NAME\tSTATE\tTOOLS"))
			for _, one := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", one.Name, a.Language.Say(one.State), joinOrNone(one.Tools, a.Language))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// completeMCPServers completes the names of the servers of the settings.
func completeMCPServers(a *app) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.settings.MCP.Names(), cobra.ShellCompDirectiveNoFileComp
	}
}
