package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

func newRunsList(a *app) *cobra.Command {
	var asJSON bool
	var states, labels []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, the newest first",
		Example: strings.Trim(`
  scheduler runs list --state waiting,failed
  scheduler runs list --label owner=lin --label ticket=42
  scheduler runs list --json | jq -r '.[] | select(.interrupted) | .run'`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageError(wording.Errorf("--limit: want a number from 0"))
			}
			filter := journal.RunFilter{Limit: limit}
			var err error
			filter.States, err = runStates(states)
			if err != nil {
				return err
			}
			filter.Labels, err = parseLabels(labels)
			if err != nil {
				return err
			}
			runs := []value.Value{}
			w := terminal.NewTable(a.Stdout)
			if !asJSON {
				fmt.Fprintln(w, a.Language.Say("RUN\tFLOW\tSTATE\tSTARTED\tTIME\tTOKENS\tCOST"))
			}
			for info, err := range a.service.Runs(cmd.Context(), service.Principal{}, filter) {
				if err != nil {
					return a.beforeRun(err)
				}
				runs = append(runs, runJSON(info))
				if asJSON {
					continue
				}
				totals, err := a.service.Totals(cmd.Context(), info)
				if err != nil {
					return a.beforeRun(err)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", info.ID, info.Flow, stateWord(info, a.Language), info.StartedAt.Local().Format(time.DateTime),
					terminal.Milliseconds(float64(totals.Duration.Microseconds())/1000), totals.Usage.Total(), costText(totals.Usage))
			}
			if asJSON {
				return a.PrintJSON(value.OfList(runs...))
			}
			if len(runs) == 0 {
				a.Tellf("no such runs in %s", a.runtime.StorePlace())
				return nil
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only runs in these `states`: running, waiting, failed, cancelled, finished")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only runs with that label, `name=value`: owner=lin, origin=cli")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most that many; 0 is all")
	return cmd
}

func newRunsEvents(a *app) *cobra.Command {
	var from int64
	var follow bool
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "Print the events of a run as JSON lines",
		Example: strings.Trim(`
  scheduler runs events last | jq -c 'select(.type == "step.failed")'
  scheduler runs events last --from 20
  scheduler runs events last --follow`, "\n"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := a.service.FindRun(cmd.Context(), service.Principal{}, args[0])
			if err != nil {
				return a.beforeRun(err)
			}
			out := terminal.NewJSONEventPrinter(a.Stdout)
			events := a.service.Events(cmd.Context(), service.Principal{}, id, from)
			if follow {
				events = a.service.Follow(cmd.Context(), service.Principal{}, id, from-1)
			}
			for event, err := range events {
				if err != nil && cmd.Context().Err() != nil {
					return exitError{exitInterrupted, wording.Errorf("interrupted")}
				}
				if err != nil {
					return a.beforeRun(err)
				}
				if err := out.Event(event); err != nil {
					return exitError{exitFailed, err}
				}
			}
			return nil
		},
	}
	cmd.Flags().Int64Var(&from, "from", 1, "begin with that `seq`")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with those to come, until the run is over or waits")
	cmd.Flags().Bool("json", true, "print JSON lines, as always: for commands that are written alike")
	return cmd
}

func newRunsCancel(a *app) *cobra.Command {
	var asJSON, force bool
	var on string
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run, also one that another process is at",
		Long: `Cancel a run. One that another process is at is stopped by that process, within a
second or two. What finished is kept, and resume goes on with a cancelled run too.

--force takes the run from its process first. It is for a process that cannot be alive
though it still seems to hold the run: the machine was started again, its container is
gone, its clock was set back. A process of this machine that is alive keeps the run: end
it, and the run is free. One of another machine that is alive after all stops at its next
step.`,
		Example:           "  scheduler runs cancel last\n  scheduler runs cancel 0199f0c2 --force",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setOn(on); err != nil {
				return err
			}
			return a.cancelRun(cmd.Context(), args[0], force, asJSON)
		},
	}
	addOnFlag(cmd.Flags(), &on)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the run as runs list has it")
	cmd.Flags().BoolVar(&force, "force", false, "take the run from a process that cannot be alive")
	return cmd
}

func (a *app) cancelRun(ctx context.Context, name string, force, asJSON bool) error {
	id, err := a.service.FindRun(ctx, service.Principal{}, name)
	if err != nil {
		return a.beforeRun(err)
	}
	if force {
		if err := a.releaseRun(ctx, id); err != nil {
			return err
		}
	}
	info, err := a.service.Cancel(ctx, service.Principal{}, id)
	if err != nil {
		return a.beforeRun(err)
	}
	switch {
	case asJSON:
		return a.PrintJSON(runJSON(info))
	case info.State == journal.RunCancelled:
		a.Tellf("cancelled %s", id)
	default:
		a.Tellf("asked %v, to stop %s", info.Holder, id)
	}
	return nil
}

// releaseRun takes a run from its process, and prints which one that was.
func (a *app) releaseRun(ctx context.Context, id string) error {
	holder, err := a.service.Release(ctx, service.Principal{}, id)
	if err != nil {
		return a.beforeRun(err)
	}
	if holder != nil {
		a.Tellf("took the run from %v", holder)
	}
	return nil
}

// runStates reads the states of --state.
func runStates(names []string) (states []journal.RunStatus, err error) {
	known := []string{"running", "waiting", "failed", "cancelled", "finished"}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, usageError(wording.Errorf("--state: there is no state %q%s", name, value.DidYouMeanSuffix(name, known)))
		}
		states = append(states, journal.RunStatus(name))
	}
	return states, nil
}

// runJSON returns a run as --json shows it.
func runJSON(info *journal.RunInfo) value.Value {
	m := value.Must(info).Map().Clone()
	m.Set("interrupted", value.OfBool(info.Interrupted()))
	return value.OfMap(m)
}

// costText returns what a run cost; "-" where that is not known.
func costText(u llm.Usage) string {
	if u.Cost == 0 {
		return "-"
	}
	return llm.CostText(u.Cost)
}

// stateWord returns the state of a run for people.
func stateWord(info *journal.RunInfo, language terminal.Language) string {
	if info.Interrupted() {
		return language.Say("running (interrupted)")
	}
	if info.Queued() {
		return language.Say("queued")
	}
	return language.Say(string(info.State))
}

// completeRuns offers the ids of runs, the newest first.
func completeRuns(a *app) completion {
	return completeSome(a, func(*journal.RunInfo) bool { return true })
}

// completeResumable offers those that resume goes on with: runs that no process holds and
// that are not finished.
func completeResumable(a *app) completion {
	return completeSome(a, func(info *journal.RunInfo) bool {
		return info.State != journal.RunFinished && info.Holder == nil
	})
}

func completeSome(a *app, fits func(*journal.RunInfo) bool) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		const most = 50
		var ids []string
		newest := true
		for info, err := range a.service.Runs(cmd.Context(), service.Principal{}, journal.RunFilter{}) {
			if err != nil || len(ids) > most {
				break
			}
			if fits(info) {
				if newest {
					ids = append(ids, "last")
				}
				ids = append(ids, info.ID+"\t"+info.Flow+", "+stateWord(info, a.Language))
			}
			newest = false
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
