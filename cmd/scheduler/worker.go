package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/worker"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/remote"
)

// newWorker returns the subcommand worker, which hands over to the second program.
func newWorker(a *app) *cobra.Command {
	return worker.NewCommand(func(_ *cobra.Command, f *worker.Flags) error {
		if err := a.setOn(f.On); err != nil {
			return err
		}
		if a.remoteName() == "" {
			return usageError(wording.Errorf("the worker needs a server (name one with --on temporal://HOST:PORT, or the setting on)"))
		}
		program, err := remote.Find(a.settings.Temporal.Program)
		if err != nil {
			return usageError(err)
		}
		code, err := remote.HandOver(program, append([]string{remote.VersionFlag, buildVersion()}, a.args...))
		if err != nil {
			return usageError(err)
		}
		return exitError{code: code}
	})
}

// newWorkers returns the subcommand workers, which lists the processes that carry runs out.
func newWorkers(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the servers and workers that carry runs out",
		Long: `List the processes of the store that carry runs out: servers (scheduler serve) and workers
(scheduler worker). SLOTS are runs at work of those that there is room for; one that has
stopped is not listed, and one that was killed is lost after 20 s, and listed for a day.

A worker of another store is not listed: all machines need the same one.`,
		Example: strings.Trim(`
  scheduler workers
  scheduler workers --json | jq '.[] | select(.state == "lost") | .host'`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := a.runtime.Workers(cmd.Context())
			if err != nil {
				return exitError{exitFailed, err}
			}
			if asJSON {
				list := []value.Value{}
				for _, w := range all {
					list = append(list, value.Must(w))
				}
				return a.PrintJSON(value.OfList(list...))
			}
			return a.printWorkers(all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// printWorkers prints a table of workers.
func (a *app) printWorkers(all []*fleet.Worker) error {
	if len(all) == 0 {
		a.Tellf("no servers and no workers in %s (scheduler serve and scheduler worker begin one)", a.runtime.StorePlace())
		return nil
	}
	w := terminal.NewTable(a.Stdout)
	fmt.Fprintln(w, a.Language.Say("HOST\tPID\tKIND\tVERSION\tQUEUES\tSLOTS\tSTATE\tLAST BEAT\tSINCE"))
	for _, one := range all {
		used, slots := one.Slots()
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d/%d\t%s\t%s\t%s\n", terminal.Visible(one.Host), one.PID, a.Language.Say(string(one.Kind)), terminal.Visible(one.Version),
			terminal.Visible(queuesText(one.Queues)), used, slots, a.Language.Say(string(one.State)),
			a.Language.Say("%s ago", max(0, time.Since(one.LastBeat)).Round(time.Second).String()), one.Since.Local().Format(time.DateTime))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if versions := fleet.Versions(all); len(versions) > 1 {
		a.Tellf("warning: these processes have different versions of the program (%s): workers leave runs alone that a newer one was at (upgrade all)", terminal.Visible(strings.Join(versions, ", ")))
	}
	return nil
}

// queuesText returns the names of queues, with the slots of each if there are several.
func queuesText(queues []fleet.Queue) string {
	var names []string
	for _, q := range queues {
		name := q.Name
		if len(queues) > 1 {
			name += fmt.Sprintf(" %d/%d", q.Used, q.Slots)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
