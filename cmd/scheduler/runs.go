package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch/queue"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

func newRunsList(a *app) *cobra.Command {
	var asJSON bool
	var selection runSelection
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, the newest first",
		Example: strings.Trim(`
  scheduler runs list --state waiting,failed
  scheduler runs list --flow support --roots
  scheduler runs list --label owner=lin --label ticket=42
  scheduler runs list --json | jq -r '.[] | select(.interrupted) | .run'`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageError(wording.Errorf("--limit: want a number from 0"))
			}
			runs := []value.Value{}
			w := terminal.NewTable(a.Stdout)
			if !asJSON {
				fmt.Fprintln(w, a.Language.Say("RUN\tFLOW\tSTATE\tSTARTED\tTIME\tTOKENS\tCOST"))
			}
			for info, err := range selection.find(cmd.Context(), a) {
				if err != nil {
					return err
				}
				if limit > 0 && len(runs) == limit {
					break
				}
				doc, err := a.runJSON(cmd.Context(), info)
				if err != nil {
					return err
				}
				runs = append(runs, doc)
				if asJSON {
					continue
				}
				totals, err := a.service.Totals(cmd.Context(), info)
				if err != nil {
					return a.beforeRun(err)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", info.ID, flowWord(info, a.Language), stateWord(info, a.Language), info.StartedAt.Local().Format(time.DateTime),
					terminal.Milliseconds(float64(totals.Duration.Microseconds())/1000), totals.Usage.Total(), a.costText(totals.Usage))
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
	selection.addFlags(cmd.Flags())
	cmd.Flags().IntVar(&limit, "limit", 0, "at most that many; 0 is all")
	return cmd
}

// runSelection picks runs by flags: the runs that fit every given flag.
type runSelection struct {
	states, labels, queues []string
	flow                   string
	roots                  bool
}

func (s *runSelection) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.states, "state", nil, "only runs in these `states`: running, waiting, failed, cancelled, finished")
	flags.StringArrayVar(&s.labels, "label", nil, "only runs with that label, `name=value`: owner=lin, origin=cli")
	flags.StringVar(&s.flow, "flow", "", "only runs of the flow of that `name`")
	flags.StringArrayVar(&s.queues, "queue", nil, "only runs that wait, or waited, for workers in the queue of that `name`; may be given several times")
	flags.BoolVar(&s.roots, "roots", false, "no runs that another run has begun, for a step of it")
}

// isEmpty reports whether no flag was given.
func (s runSelection) isEmpty() bool {
	return len(s.states) == 0 && len(s.labels) == 0 && len(s.queues) == 0 && s.flow == "" && !s.roots
}

// find returns the runs that fit, the newest first.
func (s runSelection) find(ctx context.Context, a *app) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		filter := journal.RunFilter{Flow: s.flow}
		var err error
		if filter.States, err = runStates(s.states); err != nil {
			yield(nil, err)
			return
		}
		if filter.Labels, err = parseLabels(s.labels); err != nil {
			yield(nil, err)
			return
		}
		for info, err := range a.service.Runs(ctx, service.Principal{}, filter) {
			if err != nil {
				yield(nil, a.beforeRun(err))
				return
			}
			if s.roots && info.Labels[journal.LabelChildOf] != "" {
				continue
			}
			isThere, err := s.hasQueue(ctx, a, info)
			if err != nil {
				yield(nil, a.beforeRun(err))
				return
			}
			if !isThere {
				continue
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// hasQueue reports whether a run belongs to one of the queues, if any are given. A run that this machine carries out itself has none.
func (s runSelection) hasQueue(ctx context.Context, a *app, info *journal.RunInfo) (bool, error) {
	if len(s.queues) == 0 {
		return true, nil
	}
	if info.Labels[journal.LabelRunsOn] == "" {
		return false, nil
	}
	queue, err := a.service.QueueOfRun(ctx, info)
	return slices.Contains(s.queues, cmp.Or(queue, a.settings.Temporal.Queue)), err
}

// ids returns the ids of the runs that are named, or else of those that fit, in the states if no other ones are
// given. Neither names nor flags are an error: a command that changes runs does not take all of them by default.
func (s runSelection) ids(ctx context.Context, a *app, names []string, states ...string) (ids []string, err error) {
	if len(names) > 0 && !s.isEmpty() || len(names) == 0 && s.isEmpty() {
		return nil, usageError(wording.Errorf("want runs, or flags that pick some: --state, --flow, --label, --queue"))
	}
	for _, name := range names {
		id, err := a.service.FindRun(ctx, service.Principal{}, name)
		if err != nil {
			return nil, a.beforeRun(err)
		}
		ids = append(ids, id)
	}
	if len(names) > 0 {
		return ids, nil
	}
	if len(s.states) == 0 {
		s.states = states
	}
	for info, err := range s.find(ctx, a) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, info.ID)
	}
	if len(ids) == 0 {
		a.Tellf("no run fits (states: %s)", strings.Join(s.states, ", "))
	}
	return ids, nil
}

// newRunsResume is resume for many runs, for example after a provider was away.
func newRunsResume(a *app) *cobra.Command {
	var selection runSelection
	var on string
	cmd := &cobra.Command{
		Use:   "resume [RUN...]",
		Short: "Go on with runs, one after another",
		Long: `Go on with the runs that are named, or that fit every flag (failed ones, unless --state
says otherwise), the oldest first. It is scheduler resume for many runs, without answers:
one that waits still waits.

Exit code 0 if all runs ended well, else that of the first run that did not.`,
		Example:           "  scheduler runs resume --state failed --flow support\n  scheduler runs resume 0199f0c2 0199f0d7",
		ValidArgsFunction: completeResumable(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := selection.ids(cmd.Context(), a, args, "failed")
			if err != nil {
				return err
			}
			var first error
			for _, id := range slices.Backward(ids) {
				a.Tellf("resuming %s", id)
				err := a.resumeRun(cmd.Context(), id, &resumeFlags{on: on})
				if cmd.Context().Err() != nil {
					return err
				}
				var exit exitError
				if errors.As(err, &exit) && exit.err != nil {
					a.PrintError(exit.err)
					err = exitError{code: exit.code}
				}
				if first == nil {
					first = err
				}
			}
			a.Tellf("%s", a.Language.Count(len(ids), "run"))
			return first
		},
	}
	addOnFlag(cmd.Flags(), &on)
	selection.addFlags(cmd.Flags())
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
	var selection runSelection
	cmd := &cobra.Command{
		Use:   "cancel [RUN...]",
		Short: "Cancel runs, also those that another process is at",
		Long: `Cancel the runs that are named, or that fit every flag (running and waiting ones, unless
--state says otherwise). One that another process is at is stopped by that process, within a
second or two. What finished is kept, and resume goes on with a cancelled run too.

--force takes the run from its process first. It is for a process that cannot be alive
though it still seems to hold the run: the machine was started again, its container is
gone, its clock was set back. A process of this machine that is alive keeps the run: end
it, and the run is free. One of another machine that is alive after all stops at its next
step.`,
		Example:           "  scheduler runs cancel last\n  scheduler runs cancel 0199f0c2 --force\n  scheduler runs cancel --state waiting --flow support",
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setOn(on); err != nil {
				return err
			}
			ids, err := selection.ids(cmd.Context(), a, args, "running", "waiting")
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := a.cancelRun(cmd.Context(), id, force, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	addOnFlag(cmd.Flags(), &on)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the run as runs list has it")
	cmd.Flags().BoolVar(&force, "force", false, "take the run from a process that cannot be alive")
	selection.addFlags(cmd.Flags())
	return cmd
}

func (a *app) cancelRun(ctx context.Context, id string, force, asJSON bool) error {
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
		doc, err := a.runJSON(ctx, info)
		if err != nil {
			return err
		}
		return a.PrintJSON(doc)
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
func (a *app) runJSON(ctx context.Context, info *journal.RunInfo) (value.Value, error) {
	m := value.Must(info).Map().Clone()
	m.Set("interrupted", value.OfBool(info.Interrupted()))
	waits, err := a.whyWaiting(ctx, info)
	if err != nil {
		return value.Value{}, err
	}
	if waits != nil {
		reason := value.Must(waits).Map().Clone()
		reason.Set("text", value.OfString(waits.Text.In(string(a.Language))))
		m.Set("waits_because", value.OfMap(reason))
	}
	return value.OfMap(m), nil
}

// whyWaiting returns why a run waits for a server or a worker; nil for one that does not.
func (a *app) whyWaiting(ctx context.Context, info *journal.RunInfo) (*fleet.Reason, error) {
	if a.queues == nil {
		a.queues = queue.New(queue.Options{Service: a.service, Workers: a.runtime.Workers, Default: a.settings.Temporal.Queue})
	}
	waits, err := a.queues.Why(ctx, info)
	if err != nil {
		return nil, a.beforeRun(err)
	}
	return waits, nil
}

// flowWord returns the flow of a run for people, with the run that has begun it for a step.
func flowWord(info *journal.RunInfo, language terminal.Language) string {
	parent := info.Labels[journal.LabelChildOf]
	if parent == "" {
		return info.Flow
	}
	return language.Say("%s (child of %s)", info.Flow, parent[:min(len(parent), 8)])
}

// costText returns the cost of a run; "-" if that is not known.
func (a *app) costText(u llm.Usage) string {
	if u.Cost == 0 {
		return "-"
	}
	return a.settings.LLM.Currency.Text(u.Cost)
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

// completeResumable offers the runs that resume can continue: no process holds them and they are not finished.
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
