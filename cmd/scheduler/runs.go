package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

func newRuns(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Look at the runs in the journal",
		Long: `Look at the runs that the journal keeps in the state directory. RUN is a run's id,
the beginning or the end of one that fits no other, or last.`,
		Example: strings.Trim(`
  scheduler runs
  scheduler runs show last --prompt answer
  scheduler runs events last | jq -c 'select(.type == "step.failed")'
  scheduler runs prune --older-than 720h --keep 100`, "\n"),
		Args: cobra.NoArgs,
	}
	list := newRunsList(a)
	cmd.RunE = list.RunE
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, newRunsShow(a), newRunsEvents(a), newRunsCancel(a), newRunsPrune(a))
	return cmd
}

// withJournal opens the journal that is there and hands it to do. A state
// directory without one has no runs.
func (a *app) withJournal(ctx context.Context, do func(scheduler.Journal) error) error {
	path := filepath.Join(a.config.StateDir, journal.FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return do(journal.NewMemory(time.Now))
	}
	j, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	err = do(j)
	return errors.Join(err, j.Close())
}

func (a *app) openJournal(ctx context.Context) (*journal.SQLite, error) {
	j, err := journal.Open(ctx, a.config.StateDir, journal.Options{})
	if err != nil {
		return nil, exitError{exitFailed, err}
	}
	return j, nil
}

// findRun completes what a user wrote for a run's id.
func findRun(ctx context.Context, j scheduler.RunReader, name string) (string, error) {
	if info, err := j.Run(ctx, name); err == nil {
		return info.ID, nil
	} else if calls.KindOf(err) != calls.NotFound {
		return "", exitError{exitFailed, err}
	}
	var fits []string
	for info, err := range j.Runs(ctx, scheduler.RunFilter{}) {
		if err != nil {
			return "", exitError{exitFailed, err}
		}
		if name == "last" {
			return info.ID, nil
		}
		if strings.HasPrefix(info.ID, name) || strings.HasSuffix(info.ID, name) {
			fits = append(fits, info.ID)
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) > 1:
		return "", usageError(fmt.Errorf("%q fits %d runs: write more of the id", name, len(fits)))
	case name == "last":
		return "", usageError(errors.New("the journal has no runs"))
	}
	return "", usageError(fmt.Errorf("the journal has no run %q (scheduler runs lists them)", name))
}

func newRunsList(a *app) *cobra.Command {
	var asJSON bool
	var states []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := scheduler.RunFilter{Limit: limit}
			for _, s := range states {
				filter.States = append(filter.States, scheduler.RunStatus(s))
			}
			return a.withJournal(cmd.Context(), func(j scheduler.Journal) error {
				runs := []value.Value{}
				w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
				for info, err := range j.Runs(cmd.Context(), filter) {
					if err != nil {
						return exitError{exitFailed, err}
					}
					runs = append(runs, value.Must(info))
					state := string(info.State)
					if info.Interrupted() {
						state += " (interrupted)"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", info.ID, info.Flow, state, info.StartedAt.Local().Format(time.DateTime))
				}
				if asJSON {
					return a.printJSON(value.OfList(runs...))
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only runs in these `states`: running, waiting, failed, cancelled, finished")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most that many; 0 is all")
	return cmd
}

func newRunsShow(a *app) *cobra.Command {
	var asJSON bool
	var step string
	cmd := &cobra.Command{
		Use:               "show RUN",
		Short:             "Show a run: its steps, what it waits for, its error",
		Example:           "  scheduler runs show last\n  scheduler runs show last --prompt answer    # its prompt, every piece with its source",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJournal(cmd.Context(), func(j scheduler.Journal) error {
				id, err := findRun(cmd.Context(), j, args[0])
				if err != nil {
					return err
				}
				return a.showRun(cmd.Context(), j, id, step, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&step, "prompt", "", "show the prompt of a `step`, every piece with its source and tokens")
	return cmd
}

func (a *app) showRun(ctx context.Context, j scheduler.RunReader, id, step string, asJSON bool) error {
	info, err := j.Run(ctx, id)
	if err != nil {
		return exitError{exitFailed, err}
	}
	state, err := scheduler.Fold(j.Events(ctx, id, 1))
	if err != nil {
		return exitError{exitFailed, err}
	}
	header, err := j.Header(ctx, id)
	if err != nil {
		return exitError{exitFailed, err}
	}
	flow, problems := a.parseRecorded(header.File, header.Text)
	if flow != nil {
		state.Complete(flow)
	}
	if step != "" {
		if flow == nil {
			return exitError{exitFailed, fmt.Errorf("the flow of the run cannot be read any more: %w", problems.Err())}
		}
		return a.explain(flow, state, step, tokens.For(""))
	}
	if asJSON {
		whole := value.Must(info).Map().Clone()
		for k, v := range value.Must(state).Map().All() {
			whole.Set(k, v)
		}
		return a.printJSON(value.OfMap(whole))
	}
	return a.printRun(info, state)
}

// parseRecorded reads a flow as the journal kept it.
func (a *app) parseRecorded(file string, text scheduler.FlowText) (*scheduler.Flow, scheduler.Problems) {
	loader, err := a.loader()
	if err != nil {
		return nil, scheduler.Problems{{Pos: scheduler.Position{File: file, Line: 1, Col: 1}, Message: err.Error()}}
	}
	loader.Providers, loader.Secrets = nil, nil // the settings may have lost names that the run knows
	return loader.LoadText(file, text)
}

func (a *app) printRun(info *scheduler.RunInfo, state *scheduler.RunState) error {
	var b strings.Builder
	fmt.Fprintf(&b, "run      %s\nflow     %s\nstate    %s\nstarted  %s\nupdated  %s\ntokens   %d in, %d out\n\n",
		info.ID, info.Flow, info.State, info.StartedAt.Local().Format(time.DateTime), info.UpdatedAt.Local().Format(time.DateTime),
		state.Usage.InputTokens, state.Usage.OutputTokens)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tCALL\tSTATE\tATTEMPTS\tTIME\tTOKENS")
	for _, s := range state.Steps {
		printStep(w, s)
		for _, item := range s.Items {
			printStep(w, item)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if state.Error != nil {
		fmt.Fprintf(&b, "\nerror: %s\n", (&scheduler.Failure{Info: *state.Error}).Error())
	}
	for _, waiting := range state.Waiting {
		fmt.Fprintf(&b, "\n%s", waitingText(waiting))
	}
	if len(state.Waiting) > 0 {
		fmt.Fprintf(&b, "\nGo on with:\n  %s\n", a.resumeCommand(info.ID, state.Waiting))
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

func printStep(w *tabwriter.Writer, s *scheduler.StepState) {
	note := ""
	switch {
	case s.Error != nil:
		note = firstLine(s.Error.Message)
	case s.Reason != "":
		note = s.Reason
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.1f ms\t%d\t%s\n", s.ID, s.Call, s.State, s.Attempts, s.DurationMS, s.Usage.Total(), note)
}

func newRunsEvents(a *app) *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use:               "events RUN",
		Short:             "Print the events of a run as JSON lines",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJournal(cmd.Context(), func(j scheduler.Journal) error {
				id, err := findRun(cmd.Context(), j, args[0])
				if err != nil {
					return err
				}
				out := newEventPrinter(a.stdout)
				for event, err := range j.Events(cmd.Context(), id, from) {
					if err != nil {
						return exitError{exitFailed, err}
					}
					if err := out.event(event); err != nil {
						return exitError{exitFailed, err}
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().Int64Var(&from, "from", 1, "begin with that `seq`")
	return cmd
}

func newRunsCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "cancel RUN",
		Short:             "Cancel a run, also one that another process is at",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJournal(cmd.Context(), func(j scheduler.Journal) error {
				id, err := findRun(cmd.Context(), j, args[0])
				if err != nil {
					return err
				}
				if err := j.Cancel(cmd.Context(), id); err != nil {
					return exitError{exitFailed, err}
				}
				fmt.Fprintf(a.stderr, "cancelled %s\n", id)
				return nil
			})
		},
	}
}

func newRunsPrune(a *app) *cobra.Command {
	var older string
	var keep int
	var states []string
	var force bool
	cmd := &cobra.Command{
		Use:   "prune [RUN...]",
		Short: "Delete runs for good",
		Long: `Delete runs for good: those that fit every flag, and are named where some are.
Without flags and names nothing is deleted. Runs that are waiting or running stay
unless --force says otherwise; one that a process is at always stays.`,
		Example: "  scheduler runs prune --older-than 30d\n  scheduler runs prune --state failed --keep 10",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && older == "" && keep == 0 && len(states) == 0 {
				return usageError(errors.New("prune needs a run, --older-than, --state or --keep: nothing was deleted"))
			}
			prune := scheduler.Prune{Keep: keep, Force: force}
			if older != "" {
				age, err := parseAge(older)
				if err != nil {
					return usageError(fmt.Errorf("--older-than: %w", err))
				}
				prune.Before = time.Now().Add(-age)
			}
			for _, s := range states {
				prune.States = append(prune.States, scheduler.RunStatus(s))
			}
			return a.withJournal(cmd.Context(), func(j scheduler.Journal) error {
				for _, name := range args {
					id, err := findRun(cmd.Context(), j, name)
					if err != nil {
						return err
					}
					prune.Runs = append(prune.Runs, id)
				}
				pruned, err := j.Prune(cmd.Context(), prune)
				if err != nil {
					return exitError{exitFailed, err}
				}
				fmt.Fprintf(a.stderr, "deleted %s, %d KiB\n", count(len(pruned.Runs), "run"), pruned.Bytes>>10)
				for _, id := range prune.Runs {
					if !slices.Contains(pruned.Runs, id) {
						fmt.Fprintf(a.stderr, "kept %s: it does not fit the flags, or is running or waiting\n", id)
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "whose last event is older than that `age`: 90m, 24h, 30d")
	cmd.Flags().IntVar(&keep, "keep", 0, "keep the newest `N` of those that fit")
	cmd.Flags().StringSliceVar(&states, "state", nil, "in these `states` (default finished, failed, cancelled)")
	cmd.Flags().BoolVar(&force, "force", false, "also runs that are waiting, or whose process died")
	return cmd
}

// parseAge reads a duration, days included.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is no age: write 90m, 24h or 30d", text)
		}
		return time.Duration(n * 24 * float64(time.Hour)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no age: write 90m, 24h or 30d", text)
	}
	return d, nil
}
