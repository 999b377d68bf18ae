package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal/transfer"
	"github.com/callnode/scheduler/scheduler/service"
)

// storeWord names the store of the settings, in place of the path of a journal.
const storeWord = "store"

func newJournalCopy(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy all runs to another journal",
		Long: `Copy all runs to another journal: from a state directory to the store that several
machines share, and back. FROM and TO are a state directory, the word store for that of
the settings, or the URL of a Postgres database (postgres://...); one without a password
takes it from PGPASSWORD or ~/.pgpass.

A run is copied whole, with its prompts, images and labels, and then compared in both. Runs
that are there already are compared only, so copying may be repeated; nothing is changed in
FROM, and nothing overwritten in TO. A run that a process is at is left, and told: stop
what runs there, and copy again. Images are encrypted with the key of each journal: a store
needs journal.key_env.

Memories are moved by memory export and memory import.

Exit codes: 0 all runs are in both, 1 some are not, 2 the usage or the settings are wrong.`,
		Example: strings.Trim(`
  scheduler journal copy .scheduler store    # SCHEDULER_STORE=postgres://...
  scheduler journal copy store backup/`, "\n"),
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.copyJournal(cmd.Context(), args[0], args[1], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: {copied, present, events, labels, left: [{run, error}]}")
	return cmd
}

// copyJournal copies the runs of a journal to another.
func (a *app) copyJournal(ctx context.Context, from, to string, asJSON bool) (err error) {
	source, err := a.openTransfer(ctx, from, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := a.openTransfer(ctx, to, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	bar := terminal.NewBar(a.Terminal, a.Language.Say("copying"))
	report, err := transfer.Copy(ctx, source, target, bar.Show)
	bar.Close()
	return a.tellCopied(ctx, report, err, asJSON)
}

// movable is a journal that runs can leave and enter.
type movable interface {
	transfer.Store
	Close() error
}

// openTransfer opens the journal that an argument names; with create it is made.
func (a *app) openTransfer(ctx context.Context, name string, create bool) (movable, error) {
	url := name
	if name == storeWord {
		url = a.settings.Store
		if url == "" {
			return nil, usageError(wording.Errorf("there is no store (set SCHEDULER_STORE=postgres://..., or the setting store)"))
		}
	}
	if config.IsStoreURL(url) {
		j, err := a.runtime.OpenSharedJournal(ctx, url)
		if err != nil {
			return nil, exitError{exitFailed, err}
		}
		return j, nil
	}
	j, err := wire.OpenFileJournal(ctx, name, create)
	if errors.Is(err, service.ErrNoJournal) {
		return nil, usageError(calls.Errorf(calls.NotFound, "there is no journal in %s", name).
			WithHint("name a state directory, such as .scheduler, or store"))
	}
	if err != nil {
		return nil, exitError{exitFailed, err}
	}
	return j, nil
}

// tellCopied prints how many runs were copied, and which were not.
func (a *app) tellCopied(ctx context.Context, report *transfer.Report, err error, asJSON bool) error {
	left := []value.Value{}
	for _, one := range report.Left {
		left = append(left, value.OfMap(value.Pairs("run", one.Run, "error", one.Err.Error())))
		if !asJSON {
			a.Tellf("left: %w", one.Err)
			if hint := calls.HintIn(one.Err, string(a.Language)); hint != "" {
				a.Tellf("hint: %s", hint)
			}
		}
	}
	switch {
	case err != nil && calls.KindOf(err) == calls.Invalid:
		return usageError(err)
	case err != nil:
		if report.Copied > 0 {
			a.Tellf("note: copied until then: %s, which stay; copy again for the others", wording.Count(report.Copied, "run"))
		}
		return exitFor(ctx, err, false)
	case asJSON:
		err = a.PrintJSON(value.OfMap(value.Pairs(
			"copied", report.Copied, "present", report.Present, "events", report.Events, "labels", report.Labels, "left", left)))
	default:
		a.Tellf("copied %s, %d were there already: both journals have the same %d events and %d labels of them",
			wording.Count(report.Copied, "run"), report.Present, report.Events, report.Labels)
	}
	if err == nil && len(report.Left) > 0 {
		return exitError{exitFailed, wording.Errorf("not copied: %s", wording.Count(len(report.Left), "run"))}
	}
	return err
}
