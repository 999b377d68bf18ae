package main

import (
	"context"
	"errors"
	"io"
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export DIR | --jsonl FILE",
		Short: "Write the memories to a directory, or to a file of JSON lines",
		Long: `Write the memories to a directory: index.json, memories/ID.json, snapshots/ID.json and
meta_snapshots/ID.json. Importing that and exporting again gives the same bytes. Files
of an earlier export whose memories are gone are removed.

With --jsonl the memories alone, one in a line.

Vectors of embeddings are not exported: after an import they are made again, which a
provider may want to be paid for.`,
		Example: strings.Trim(`
  scheduler memory export backup/
  scheduler memory export --user lin lin/
  scheduler memory export --user lin --jsonl - | jq -r .content`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			users, err := scope.usersOrAll()
			if err != nil {
				return err
			}
			if (jsonl == "") == (len(args) == 0) {
				return usageError(wording.Errorf("where to? give a directory, or --jsonl FILE"))
			}
			if !a.runtime.HasMemory() {
				return exitError{exitFailed, wording.Errorf("there are no memories in %s: nothing was exported", a.settings.StateDir)}
			}
			write := func(from memory.Lister) error {
				return a.exportDir(cmd.Context(), from, users, strings.Join(args, ""), asJSON)
			}
			if jsonl != "" {
				write = func(from memory.Lister) error { return a.exportLines(cmd.Context(), from, users, jsonl, asJSON) }
			}
			return a.withMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error { return write(p.Store) })
		},
	}
	scope.addFlags(cmd, "")
	cmd.Flags().StringVar(&jsonl, "jsonl", "", "a `file` of JSON lines, - for stdout")
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
		f, openErr := calls.CreateFile(name, 0o600)
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

func newMemoryImport(a *app) *cobra.Command {
	var scope scopeFlags
	var jsonl string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import DIR | --jsonl FILE",
		Short: "Store the memories of a directory or of a file of JSON lines",
		Long: `Store the memories of a directory as memory export writes it, or of a file of JSON
lines. Importing the same again changes nothing, but for utterances that have neither
an id nor a time: those are said again.

A line is a memory, {"id", "content", "timestamp", "context": {"user_id",
"session_id", "other_context"}}, of which only content must be there, or an utterance
of a chat, {"is_user", "content", "timestamp"} or {"role", "content"}. A timestamp that
names no zone is UTC. --user and --session are those of lines that name none. A line
that is wrong is an error that names it, and nothing of the file is stored.

Of a directory the files count, not the index. What cannot be read is told, the rest
is stored. --user takes only the memories of that user: those of others are left out.`,
		Example: strings.Trim(`
  scheduler memory import backup/
  scheduler memory import --jsonl talks.jsonl
  jq -c '.messages[]' chat.json | scheduler memory import --jsonl - --user lin --session monday`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			users, err := scope.usersOrAll()
			switch {
			case err != nil:
				return err
			case (jsonl == "") == (len(args) == 0):
				return usageError(wording.Errorf("what shall be imported? give a directory, or --jsonl FILE"))
			case jsonl == "" && scope.sessionSaid():
				return usageError(wording.Errorf("--session is for --jsonl: the files of a directory name their sessions"))
			}
			options := archive.Options{Users: users, Session: scope.session}
			if jsonl != "" {
				return a.importLines(cmd.Context(), jsonl, options, asJSON)
			}
			return a.importDir(cmd.Context(), args[0], options, asJSON)
		},
	}
	scope.addFlags(cmd, "the `session` of lines that name none")
	cmd.Flags().StringVar(&jsonl, "jsonl", "", "memories, one JSON object per line, a `file`, - for stdin")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was stored as JSON")
	return cmd
}

func (a *app) importLines(ctx context.Context, name string, options archive.Options, asJSON bool) error {
	file, closeFile, err := a.openTwice(name)
	if err != nil {
		return usageError(wording.Errorf("reading --jsonl: %w", err))
	}
	defer func() { _ = closeFile() }() // it was only read
	return a.withMemory(ctx, func(p *memory.SnapshotProcessor) error {
		bar := terminal.NewBar(a.Terminal, a.Language.Say("importing"))
		options.Progress = bar.Show
		report, err := archive.ImportLines(ctx, p.Store, name, file, options)
		bar.Close()
		return a.tellImported(ctx, report, err, asJSON)
	})
}

// openTwice opens a file, or stdin as -, that can be read twice: a stream is copied to a temporary file.
func (a *app) openTwice(name string) (file io.ReadSeeker, closeFile func() error, err error) {
	if name == "-" {
		return archive.Spool(a.Input())
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, nil, wording.Errorf("%s is a directory: leave out --jsonl", name)
	}
	f, err := calls.OpenFile(name)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

func (a *app) importDir(ctx context.Context, dir string, options archive.Options, asJSON bool) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			return usageError(wording.Errorf("%s is not a directory (a file of JSON lines is imported with --jsonl)", dir))
		}
		return usageError(wording.Errorf("%s is not a directory", dir))
	}
	return a.withMemory(ctx, func(p *memory.SnapshotProcessor) error {
		bar := terminal.NewBar(a.Terminal, a.Language.Say("importing"))
		options.Progress = bar.Show
		report, err := archive.Import(ctx, p.Store, dir, options)
		bar.Close()
		return a.tellImported(ctx, report, err, asJSON)
	})
}

// tellImported prints which memories were stored and which were not.
func (a *app) tellImported(ctx context.Context, report archive.Report, err error, asJSON bool) error {
	for _, p := range report.Problems {
		a.Tellf("warning: %s", terminal.Visible(p))
	}
	if err != nil && report.Memories > 0 {
		a.Tellf("note: until then %s were stored, and stay; importing it again stores the others", wording.Count(report.Memories, "memory"))
	}
	switch {
	case err != nil && calls.KindOf(err) == calls.Invalid:
		return usageError(err)
	case err != nil:
		return exitFor(ctx, err, false)
	case asJSON:
		return a.PrintJSON(value.Must(report))
	}
	a.Tellf("imported %s", reportAmounts(&report))
	return nil
}

// reportAmounts returns the numbers of a report in words.
func reportAmounts(r *archive.Report) wording.Text {
	text := wording.Count(r.Memories, "memory")
	if r.New != r.Memories {
		text = wording.Say("%s (%d new or changed)", text, r.New)
	}
	text = wording.Say("%s, %s, %s", text, wording.Count(r.Snapshots, "snapshot"), wording.Count(r.MetaSnapshots, "meta snapshot"))
	if r.Others > 0 {
		text = wording.Say("%s; %s of other users left out", text, wording.Count(r.Others, "memory"))
	}
	return text
}
