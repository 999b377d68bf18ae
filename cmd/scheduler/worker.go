package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/temporal"
)

// workerFlags are the flags of the subcommand worker.
type workerFlags struct {
	on     string
	queues []string
	slots  int
	setup  bool
	check  bool
	listen string
}

func newWorker(a *app) *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Carry out runs of other machines",
		Long: `Carry out the runs that scheduler run --on and scheduler serve --on give to a Temporal
server. Any number of workers on any number of machines share the runs; one that dies or
stops leaves its runs to the others. All of them need the same store, and what the flows
use: plugins, secrets, files below the folder of the project.

--check prints what this machine cannot carry out, and why: of the flows of the project and
of the runs that wait for a worker. What is for workers of other queues it only names.
--setup registers the search attributes by which Temporal's pages find runs. Both end then.

On Ctrl-C or SIGTERM no further step begins; those at work get a while to end (the setting
worker.drain), and other workers go on.

Exit codes: 0 done, 1 Temporal or the store cannot be reached, or --check found something
missing, 2 the settings or the usage is wrong.`,
		Example: strings.Trim(`
  temporal server start-dev &
  scheduler worker --on temporal://127.0.0.1:7233
  scheduler worker --on temporal://temporal.example:7233 --queue gpu --slots 4
  scheduler worker --on temporal://127.0.0.1:7233 --check`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.work(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	addOnFlag(flags, &f.on)
	flags.StringArrayVar(&f.queues, "queue", nil, "a queue's `name` to take runs from; may be given several times (default the setting worker.queues)")
	flags.IntVar(&f.slots, "slots", 0, "how many runs of a queue to be at, at once (default the setting worker.slots)")
	flags.BoolVar(&f.setup, "setup", false, "register the search attributes, and end")
	flags.BoolVar(&f.check, "check", false, "print what this machine cannot carry out, and end")
	flags.StringVar(&f.listen, "listen", "", "`host:port` to tell at whether it is ready (default the setting worker.listen)")
	cmd.MarkFlagsMutuallyExclusive("setup", "check")
	return cmd
}

// work carries out runs until ctx ends.
func (a *app) work(ctx context.Context, f *workerFlags) error {
	if err := a.setOn(f.on); err != nil {
		return err
	}
	settings := a.settings.Worker
	queues := slices.Concat(f.queues)
	if len(queues) == 0 {
		queues = settings.Queues
	}
	if len(queues) == 0 {
		queues = []string{a.settings.Temporal.Queue}
	}
	slots := settings.Slots
	if f.slots != 0 {
		slots = f.slots
	}
	if slots < 1 {
		return usageError(wording.Errorf("--slots: want a number from 1"))
	}
	if err := a.enterRoot(settings.Root); err != nil {
		return err
	}
	if a.remoteName() == "" {
		return usageError(wording.Errorf("the worker needs a server (name one with --on temporal://HOST:PORT, or the setting on)"))
	}
	client, err := a.runtime.Temporal(ctx, slog.LevelWarn)
	if err != nil {
		return temporalError(err)
	}
	if f.setup {
		return a.setUpTemporal(ctx, client)
	}
	a.warnOfMachines()
	if err := a.service.Ready(ctx); err != nil {
		return a.beforeRun(err)
	}
	if f.check {
		return a.checkMachine(ctx, queues)
	}
	stop, err := a.tellHealth(ctx, client, f.listen)
	if err != nil {
		return err
	}
	defer stop()
	if err := a.warnOfStore(ctx, client, queues); err != nil {
		return a.beforeRun(err)
	}
	a.Tellf("taking runs of the queue %s on %s; stop with Ctrl-C", strings.Join(queues, ", "), a.settings.On)
	err = temporal.RunWorker(ctx, client, a.service, temporal.WorkerOptions{Queues: queues, Slots: slots, Drain: time.Duration(settings.Drain)})
	return temporalError(err)
}

// warnOfStore warns where the workers that are there have another journal: this one then gets only
// the runs that are in its own.
func (a *app) warnOfStore(ctx context.Context, client *temporal.Client, queues []string) error {
	store, err := a.service.StoreID(ctx)
	if err != nil {
		return err
	}
	for _, queue := range client.StrangeQueues(ctx, store, queues) {
		a.Tellf("warning: the other workers of the queue %s have another journal than this one, and it gets none of their runs (all machines need the same store)", queue)
	}
	return nil
}

// enterRoot lets all runs work in the folder of the setting worker.root.
func (a *app) enterRoot(root string) error {
	if root == "" {
		return nil
	}
	full, err := filepath.Abs(root)
	if err != nil {
		return usageError(err)
	}
	if info, err := os.Stat(full); err != nil || !info.IsDir() {
		return usageError(wording.Errorf("worker.root: there is no folder %s", root))
	}
	a.runtime.SetWorkerRoot(full)
	a.service = a.runtime.NewService() // nothing has been opened yet
	return nil
}

// temporalError returns an error of the connection with its exit code.
func temporalError(err error) error {
	if err == nil {
		return nil
	}
	if calls.KindOf(err) == calls.Provider {
		return exitError{exitFailed, err}
	}
	return usageError(err)
}

// setUpTemporal registers the search attributes.
func (a *app) setUpTemporal(ctx context.Context, client *temporal.Client) error {
	if err := client.SetUp(ctx); err != nil {
		return exitError{exitFailed, err}
	}
	a.Tellf("the search attributes are registered: set temporal.attributes to true on all machines")
	return nil
}

// machineCheck looks for what this machine lacks. [app.checkMachine] makes one.
type machineCheck struct {
	*app
	queues []string // those that it takes runs from
	// hasGaps: something is missing; hasOthers: something is for workers of other queues.
	hasGaps, hasOthers bool
}

// checkMachine prints what this machine cannot carry out of what its queues bring it, and names
// what is for the workers of other queues.
func (a *app) checkMachine(ctx context.Context, queues []string) error {
	c := &machineCheck{app: a, queues: queues}
	if err := c.checkFlows(); err != nil {
		return err
	}
	if err := c.checkRuns(ctx); err != nil {
		return err
	}
	switch {
	case c.hasGaps:
		return exitError{code: exitFailed}
	case c.hasOthers:
		a.Tellf("this machine can carry out all other flows of the project and all other runs under way")
	default:
		a.Tellf("this machine can carry out all flows of the project and all runs under way")
	}
	return nil
}

// reportMissing prints what is missing for a flow or a run.
func (c *machineCheck) reportMissing(what string, err error) {
	var missing *service.MissingError
	if !errors.As(err, &missing) {
		return
	}
	c.hasGaps = true
	for _, reason := range missing.Reasons {
		fmt.Fprintf(c.Stdout, "%s: %s\n", what, wording.OfError(reason).In(string(c.Language)))
	}
}

// isForOthers reports whether a queue is not one of this machine's; then it tells where to check
// what waits there.
func (c *machineCheck) isForOthers(what, queue string) bool {
	if queue == "" || slices.Contains(c.queues, queue) {
		return false
	}
	c.hasOthers = true
	c.Tellf("%s is for workers of the queue %s: check it on their machines, with --queue %[2]s", what, queue)
	return true
}

func (c *machineCheck) checkFlows() error {
	flows, err := c.service.NewWorkerLibrary(c.flowFolders(nil)).Flows()
	if err != nil {
		return usageError(err)
	}
	for _, one := range flows {
		if c.isForOthers(one.ID, c.service.QueueOfFile(one.File)) {
			continue
		}
		if one.Flow == nil {
			c.reportMissing(one.ID, &service.MissingError{Reasons: []error{one.Problems.Err()}})
			continue
		}
		c.reportMissing(one.ID, c.service.CheckWorker(one.Flow))
		for _, step := range one.Flow.QueuedSteps() {
			c.isForOthers(c.Language.Say("%s: the flow %s of the step %s", one.ID, step.File, step.Step), step.Queue)
		}
	}
	return nil
}

func (c *machineCheck) checkRuns(ctx context.Context) error {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning, journal.RunWaiting}, Labels: map[string]string{journal.LabelRunsOn: temporal.RunsOn}}
	for info, err := range c.service.Runs(ctx, service.Principal{}, filter) {
		if err != nil {
			return c.beforeRun(err)
		}
		queue, err := c.service.QueueOfRun(ctx, info)
		if err != nil {
			return c.beforeRun(err)
		}
		if c.isForOthers(info.ID, queue) {
			continue
		}
		session, _, err := c.service.ReopenSession(ctx, service.Principal{}, service.ResumeRequest{Run: info.ID, OnWorker: true})
		if err == nil {
			err = session.CheckMachine()
		}
		c.reportMissing(info.ID, service.AsMissing(err))
	}
	return nil
}

// tellHealth tells over HTTP whether the worker lives and is ready, until stop is called.
func (a *app) tellHealth(ctx context.Context, client *temporal.Client, listen string) (stop func(), err error) {
	if listen == "" {
		listen = a.settings.Worker.Listen
	}
	if listen == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, exitError{exitFailed, wording.Errorf("listening at %s: %w (choose another address with --listen)", listen, withoutOp(err))}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, r *http.Request) {
		if err := errors.Join(a.service.Ready(r.Context()), client.Ready(r.Context())); err != nil || ctx.Err() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: probeTimeout}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	fmt.Fprintln(a.Stdout, a.Language.Say("listening at %s", "http://"+listener.Addr().String()))
	return func() { _ = server.Close() }, nil
}
