package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/openai"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// serveFlags are the flags of the subcommand serve.
type serveFlags struct {
	listen string
	flows  []string
	auth   string
	edit   bool
}

func newServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the flows of the project over HTTP",
		Long: `Serve the flows of the project over HTTP: start runs, follow, answer and explain them,
make single calls, keep memory, and chat with flows by the OpenAI-compatible API below
/v1. The API is described at /api/v1/openapi.json.

The server prints a link that logs in once. Programs need a token: scheduler token
create. Runs that were interrupted are gone on with. On Ctrl-C or SIGTERM, runs at work
get a while to end; the others are gone on with at the next start.`,
		Example: strings.Trim(`
  scheduler serve
  scheduler serve --listen 127.0.0.1:0 --flows flows --flows more
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8050/api/v1/flows`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), f.over(a.settings))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "`host:port` or unix:path to listen at (default the setting serve.listen)")
	flags.StringArrayVar(&f.flows, "flows", nil, "a `folder` of flows; may be given several times (default the setting serve.flows)")
	flags.BoolVar(&f.edit, "edit", false, "let clients change flow files")
	flags.StringVar(&f.auth, "auth", "", "token, or none on a loopback address (default the setting serve.auth)")
	return cmd
}

// over returns the settings with the flags over them.
func (f *serveFlags) over(settings *config.Settings) config.Serve {
	c := settings.Serve
	for i, dir := range c.Flows {
		if !filepath.IsAbs(dir) {
			c.Flows[i] = filepath.Join(settings.Root, dir)
		}
	}
	if f.listen != "" {
		c.Listen = f.listen
	}
	if len(f.flows) > 0 {
		c.Flows = f.flows
	}
	if f.auth != "" {
		c.Auth = f.auth
	}
	c.Edit = c.Edit || f.edit
	return c
}

// serve answers requests until ctx ends.
func (a *app) serve(ctx context.Context, c config.Serve) (err error) {
	if c.Auth != "token" && c.Auth != "none" {
		return usageError(fmt.Errorf("--auth: there is no %q (use token or none)", c.Auth))
	}
	for i, dir := range c.Flows {
		if c.Flows[i], err = filepath.Abs(dir); err != nil {
			return usageError(err)
		}
		if info, err := os.Stat(c.Flows[i]); err != nil || !info.IsDir() {
			fmt.Fprintf(a.Stderr, "warning: there is no folder of flows %s (name one with --flows or serve.flows)\n", dir)
		}
	}
	listener, err := listen(ctx, c)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := a.service.Ready(ctx); err != nil {
		return a.beforeRun(err)
	}
	return a.withStore(ctx, func(s *store.Store) error {
		srv, err := server.New(a.serverOptions(c, s))
		if err != nil {
			return usageError(err)
		}
		if err := a.tellAddress(c, listener, srv); err != nil {
			return err
		}
		if err := srv.Serve(ctx, listener); err != nil {
			return exitError{exitFailed, err}
		}
		return nil
	})
}

// listen returns the listener of the settings.
func listen(ctx context.Context, c config.Serve) (net.Listener, error) {
	network, address := "tcp", c.Listen
	if path, isSocket := strings.CutPrefix(c.Listen, "unix:"); isSocket {
		network, address = "unix", path
	}
	listener, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, exitError{exitFailed, fmt.Errorf("listening at %s: %w (choose another address with --listen)", c.Listen, withoutOp(err))}
	}
	if c.Auth == "none" && network == "tcp" && !isLoopback(listener.Addr()) {
		return nil, usageError(errors.Join(errors.New("without tokens everyone who can connect may do everything: use --auth none on a loopback address or a socket only"), listener.Close()))
	}
	if c.TLS.Cert == "" {
		return listener, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, usageError(errors.Join(fmt.Errorf("reading serve.tls: %w", err), listener.Close()))
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// withoutOp returns the error without the address that the message has already.
func withoutOp(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

func isLoopback(addr net.Addr) bool {
	at, err := netip.ParseAddrPort(addr.String())
	return err == nil && at.Addr().IsLoopback()
}

// serverOptions puts the server together.
func (a *app) serverOptions(c config.Serve, s *store.Store) server.Options {
	language := a.settings.DefaultLanguage()
	return server.Options{
		Service: a.service, Store: s, Log: a.serverLog(), Flows: c.Flows,
		Limits:  service.Limits{Runs: c.MaxRuns, PerUser: c.MaxRunsPerUser, Queued: c.MaxQueued},
		Recover: c.Recover, Drain: time.Duration(c.Drain), NoAuth: c.Auth == "none", Hosts: c.Hosts, Origins: c.CORSOrigins,
		Edit: c.Edit, MaxBody: c.MaxBodyBytes(), Aliases: c.Aliases,
		OpenAI:   openai.Settings{TasksLLM: c.OpenAI.TasksLLM, HoldRetries: c.OpenAI.OnRetry == "hold"},
		Language: language, Version: buildVersion(), ParseTime: parseTime,
		Functions: func() (list []value.Value, err error) {
			all, err := a.knownFunctions()
			for i := range all {
				list = append(list, all[i].asJSON(language))
			}
			return list, err
		},
		Plugins: func() (list []value.Value, err error) {
			h, err := a.runtime.pluginHost("")
			if err != nil {
				return nil, err
			}
			all, _ := h.List() // what is wrong with one is in its state
			for _, one := range all {
				list = append(list, pluginJSON(one, language))
			}
			return list, nil
		},
	}
}

// serverLog returns the log of the server: lines for people on a terminal, else JSON.
func (a *app) serverLog() *slog.Logger {
	if terminal.IsTerminal(a.Stderr) {
		return slog.New(slog.NewTextHandler(a.Stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(a.Stderr, nil))
}

// tellAddress prints where the server listens, and the link that logs in.
func (a *app) tellAddress(c config.Serve, listener net.Listener, srv *server.Server) error {
	if listener.Addr().Network() == "unix" {
		_, err := fmt.Fprintf(a.Stdout, "listening at %s\n", c.Listen)
		return err
	}
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	address := scheme + "://" + listener.Addr().String()
	text := "listening at " + address + "\n"
	if c.Auth == "token" {
		text += "log in once with " + address + srv.LoginURL() + "\n"
	}
	_, err := fmt.Fprint(a.Stdout, text)
	return err
}
