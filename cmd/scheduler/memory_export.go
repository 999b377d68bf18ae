package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

func newMemoryExport(a *app) *cobra.Command {
	var scope scopeFlags
	var jsonl string
	var salvage, asJSON bool
	cmd := &cobra.Command{
		Use:   "export DIR | --jsonl FILE",
		Short: "Write the memories to a directory, or to a file of JSON lines",
		Long: `Write the memories to a directory: index.json, memories/ID.json, snapshots/ID.json and
meta_snapshots/ID.json. Importing that and exporting again gives the same bytes. Files
of an earlier export whose memories are gone are removed.

With --jsonl the memories alone, one in a line. With --salvage what can still be read
of a damaged store; its file is not changed. Users and sessions whose names are lost
are called salvaged-N then.

Vectors of embeddings are not exported: after an import they are made anew, which a
provider may want to be paid for.`,
		Example: strings.Trim(`
  scheduler memory export backup/
  scheduler memory export --user lin lin/
  scheduler memory export --user lin --jsonl - | jq -r .content
  scheduler memory export --salvage rescued/`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			users, err := scope.usersOrAll()
			if err != nil {
				return err
			}
			if (jsonl == "") == (len(args) == 0) {
				return usageError(wording.Errorf("where to? give a directory, or --jsonl FILE"))
			}
			if !a.runtime.hasMemory() {
				return exitError{exitFailed, wording.Errorf("there are no memories in %s: nothing was exported", a.settings.StateDir)}
			}
			write := func(from memory.Lister) error {
				return a.exportDir(cmd.Context(), from, users, strings.Join(args, ""), asJSON)
			}
			if jsonl != "" {
				write = func(from memory.Lister) error { return a.exportLines(cmd.Context(), from, users, jsonl, asJSON) }
			}
			if salvage {
				return a.exportDamaged(cmd.Context(), write)
			}
			return a.withMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error { return write(p.Store) })
		},
	}
	scope.addFlags(cmd, "")
	cmd.Flags().StringVar(&jsonl, "jsonl", "", "a `file` of JSON lines, - for stdout")
	cmd.Flags().BoolVar(&salvage, "salvage", false, "read what can be read of a damaged store")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was written as JSON")
	return cmd
}

func (a *app) exportDir(ctx context.Context, from memory.Lister, users memory.Users, dir string, asJSON bool) error {
	bar := terminal.NewBar(a.Terminal, a.Language.Say("exporting"))
	report, err := archive.Export(ctx, from, users, dir, bar.Show)
	bar.Close()
	if err != nil && calls.KindOf(err) == calls.Invalid {
		return usageError(err)
	}
	if err != nil {
		return exitFor(ctx, err, false)
	}
	return a.tellExported(&report, asJSON)
}

func (a *app) exportLines(ctx context.Context, from memory.Lister, users memory.Users, name string, asJSON bool) (err error) {
	out := a.Stdout
	if name != "-" {
		f, openErr := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if openErr != nil {
			return usageError(wording.Errorf("writing --jsonl: %w", openErr))
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	} else if asJSON {
		return usageError(wording.Errorf("--jsonl - prints the memories on stdout: leave out --json"))
	}
	n, err := archive.ExportLines(ctx, from, users, out)
	if err != nil {
		return exitFor(ctx, err, false)
	}
	return a.tellExported(&archive.Report{Memories: n, New: n}, asJSON)
}

func (a *app) tellExported(r *archive.Report, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(value.OfMap(value.Pairs("memories", r.Memories, "snapshots", r.Snapshots, "meta_snapshots", r.MetaSnapshots)))
	}
	r.New = r.Memories
	a.Tellf("exported %s", reportAmounts(r))
	return nil
}

// exportDamaged writes what can be read of a damaged store, and says what cannot.
func (a *app) exportDamaged(ctx context.Context, write func(memory.Lister) error) error {
	damaged, err := a.runtime.openDamagedMemory(ctx)
	if err != nil {
		return exitError{exitFailed, err}
	}
	if err := errors.Join(write(damaged), damaged.Close()); err != nil {
		return err
	}
	if damaged.Lost > 0 {
		a.Tellf("warning: %s could not be read, and what was there is lost", wording.Count(damaged.Lost, "place"))
	}
	a.Tellf("to go on with it, move %s away and import what was exported", a.runtime.memoryFile())
	return nil
}
