package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/mcp"
	"github.com/callnode/scheduler/scheduler/server/notify"
	"github.com/callnode/scheduler/scheduler/server/openai"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/trigger"
	"github.com/callnode/scheduler/scheduler/web"
)

// serveFlags are the flags of the subcommand serve.
type serveFlags struct {
	listen string
	flows  []string
	auth   string
	edit   bool
	noUI   bool
	open   bool
	probe  bool
	on     string

	noTriggers bool
}

func newServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the flows of the project over HTTP",
		Long: `Serve the flows of the project over HTTP: start runs, follow, answer and explain them,
make single calls, keep memory, and chat with flows by the OpenAI-compatible API below
/v1. The API is described at /api/v1/openapi.json; for people the server has a page.

The server prints a link to the page that logs in once. Programs need a token: scheduler token
create. Runs that were interrupted are gone on with. On Ctrl-C or SIGTERM, runs at work
get a while to end; the others are gone on with at the next start.`,
		Example: strings.Trim(`
  scheduler serve
  scheduler serve --listen 127.0.0.1:0 --flows flows --flows more
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8050/api/v1/flows`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := f.applyTo(a)
			if err := a.setOn(f.on); err != nil {
				return err
			}
			if f.probe {
				return a.probeServer(cmd.Context(), c)
			}
			a.noteSimplified()
			return a.serveUntilEnd(cmd.Context(), c, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "`host:port` or unix:path to listen at (default the setting serve.listen)")
	flags.StringArrayVar(&f.flows, "flows", nil, "a `folder` of flows; may be given several times (default the setting serve.flows)")
	flags.BoolVar(&f.edit, "edit", false, "let clients change flow files")
	flags.BoolVar(&f.noUI, "no-ui", false, "serve the API alone, without the page")
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	flags.BoolVar(&f.probe, "probe", false, "ask the server that runs whether it is ready, and exit with 0 or 1")
	flags.BoolVar(&f.noTriggers, "no-triggers", false, "leave the schedules and webhooks of flows alone")
	addOnFlag(flags, &f.on)
	flags.StringVar(&f.auth, "auth", "", "token, or none on a loopback address (default the setting serve.auth)")
	return cmd
}

// applyTo returns the settings with the flags over them.
func (f *serveFlags) applyTo(a *app) config.Serve {
	c := a.settings.Serve
	c.Flows = a.flowFolders(f.flows)
	if f.listen != "" {
		c.Listen = f.listen
	}
	if f.auth != "" {
		c.Auth = f.auth
	}
	c.Edit = c.Edit || f.edit
	return c
}

// serveUntilEnd answers requests until ctx ends.
func (a *app) serveUntilEnd(ctx context.Context, c config.Serve, f *serveFlags) (err error) {
	if c.Auth != "token" && c.Auth != "none" {
		return usageError(wording.Errorf("--auth: there is no %q (use token or none)", c.Auth))
	}
	for i, dir := range c.Flows {
		c.Flows[i], err = filepath.Abs(dir)
		if err != nil {
			return usageError(err)
		}
		if info, err := os.Stat(c.Flows[i]); err != nil || !info.IsDir() {
			a.Tellf("warning: there is no folder of flows %s (name one with --flows or serve.flows)", dir)
		}
	}
	listener, err := openListener(ctx, c)
	if err != nil {
		return err
	}
	defer listener.Close()
	log := wire.NewServerLog(a.Stderr)
	observer, err := a.runtime.ObserveRuns(&c.OTLP, log)
	if err != nil {
		return usageError(err)
	}
	defer wire.EndTelemetry(observer, log)
	if err := a.service.Ready(ctx); err != nil {
		return a.beforeRun(err)
	}
	if file := a.runtime.UnusedServerFile(); file != "" {
		a.Tellf("warning: %s is not used, as the server now keeps its data in %s; tokens, paused schedules, waiting chats, idempotency keys, unsent notifications and the audit in it are not copied (create the tokens again with scheduler token create, pause the schedules again, then move the file away)", file, a.runtime.StorePlace())
	}
	return a.withStore(ctx, func(s *store.Store) error {
		options := a.serverOptions(c, s)
		options.NoTriggers = f.noTriggers
		options.Log, options.Telemetry = log, observer
		if err := a.addNotifications(c, &options); err != nil {
			return usageError(err)
		}
		if !f.noUI {
			options.Page = web.Dist()
		}
		srv, err := server.New(options)
		if err != nil {
			return usageError(err)
		}
		if err := a.tellAddress(ctx, c, listener, srv, f); err != nil {
			return err
		}
		if err := srv.Serve(ctx, listener); err != nil {
			return exitError{exitFailed, err}
		}
		return nil
	})
}

// openListener returns the listener of the settings.
func openListener(ctx context.Context, c config.Serve) (net.Listener, error) {
	network, address := "tcp", c.Listen
	if path, isSocket := strings.CutPrefix(c.Listen, "unix:"); isSocket {
		network, address = "unix", path
	}
	listener, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, exitError{exitFailed, wording.Errorf("listening at %s: %w (choose another address with --listen)", c.Listen, withoutOp(err))}
	}
	if c.Auth == "none" && network == "tcp" && !isLoopback(listener.Addr()) {
		return nil, usageError(errors.Join(wording.Errorf("without tokens everyone who can connect may do everything: use --auth none on a loopback address or a socket only"), listener.Close()))
	}
	if c.TLS.Cert == "" {
		return listener, nil
	}
	pair, err := config.ReadKeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, usageError(errors.Join(wording.Errorf("reading serve.tls: %w", err), listener.Close()))
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

// serverFolders returns the folders, other than the flows' folders, whose paths clients do not learn.
func (a *app) serverFolders() []string {
	home, _ := os.UserHomeDir() // "" is none
	return []string{cmp.Or(a.settings.Root, "."), a.settings.StateDir, os.TempDir(), home}
}

// serverOptions puts the server together.
func (a *app) serverOptions(c config.Serve, s *store.Store) server.Options {
	language := a.settings.DefaultLanguage()
	return server.Options{
		Service: a.service, Store: s, Flows: c.Flows, Folders: a.serverFolders(),
		Limits:  dispatch.Limits{Runs: c.MaxRuns, PerUser: c.MaxRunsPerUser, Queued: c.MaxQueued},
		Recover: c.Recover, GiveUpAfter: time.Duration(c.GiveUpAfter), MaxCheck: time.Duration(c.MaxCheck), On: a.remoteName(), Queue: a.settings.Temporal.Queue, Drain: time.Duration(c.Drain), NoAuth: c.Auth == "none", BehindTLS: c.BehindTLS, Hosts: c.Hosts, Origins: c.CORSOrigins,
		Edit: c.Edit, MaxBody: c.MaxBodyBytes(), Aliases: c.Aliases,
		Prune:    server.Prune{OlderThan: time.Duration(c.Prune.OlderThan), Keep: c.Prune.Keep},
		OpenAI:   openai.Settings{TasksLLM: strings.Join(c.OpenAI.TasksLLM, llm.NameSeparator), HoldRetries: c.OpenAI.OnRetry == "hold"},
		MCP:      mcp.Settings{Calls: c.MCP.Calls},
		Language: language, Version: buildVersion(), Currency: a.settings.LLM.Currency, ParseTime: parseTime, Secret: a.runtime.Secret,
		Functions: func() (list []value.Value, err error) {
			all, err := a.knownFunctions()
			for i := range all {
				list = append(list, all[i].asJSON(language))
			}
			return list, err
		},
		Plugins: func() (list []value.Value, err error) {
			h, err := a.runtime.PluginHost("")
			if err != nil {
				return nil, err
			}
			all, _ := h.List() // an error of one is in its state
			for _, one := range all {
				list = append(list, pluginJSON(one, language))
			}
			return list, nil
		},
	}
}

// addNotifications adds the URLs that get messages about runs.
func (a *app) addNotifications(c config.Serve, o *server.Options) error {
	client, err := guard.NewClient(a.settings.HTTP.AllowHosts)
	if err != nil {
		return err
	}
	o.Client = client
	for _, n := range c.Notify {
		address, err := n.Address()
		if err != nil {
			return err
		}
		secret := os.Getenv(n.SecretEnv)
		if _, err := trigger.SignStandard(secret, "", time.Time{}, nil); err != nil {
			return wording.Errorf("serve.notify: the variable %s is not set to a secret (use whsec_ and base64)", n.SecretEnv)
		}
		target := notify.Target{URL: address, Secret: secret}
		for _, state := range n.On {
			target.On = append(target.On, journal.RunStatus(state))
		}
		o.Notify = append(o.Notify, target)
	}
	return nil
}

// tellAddress prints the address of the server, and the link that logs in; --open opens it.
func (a *app) tellAddress(ctx context.Context, c config.Serve, listener net.Listener, srv *server.Server, f *serveFlags) error {
	if listener.Addr().Network() == "unix" {
		_, err := fmt.Fprintln(a.Stdout, a.Language.Say("listening at %s", c.Listen))
		return err
	}
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	address := scheme + "://" + listener.Addr().String()
	text := a.Language.Say("listening at %s", address) + "\n"
	_, reachable := probeAddress(listener.Addr().String())
	link := scheme + "://" + reachable + "/"
	if c.Auth == "token" {
		link = scheme + "://" + reachable + srv.LoginURL()
		text += a.Language.Say("log in once with %s", link) + "\n"
	}
	if _, err := fmt.Fprint(a.Stdout, text); err != nil || !f.open {
		return err
	}
	if err := openBrowser(ctx, link); err != nil {
		a.Tellf("warning: no browser could be opened: %w (open the link above)", err)
	}
	return nil
}

// openBrowser opens a link in the browser of the person at this machine.
func openBrowser(ctx context.Context, link string) error {
	command := []string{"xdg-open"}
	switch goruntime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], link)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it ends by itself
	return nil
}

// probeTimeout limits the time in which a server must report that it is ready.
const probeTimeout = 5 * time.Second

// probeServer asks the server that listens at the address of the settings whether it takes
// runs. Health checks of containers use it, whose image has no other HTTP client.
func (a *app) probeServer(ctx context.Context, c config.Serve) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	network, address := probeAddress(c.Listen)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		// The certificate names the server's public host, while this connects to it from beside it.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // nothing secret is sent
	}
	defer transport.CloseIdleConnections()
	scheme, host := "http", address
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	if network == "unix" {
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+"/health/ready", http.NoBody)
	if err != nil {
		return usageError(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return exitError{exitFailed, wording.Errorf("no server answers at %s: %w", c.Listen, withoutOp(err))}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return exitError{exitFailed, wording.Errorf("the server at %s takes no runs: /health/ready answers %s", c.Listen, resp.Status)}
	}
	_, err = fmt.Fprintln(a.Stdout, a.Language.Say("ready at %s", c.Listen))
	return err
}

// probeAddress returns the address at which the server can be reached from the same machine: if it listens at
// every address, this is the loopback address, or its name.
func probeAddress(listen string) (network, address string) {
	if path, isSocket := strings.CutPrefix(listen, "unix:"); isSocket {
		return "unix", path
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "tcp", listen
	}
	ip, err := netip.ParseAddr(host)
	isEvery := err == nil && ip.IsUnspecified()
	if host == "" {
		host = "127.0.0.1"
	} else if isEvery {
		host = "localhost"
		if ip.Is4() {
			host = "127.0.0.1"
		}
	}
	return "tcp", net.JoinHostPort(host, port)
}
