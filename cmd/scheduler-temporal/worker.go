package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/cmd/scheduler/worker"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch/queue"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/remote"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/telemetry"
	"github.com/callnode/scheduler/scheduler/temporal"
)

// work carries out runs until ctx ends.
func (p *program) work(ctx context.Context, f *worker.Flags) error {
	settings := p.settings.Worker
	queues := slices.Concat(f.Queues)
	if len(queues) == 0 {
		queues = settings.Queues
	}
	if len(queues) == 0 {
		queues = []string{p.settings.Temporal.Queue}
	}
	slots := settings.Slots
	if f.Slots != 0 {
		slots = f.Slots
	}
	if slots < 1 {
		return usageError(wording.Errorf("--slots: want a number from 1"))
	}
	if err := p.enterRoot(settings.Root); err != nil {
		return err
	}
	p.link.level = slog.LevelWarn
	client, err := p.link.connect(ctx)
	if err != nil {
		return temporalError(err)
	}
	if f.Setup {
		return p.setUpTemporal(ctx, client)
	}
	for _, warning := range p.runtime.MachineWarnings() {
		p.Tellf("warning: %s", warning)
	}
	log := wire.NewServerLog(p.Stderr)
	observer, err := p.runtime.ObserveRuns(&p.settings.Serve.OTLP, log)
	if err != nil {
		return usageError(err)
	}
	defer wire.EndTelemetry(observer, log)
	if err := p.service.Ready(ctx); err != nil {
		return beforeRun(err)
	}
	if f.Check {
		return p.checkMachine(ctx, queues)
	}
	stop, err := p.listen(ctx, client, f.Listen, observer)
	if err != nil {
		return err
	}
	defer stop()
	if err := p.warnOfOthers(ctx, client, queues); err != nil {
		return beforeRun(err)
	}
	registry, err := p.runtime.OpenServerStore(ctx)
	if err != nil {
		return exitError{exitFailed, err}
	}
	defer func() { _ = registry.Close() }() // its writes are committed
	if err := p.warnOfVersions(ctx, registry); err != nil {
		return err
	}
	member := fleet.Join(p.newRecord(queues, slots), nil)
	waiting := queue.New(queue.Options{Service: p.service, Workers: registry.Workers, Default: p.settings.Temporal.Queue})
	observer.WatchQueues(waiting.Values, member.Load)
	defer member.Keep(registry, log)()
	defer context.AfterFunc(ctx, member.Stopping)()
	p.Tellf("taking runs of the queue %s on %s; stop with Ctrl-C", strings.Join(queues, ", "), p.settings.On)
	return temporalError(temporal.RunWorker(ctx, client, p.service, temporal.WorkerOptions{
		Queues: queues, Slots: slots, Drain: time.Duration(settings.Drain), GiveUpAfter: time.Duration(p.settings.Serve.GiveUpAfter), Log: log,
		Observe: func(s *service.Session, e *journal.Event) {
			observer.ObserveEvent(telemetry.Run{ID: e.Run, Flow: s.Flow.Name, StartedBy: s.StartedBy, State: s.State}, e)
		},
		Ended: observer.EndRun, Member: member,
	}))
}

// newRecord returns the row of this worker in the list of workers.
func (p *program) newRecord(queues []string, slots int) fleet.Worker {
	w := fleet.Worker{Kind: fleet.RunWorker, Version: buildVersion(), On: p.settings.On}
	for _, queue := range queues {
		w.Queues = append(w.Queues, fleet.Queue{Name: queue, Slots: slots})
	}
	return w
}

// warnOfOthers warns if the live workers have another key for payloads, so that they cannot read each other's
// runs, or another journal: this worker then only gets the runs in its own.
func (p *program) warnOfOthers(ctx context.Context, client *temporal.Client, queues []string) error {
	store, err := p.service.StoreID(ctx)
	if err != nil {
		return err
	}
	for _, queue := range queues {
		if err := client.CheckKey(ctx, queue); err != nil {
			language := string(p.Language)
			p.Tellf("warning: %s (%s)", calls.MessageIn(err, language), calls.HintIn(err, language))
		}
	}
	for _, queue := range client.StrangeQueues(ctx, store, queues) {
		p.Tellf("warning: the other workers of the queue %s have another journal than this one, and it gets none of their runs (all machines need the same store)", queue)
	}
	return nil
}

// warnOfVersions warns if servers or workers of the store have another version of the program.
func (p *program) warnOfVersions(ctx context.Context, registry fleet.Registry) error {
	workers, err := registry.Workers(ctx)
	if err != nil {
		return exitError{exitFailed, err}
	}
	others := slices.DeleteFunc(fleet.Versions(workers), func(version string) bool { return version == buildVersion() })
	if len(others) > 0 {
		p.Tellf("warning: other processes of the store have the version %s of the program, and this worker %s: workers leave runs alone that a newer one was at (upgrade all)",
			strings.Join(others, ", "), buildVersion())
	}
	return nil
}

// enterRoot lets all runs work in the folder of the setting worker.root.
func (p *program) enterRoot(root string) error {
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
	p.runtime.SetWorkerRoot(full)
	p.service = p.runtime.NewService() // nothing has been opened yet
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
func (p *program) setUpTemporal(ctx context.Context, client *temporal.Client) error {
	if err := client.SetUp(ctx); err != nil {
		return exitError{exitFailed, err}
	}
	p.Tellf("the search attributes are registered: set temporal.attributes to true on all machines")
	return nil
}

// machineCheck looks for things that this machine lacks. [program.checkMachine] makes one.
type machineCheck struct {
	*program
	queues []string // the queues that it takes runs from
	// hasGaps: something is missing; hasOthers: something is for workers of other queues.
	hasGaps, hasOthers bool
}

// checkMachine prints which flows and runs of its queues this machine cannot carry out, and which are for the
// workers of other queues.
func (p *program) checkMachine(ctx context.Context, queues []string) error {
	c := &machineCheck{program: p, queues: queues}
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
		p.Tellf("this machine can carry out all other flows of the project and all other runs under way")
	default:
		p.Tellf("this machine can carry out all flows of the project and all runs under way")
	}
	return nil
}

// reportMissing prints the error that says why a flow or a run cannot be carried out.
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

// isForOthers reports whether a queue is not one of this machine's; then it prints on which machine to check the
// flows and runs that wait there.
func (c *machineCheck) isForOthers(what, queue string) bool {
	if queue == "" || slices.Contains(c.queues, queue) {
		return false
	}
	c.hasOthers = true
	c.Tellf("%s is for workers of the queue %s: check it on their machines, with --queue %[2]s", what, queue)
	return true
}

func (c *machineCheck) checkFlows() error {
	flows, err := c.service.NewWorkerLibrary(c.settings.FlowFolders()).Flows()
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
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning, journal.RunWaiting}, Labels: map[string]string{journal.LabelRunsOn: remote.Temporal}}
	for info, err := range c.service.Runs(ctx, service.Principal{}, filter) {
		if err != nil {
			return beforeRun(err)
		}
		queue, err := c.service.QueueOfRun(ctx, info)
		if err != nil {
			return beforeRun(err)
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
