package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/server/mcp"
	"github.com/callnode/scheduler/scheduler/service"
)

func newMCP(a *app) *cobra.Command {
	var flows []string
	var user, project string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the flows as MCP tools over stdio; trust MCP servers whose tools flows use",
		Long: `Serve the flows of the project as tools of the Model Context Protocol, over standard
input and output: a client (an editor, a desktop assistant) starts the program by itself,
and no server has to run. A call of a tool is a run; what it waits for is asked of the
user where the client can do that. scheduler serve has the same at /mcp.

A flow whose text for the user is a model's is a prompt too, with its inputs as arguments:
its run stops when the prompt is made, and the model of the client answers it.

Runs are in the journal of the project. One that is cut off because the client ends goes
on with scheduler resume, or when scheduler serve starts.

The other way round, flows use the tools of the servers in the setting mcp.servers, once
they are trusted: see the subcommands.`,
		Example: strings.Trim(`
  scheduler mcp
  scheduler mcp --project ~/my-app --user lin
  scheduler mcp trust github

  # in the settings of a client:
  {"mcpServers": {"my-app": {"command": "scheduler", "args": ["mcp", "--project", "/path/to/my-app"]}}}`, "\n"),
		Args: cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := os.Chdir(cmp.Or(project, ".")); err != nil {
				return usageError(wording.Errorf("--project: %w", err))
			}
			return a.open()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serveStdio(cmd.Context(), a.flowFolders(flows), service.Principal{User: user, Bound: user != ""})
		},
	}
	cmd.Flags().StringArrayVar(&flows, "flows", nil, "a `folder` of flows; may be given several times (default the setting serve.flows)")
	cmd.PersistentFlags().StringVar(&project, "project", "", "the `folder` of the project, for clients that start programs anywhere (default the working directory)")
	cmd.Flags().StringVar(&user, "user", "", "run for this `user`: whose runs and memories alone are reached")
	cmd.AddCommand(newMCPTrust(a), newMCPUntrust(a), newMCPList(a))
	return cmd
}

// mcpGrace is how long runs may continue after the client has ended, which waits for the program.
const mcpGrace = 2 * time.Second

// serveStdio answers a client over standard input and output until it ends.
func (a *app) serveStdio(ctx context.Context, flows []string, by service.Principal) error {
	if a.CanAsk() {
		a.Tellf("note: this speaks MCP, not to people: a client starts it (scheduler mcp --help)")
	}
	if err := a.service.Ready(ctx); err != nil {
		return a.beforeRun(err)
	}
	c := a.settings.Serve
	log := wire.NewServerLog(a.Stderr)
	dispatcher := dispatch.New(a.service, dispatch.Options{
		Limits: dispatch.Limits{Runs: c.MaxRuns, PerUser: c.MaxRunsPerUser, Queued: c.MaxQueued}, Log: log,
	})
	api := mcp.New(mcp.Options{
		Settings: mcp.Settings{Calls: c.MCP.Calls}, Service: a.service, Dispatcher: dispatcher, Library: a.service.NewLibrary(flows), Log: log,
		Key: []byte(rand.Text()), Language: a.settings.DefaultLanguage(), Version: buildVersion(),
	})
	caller := mcp.Caller{Principal: by, CanCall: true, CanReadRuns: true, CanReadFlows: true}
	err := api.Serve(ctx, caller, io.NopCloser(a.Stdin), nopCloser{a.Stdout})
	end, cancel := context.WithTimeout(context.Background(), mcpGrace)
	defer cancel()
	dispatcher.Close(end)
	if err != nil && !errors.Is(err, context.Canceled) {
		return exitError{exitFailed, err}
	}
	return nil
}

// nopCloser is a writer that stays open.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
