package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// memoryAdd is the subcommand memory add.
type memoryAdd struct {
	*app
	user, session, role, other, timestamp, id string
	json                                      bool
}

func newMemoryAdd(a *app) *cobra.Command {
	m := &memoryAdd{app: a}
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Remember a text, and print its id",
		Long: `Remember a text, and print its id. It is on the disk, and can be found, when the id
is printed. TEXT may be - for stdin. What is known already, word for word and in the
same context, is not stored twice: the id is that of the first one.`,
		Example: strings.Trim(`
  scheduler memory add --user lin "I like jasmine tea best."
  scheduler memory add --user lin --session monday --role user --timestamp 2026-03-02T09:00:00Z - < said.txt
  scheduler memory add --user lin --context '{"speaker": "Lin", "place": "kitchen"}' "The kettle is new."`, "\n"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(m.user) == "" {
				return usageError(wording.Errorf("no user is given: name the user whose memory it is with --user"))
			}
			return m.run(cmd.Context(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&m.user, "user", "", "the `user` whose memory it is, required")
	flags.StringVar(&m.session, "session", "", "the conversation that it belongs to, a `session`")
	flags.StringVar(&m.role, "role", "", "who said it in a chat: user, assistant; without a `role` it is something known rather than said")
	flags.StringVar(&m.other, "context", "", "anything else about it, a `text` or a JSON object, in which speaker says who said it")
	flags.StringVar(&m.timestamp, "timestamp", "", "when it happened, RFC 3339, or 2006-01-02T15:04:05 in local time (default: now)")
	flags.StringVar(&m.id, "id", "", "the memory to replace, an `ID`; its old version is kept")
	flags.BoolVar(&m.json, "json", false, "print {\"id\", \"state\"}: created, updated, unchanged or merged")
	return cmd
}

func (m *memoryAdd) run(ctx context.Context, text string) error {
	if text == "-" {
		given, err := m.ReadText("-")
		var wrong *value.EncodingError
		if errors.As(err, &wrong) {
			return usageError(wording.Errorf("stdin: %w", wrong))
		}
		if err != nil {
			return exitError{exitFailed, wording.Errorf("reading stdin: %w", err)}
		}
		text = strings.TrimRight(given, "\r\n")
	}
	for name, given := range map[string]string{"--role": m.role, "--context": m.other} { // the store checks the rest
		if !utf8.ValidString(given) {
			return usageError(wording.Errorf("%s: %q is not UTF-8", name, given))
		}
	}
	at, err := parseTime(m.timestamp)
	if err != nil {
		return err
	}
	one := memory.BaseMemory{ID: m.id, Content: text, Timestamp: at, Context: memory.Context{UserID: m.user, SessionID: m.session}}
	if m.other != "" {
		one.Context.Other = value.OfString(m.other)
		if strings.HasPrefix(strings.TrimSpace(m.other), "{") {
			one.Context.Other, err = value.ParseStrictJSON([]byte(m.other))
			if err != nil {
				return usageError(wording.Errorf("--context: the JSON at %w", err))
			}
		}
	}
	if m.role != "" {
		one.SetRole(m.role)
	}
	return m.withMemory(ctx, func(p *memory.SnapshotProcessor) error {
		saved, err := p.Store.SaveMemories(ctx, []memory.BaseMemory{one})
		switch {
		case calls.KindOf(err) == calls.Invalid && err != nil:
			return usageError(err)
		case errors.Is(err, context.Canceled):
			return exitError{exitInterrupted, wording.Errorf("interrupted: nothing was stored")}
		case err != nil:
			return exitFor(ctx, err, false)
		case m.json:
			return m.PrintJSON(value.Must(saved[0]))
		}
		if saved[0].State == memory.Merged {
			m.Tellf("note: the same was known already, under this id")
		}
		_, err = fmt.Fprintln(m.Stdout, saved[0].ID)
		return err
	})
}

func newMemoryGet(a *app) *cobra.Command {
	var user string
	var history, asJSON bool
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a memory, a snapshot or a meta snapshot",
		Long: `Show a memory, a snapshot or a meta snapshot. Who has its id needs no user; with
--user it is shown only if it is that user's.`,
		Example: strings.Trim(`
  scheduler memory get memory_0199f0c2-6d2c-7a31-9c54-0d6f2c1e8a77
  scheduler memory get memory_0199f0c2-6d2c-7a31-9c54-0d6f2c1e8a77 --json | jq -r .content`, "\n"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if history && !strings.HasPrefix(args[0], string(memory.MemoryID)+"_") {
				return usageError(wording.Errorf("--history is for memories: of snapshots there are no old versions"))
			}
			users := memory.AllUsers()
			if cmd.Flags().Changed("user") {
				users = memory.User(user)
			}
			return a.readMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				found, err := a.findMemory(cmd.Context(), p.Store, args[0], users)
				if err != nil && calls.KindOf(err) == calls.Invalid {
					return usageError(err)
				}
				if err != nil {
					return exitFor(cmd.Context(), err, false)
				}
				list := []value.Value{found}
				if history {
					old, err := p.Store.History(cmd.Context(), args[0])
					if err != nil {
						return exitFor(cmd.Context(), err, false)
					}
					for i := len(old) - 1; i >= 0; i-- {
						list = append(list, value.Must(old[i]))
					}
				}
				if asJSON && history {
					return a.PrintJSON(value.OfList(list...))
				}
				for i, v := range list {
					if asJSON {
						return a.PrintJSON(v)
					}
					if i > 0 {
						fmt.Fprintf(a.Stdout, "\n%s\n", a.Language.Say("before that:"))
					}
					if err := a.printMembers(v); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "show it only if it belongs to that `user`")
	cmd.Flags().BoolVar(&history, "history", false, "also the old versions of a memory, the newest first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; with --history an array")
	return cmd
}

// findMemory reads the memory with an id, if it belongs to the users.
func (a *app) findMemory(ctx context.Context, store memory.Store, id string, users memory.Users) (found value.Value, err error) {
	var got any
	which := memory.Selection{Users: users, ID: id}
	switch kind, _, _ := strings.Cut(id, "_"); memory.Kind(kind) {
	case memory.SnapshotID:
		which.ID, err = memory.CheckID(memory.SnapshotID, id)
		if err == nil {
			got, err = firstSnapshot(store.Snapshots(ctx, which))
		}
	case memory.MetaID:
		which.ID, err = memory.CheckID(memory.MetaID, id)
		if err == nil {
			got, err = firstSnapshot(store.MetaSnapshots(ctx, which))
		}
	case memory.MemoryID:
		var m *memory.BaseMemory
		m, err = store.LoadMemory(ctx, id)
		if m != nil && users.Has(m.Context.UserID) {
			got = *m
		}
	default:
		_, err = memory.CheckID(memory.MemoryID, id)
	}
	if err != nil {
		return found, calls.Errorf(calls.KindOf(err), "%w", err).WithHint("scheduler memory search and scheduler memory snapshot list show ids")
	}
	if got == nil {
		missing := calls.Errorf(calls.NotFound, "there is no %s", id)
		if a.runtime.SharesStore() {
			return found, missing.WithHint("it may be another's, deleted, or in another store (the setting store, here %s)", a.runtime.StorePlace())
		}
		return found, missing.WithHint("it may be another's, deleted, or in another state directory (--state-dir, here %s)", a.settings.StateDir)
	}
	return value.Of(got)
}

// firstSnapshot returns the first snapshot of a list; nil: there is none.
func firstSnapshot[T any](list iter.Seq2[memory.Owned[T], error]) (any, error) {
	for x, err := range list {
		if err != nil {
			return nil, err
		}
		return x.Snapshot, nil
	}
	return nil, nil
}

// printMembers shows an object to a person, a line for each member.
func (a *app) printMembers(v value.Value) error {
	var b strings.Builder
	for key, member := range v.Map().All() {
		text := member.PlainText()
		if list := member.List(); len(list) > 0 {
			text = ""
			for _, item := range list {
				s, _ := item.Str()
				text += "\n  - " + s
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", key, text)
	}
	return a.PrintText(b.String())
}

func newMemoryDelete(a *app) *cobra.Command {
	var scope scopeFlags
	var dryRun, yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "delete ID | --user USER [--session SESSION]",
		Short: "Forget a memory, a session or all of a user, for good",
		Long: `Forget a memory, a session or all of a user, for good: with its old versions, and out
of the snapshots that were made of it. A snapshot that has other memories is made again
from those; one that has none is deleted.

Without an ID it says what would be deleted and asks; --yes answers that.

Of each user all that is meant goes or nothing. Of many users, some go at a time: when
it is interrupted, the same command goes on with the rest.`,
		Example: strings.Trim(`
  scheduler memory delete memory_0199f0c2-6d2c-7a31-9c54-0d6f2c1e8a77
  scheduler memory delete --user lin --session monday --dry-run
  scheduler memory delete --user lin --yes`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			which := memory.Selection{HasSession: scope.sessionSaid(), Session: scope.session, DryRun: dryRun}
			var err error
			if len(args) == 0 {
				which.Users, err = scope.namedUsers()
			} else {
				which.Users, err = scope.usersOrAll()
			}
			if err != nil {
				return err
			}
			if len(args) > 0 { // even if it is "", for example from an unset variable: that does not mean all of them
				which.ID, err = memory.CheckID(memory.MemoryID, args[0])
				if err != nil {
					return usageError(wording.Errorf("%q is not the id of a memory (scheduler memory search shows ids; snapshots go with their memories)", args[0]))
				}
			}
			return a.withMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				if which.ID == "" && !dryRun && !yes {
					if err := a.confirmDeletion(cmd.Context(), p.Store, which); err != nil {
						return err
					}
				}
				return a.deleteMemories(cmd.Context(), which, asJSON, func(which memory.Selection) (memory.Deleted, error) {
					deleted, err := p.Store.Delete(cmd.Context(), which)
					if err == nil && which.ID != "" && deleted.Memories == 0 {
						err = wording.Errorf("there is no %s: nothing was deleted", which.ID)
					}
					return deleted, err
				})
			})
		},
	}
	scope.addFlags(cmd, "only what belongs to this `session`")
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "delete nothing, only count")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the counts as JSON")
	return cmd
}

// confirmDeletion asks whether to delete the selected memories. The error says that the user declined, or that
// there is no terminal to ask at.
func (a *app) confirmDeletion(ctx context.Context, store memory.Deleter, which memory.Selection) error {
	which.DryRun = true
	d, err := store.Delete(ctx, which)
	if err != nil {
		return exitFor(ctx, err, false)
	}
	what := wording.Say("%s, %s and %s", wording.Count(d.Memories, "memory"), wording.Count(d.Snapshots, "snapshot"), wording.Count(d.MetaSnapshots, "meta snapshot"))
	if !a.CanAsk() {
		return usageError(wording.Errorf("this would delete %s for good, and there is no terminal to ask: give --yes", what))
	}
	fmt.Fprint(a.Stderr, a.Language.Say("Delete %s for good? [y/N] ", what))
	return a.awaitYes(ctx, wording.Errorf("nothing was deleted"))
}

// deleteMemories deletes and prints what was deleted, even if deleting stopped early.
func (a *app) deleteMemories(ctx context.Context, which memory.Selection, asJSON bool, remove func(memory.Selection) (memory.Deleted, error)) error {
	bar := terminal.NewBar(a.Terminal, a.Language.Say("deleting, by user"))
	which.Progress = bar
	deleted, err := remove(which)
	bar.Close()
	if err == nil {
		return a.tellDeleted(deleted, which.DryRun, asJSON)
	}
	if deleted != (memory.Deleted{}) && !which.DryRun {
		fmt.Fprint(a.Stderr, a.Language.Say("until then: "))
		if told := a.tellDeleted(deleted, false, asJSON); told != nil {
			return told
		}
		a.Tellf("the same command again goes on with the rest")
	}
	if calls.KindOf(err) == calls.Invalid {
		return usageError(err)
	}
	return exitFor(ctx, err, false)
}

// tellDeleted prints the memories that were deleted.
func (a *app) tellDeleted(d memory.Deleted, dryRun, asJSON bool) error {
	if asJSON {
		out := value.Must(d).Map().Clone()
		out.Set("dry_run", value.OfBool(dryRun))
		return a.PrintJSON(value.OfMap(out))
	}
	counts := []any{wording.Count(d.Memories, "memory"), wording.Count(d.Snapshots, "snapshot"), wording.Count(d.MetaSnapshots, "meta snapshot")}
	text := a.Language.Say("deleted %s, %s, %s", counts...)
	if dryRun {
		text = a.Language.Say("would delete %s, %s, %s", counts...)
	}
	if d.Rewritten > 0 {
		text += a.Language.Say("; %s made again without them", wording.Count(d.Rewritten, "snapshot"))
	}
	fmt.Fprintln(a.Stderr, text)
	return nil
}

func newMemoryCleanup(a *app) *cobra.Command {
	var scope scopeFlags
	var days int
	var keep, dryRun, asJSON bool
	var now string
	cmd := &cobra.Command{
		Use:   "cleanup --days N",
		Short: "Delete memories older than so many days",
		Long: `Delete memories that happened more than N days ago, for good. Snapshots of which a
memory is left are made again from those; those of which none is left go too, unless
--keep-snapshots says otherwise.`,
		Example: strings.Trim(`
  scheduler memory cleanup --days 365 --user lin --dry-run
  scheduler memory cleanup --days 365 --all-users --keep-snapshots`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := scope.namedUsers()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("days") {
				return usageError(wording.Errorf("how old? give --days N"))
			}
			at, err := parseTime(now)
			if err != nil {
				return err
			}
			if at.IsZero() {
				at = time.Now()
			}
			return a.withMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				which := memory.Selection{Users: users, KeepSnapshots: keep, DryRun: dryRun}
				return a.deleteMemories(cmd.Context(), which, asJSON, func(which memory.Selection) (memory.Deleted, error) {
					return memory.CleanupOldMemories(cmd.Context(), p.Store, which, days, at)
				})
			})
		},
	}
	scope.addFlags(cmd, "")
	cmd.Flags().IntVar(&days, "days", 0, "how old they are at least, in days of 24 hours, at least 1")
	cmd.Flags().BoolVar(&keep, "keep-snapshots", false, "keep what snapshots say, only their references go")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "delete nothing, only count")
	cmd.Flags().StringVar(&now, "now", "", "the present, RFC 3339 or 2006-01-02T15:04:05 (default: now)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the counts as JSON")
	return cmd
}
