package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// pruneFlags are the flags of runs prune.
type pruneFlags struct {
	older  string
	keep   int
	states []string
	force  bool
	json   bool
}

func newRunsPrune(a *app) *cobra.Command {
	var f pruneFlags
	cmd := &cobra.Command{
		Use:   "prune [RUN...]",
		Short: "Delete runs for good",
		Long: `Delete runs for good: those that fit every flag, and are named where some are.
Without flags and names nothing is deleted. Runs that are waiting or running stay
unless --force says otherwise; one that a process is at always stays.`,
		Example:           "  scheduler runs prune --older-than 30d\n  scheduler runs prune --state failed --keep 10\n  scheduler runs prune 0199f0c2 --force",
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			picksNothing := f.older == "" && len(f.states) == 0 && !cmd.Flags().Changed("keep")
			if len(args) == 0 && picksNothing {
				return usageError(wording.Errorf("prune needs a run, --older-than, --state or --keep: nothing was deleted"))
			}
			prune, err := f.pruneRequest()
			if err != nil {
				return err
			}
			for _, name := range args {
				id, err := a.service.FindRun(cmd.Context(), service.Principal{}, name)
				if err != nil {
					return a.beforeRun(err)
				}
				prune.Runs = append(prune.Runs, id)
			}
			pruned, err := a.service.Prune(cmd.Context(), service.Principal{}, prune)
			if err != nil {
				return a.beforeRun(err)
			}
			return a.printPruned(cmd.Context(), prune, pruned, f.json)
		},
	}
	cmd.Flags().StringVar(&f.older, "older-than", "", "that no process was at for that `age`, whatever the clock of the run: 90m, 24h, 30d")
	cmd.Flags().IntVar(&f.keep, "keep", 0, "keep the newest `N` of those that fit")
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "in these `states` (default finished, failed, cancelled)")
	cmd.Flags().BoolVar(&f.force, "force", false, "also runs that are waiting, or whose process died")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON: {deleted, kept, bytes}")
	return cmd
}

// pruneRequest returns the request that the flags describe.
func (f *pruneFlags) pruneRequest() (prune journal.Prune, err error) {
	prune = journal.Prune{Keep: f.keep, Force: f.force}
	if f.keep < 0 {
		return prune, usageError(wording.Errorf("--keep: want a number from 0"))
	}
	if f.older != "" {
		age, err := parseAge(f.older)
		if err != nil {
			return prune, usageError(wording.Errorf("--older-than: %w", err))
		}
		prune.Before = time.Now().Add(-age)
	}
	prune.States, err = runStates(f.states)
	return prune, err
}

// printPruned prints what was deleted, and why the other named runs stayed.
func (a *app) printPruned(ctx context.Context, prune journal.Prune, pruned *journal.Pruned, asJSON bool) error {
	kept := slices.DeleteFunc(slices.Clone(prune.Runs), func(id string) bool { return slices.Contains(pruned.Runs, id) })
	if asJSON {
		return a.PrintJSON(value.OfMap(value.Pairs(
			"deleted", append([]string{}, pruned.Runs...), "kept", append([]string{}, kept...), "bytes", pruned.Bytes)))
	}
	a.Tellf("deleted %s, %d KiB", wording.Count(len(pruned.Runs), "run"), pruned.Bytes>>10)
	for _, id := range kept {
		info, err := a.service.Run(ctx, service.Principal{}, id)
		if err != nil {
			return a.beforeRun(err)
		}
		a.Tellf("kept %s: %s", id, a.whyKept(info, prune))
	}
	return nil
}

// whyKept returns why a run was not deleted that was named.
func (a *app) whyKept(info *journal.RunInfo, prune journal.Prune) string {
	if info.Holder != nil {
		return a.Language.Say("it is held by %v", info.Holder)
	}
	isOpen := !info.State.IsOver()
	if !prune.Force && isOpen {
		return a.Language.Say("it is %s; --force deletes it all the same", stateWord(info, a.Language))
	}
	return a.Language.Say("it does not fit the flags")
}

// parseAge reads a duration, days included.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n < 0 {
			return 0, wording.Errorf("invalid age %q (use 90m, 24h or 30d)", text)
		}
		return time.Duration(n * 24 * float64(time.Hour)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wording.Errorf("invalid age %q (use 90m, 24h or 30d)", text)
	}
	return d, nil
}
