package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// snapshotList is the output of snapshot list.
type snapshotList struct {
	Snapshots     []value.Value `json:"snapshots"`
	MetaSnapshots []value.Value `json:"meta_snapshots"`
	categories    []string
}

func newSnapshotList(a *app) *cobra.Command {
	var scope scopeFlags
	var category string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List snapshots and meta snapshots, by category",
		Example: strings.Trim(`
  scheduler memory snapshot list --user lin
  scheduler memory snapshot list --user lin --category food --json | jq -r '.snapshots[].key_points[]'`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := scope.namedUsers()
			if err != nil {
				return err
			}
			return a.readMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				list, err := listSnapshots(cmd.Context(), p.Store, memory.Selection{Users: users, Category: category})
				if err != nil {
					return exitFor(cmd.Context(), err, false)
				}
				if asJSON {
					return a.PrintJSON(value.Must(list))
				}
				return a.printSnapshots(list)
			})
		},
	}
	scope.addFlags(cmd, "")
	cmd.Flags().StringVar(&category, "category", "", "only those of this `category`; upper and lower case are one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {\"snapshots\", \"meta_snapshots\"}, each with its user_id")
	return cmd
}

func listSnapshots(ctx context.Context, store memory.Store, which memory.Selection) (*snapshotList, error) {
	list := &snapshotList{Snapshots: []value.Value{}, MetaSnapshots: []value.Value{}}
	note := func(category string) {
		same := func(other string) bool { return memory.CategoryKey(other) == memory.CategoryKey(category) }
		if !slices.ContainsFunc(list.categories, same) {
			list.categories = append(list.categories, category)
		}
	}
	for x, err := range store.Snapshots(ctx, which) {
		if err != nil {
			return nil, err
		}
		note(x.Snapshot.Category)
		list.Snapshots = append(list.Snapshots, withOwner(value.Must(x.Snapshot), x.User))
	}
	for x, err := range store.MetaSnapshots(ctx, which) {
		if err != nil {
			return nil, err
		}
		note(x.Snapshot.Category)
		list.MetaSnapshots = append(list.MetaSnapshots, withOwner(value.Must(x.Snapshot), x.User))
	}
	slices.SortFunc(list.categories, func(a, b string) int { return strings.Compare(memory.CategoryKey(a), memory.CategoryKey(b)) })
	return list, nil
}

// withOwner adds its user to a snapshot.
func withOwner(v value.Value, user string) value.Value {
	m := v.Map().Clone()
	m.Set("user_id", value.OfString(user))
	return value.OfMap(m)
}

func (a *app) printSnapshots(list *snapshotList) error {
	var b strings.Builder
	if len(list.categories) == 0 {
		a.Tellf("no snapshots (scheduler memory snapshot run --all makes some)")
	}
	text := func(v value.Value, key string) string {
		member, _ := v.Get(key)
		return member.PlainText()
	}
	items := func(v value.Value, key string) []string {
		member, _ := v.Get(key)
		var out []string
		for _, item := range member.List() {
			s, _ := item.Str()
			out = append(out, s)
		}
		return out
	}
	for i, category := range list.categories {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", category)
		mine := func(v value.Value) bool {
			return memory.CategoryKey(text(v, "category")) == memory.CategoryKey(category)
		}
		for _, v := range list.MetaSnapshots {
			if mine(v) {
				b.WriteString(a.Language.Say("  %s  user %q  of %s\n    %s\n    keywords: %s\n", text(v, "id"), text(v, "user_id"),
					wording.Count(len(items(v, "snapshot_refs")), "snapshot"), terminal.FirstLine(text(v, "description")), strings.Join(items(v, "keywords"), ", ")))
			}
		}
		for _, v := range list.Snapshots {
			if mine(v) {
				b.WriteString(a.Language.Say("  %s  user %q  of %s  importance %s\n", text(v, "id"), text(v, "user_id"),
					wording.Count(len(items(v, "memory_refs")), "memory"), text(v, "importance")))
				for _, point := range items(v, "key_points") {
					fmt.Fprintf(&b, "    - %s\n", terminal.FirstLine(point))
				}
			}
		}
	}
	return a.PrintText(b.String())
}

// snapshotAdd is the subcommand memory snapshot add.
type snapshotAdd struct {
	*app
	user, category, description         string
	points, memories, keywords, details []string
	importance                          float64
}

func newSnapshotAdd(a *app) *cobra.Command {
	s := &snapshotAdd{app: a}
	cmd := &cobra.Command{
		Use:   "add --user USER --category CATEGORY",
		Short: "Add a snapshot of memories, or a meta snapshot of snapshots, by hand",
		Long: `Add a snapshot of memories, or a meta snapshot of snapshots, by hand, and print its
id. A snapshot has --point and --memory, a meta snapshot --keyword, --snapshot and
--description. All that it refers to must be the user's.`,
		Example: strings.Trim(`
  scheduler memory snapshot add --user lin --category food --point "likes jasmine tea" --memory memory_0199f0c2-6d2c-7a31-9c54-0d6f2c1e8a77
  scheduler memory snapshot add --user lin --category food --keyword tea --snapshot snapshot_0199f0c2-6d2c-7a31-9c54-0d6f2c1e8a78 --description "What Lin drinks"`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(s.user) == "" {
				return usageError(wording.Errorf("no user is given: name the user with --user"))
			}
			return s.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.user, "user", "", "the `user` whose snapshot it is, required")
	flags.StringVar(&s.category, "category", "", "its `category`, required")
	flags.StringArrayVar(&s.points, "point", nil, "a key point of a snapshot, a `text`; may be repeated")
	flags.StringArrayVar(&s.memories, "memory", nil, "a memory that a snapshot is of, an `ID`; may be repeated")
	flags.Float64Var(&s.importance, "importance", 0.5, "the importance of a snapshot, `0..1`")
	flags.StringArrayVar(&s.keywords, "keyword", nil, "a keyword of a meta snapshot, a `text`; may be repeated")
	flags.StringArrayVar(&s.details, "snapshot", nil, "a snapshot that a meta snapshot is of, an `ID`; may be repeated")
	flags.StringVar(&s.description, "description", "", "the description of a meta snapshot, a `text`")
	return cmd
}

func (s *snapshotAdd) run(ctx context.Context) error {
	isSnapshot := len(s.points)+len(s.memories) > 0
	isMeta := len(s.keywords)+len(s.details) > 0 || s.description != ""
	switch {
	case strings.TrimSpace(s.category) == "":
		return usageError(wording.Errorf("no category is given: name it with --category"))
	case isSnapshot == isMeta:
		return usageError(wording.Errorf("give --point and --memory for a snapshot, or --keyword, --snapshot and --description for a meta snapshot"))
	case isSnapshot && len(s.points) == 0:
		return usageError(wording.Errorf("a snapshot needs at least one --point"))
	case !(s.importance >= 0 && s.importance <= 1): // NaN is neither
		return usageError(wording.Errorf("invalid --importance %g (use 0 to 1)", s.importance))
	}
	return s.withMemory(ctx, func(p *memory.SnapshotProcessor) error {
		manager := &memory.SnapshotManager{Store: p.Store, Clock: p.Clock}
		id := ""
		if isSnapshot {
			snapshot, err := manager.CreateSnapshot(ctx, s.user, s.points, s.memories, s.category, s.importance)
			if err != nil {
				return s.exitErrorOf(ctx, err)
			}
			id = snapshot.ID
		} else {
			meta, err := manager.CreateMetaSnapshot(ctx, s.user, s.category, s.keywords, s.details, s.description)
			if err != nil {
				return s.exitErrorOf(ctx, err)
			}
			id = meta.ID
		}
		_, err := fmt.Fprintln(s.Stdout, id)
		return err
	})
}

// exitErrorOf returns the exit error for a snapshot that could not be added.
func (s *snapshotAdd) exitErrorOf(ctx context.Context, err error) error {
	if kind := calls.KindOf(err); kind == calls.Invalid || kind == calls.NotFound {
		return usageError(err)
	}
	return exitFor(ctx, err, false)
}

func newSnapshotRun(a *app) *cobra.Command {
	var scope scopeFlags
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Make the snapshots that are due",
		Long: `Make the snapshots that are due: of sessions with enough new memories (the setting
memory.snapshot.memories) or without a new one for a while (memory.snapshot.idle).
Ctrl-C stops; what is left is made by a later one. A snapshot that the model fails to make
is tried again later, which is not an error. With the setting memory.embeddings,
the vectors that are missing are made, too.`,
		Example: strings.Trim(`
  scheduler memory snapshot run
  scheduler memory snapshot run --all --user lin --json`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := scope.usersOrAll()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return a.withMemory(ctx, func(p *memory.SnapshotProcessor) error {
				report, err := a.service.MakeSnapshots(ctx, p, users, all)
				stats, statsErr := p.Store.Stats(ctx, users)
				hasJobs := statsErr == nil && stats.Jobs > 0
				switch isIncomplete := report.Postponed > 0 || err != nil; {
				case !report.IsEmpty():
					a.Tellf("made %s", report.Text())
				case isIncomplete:
					a.Tellf("made nothing")
				case !all:
					a.Tellf("made no snapshot: none is due (--all takes every session with anything new)")
				case hasJobs:
					a.Tellf("made no snapshot: none is due (%s: they are tried again some time after the model failed, or another process makes them)", wording.Count(stats.Jobs, "snapshot"))
				default:
					a.Tellf("made no snapshot: none is due")
				}
				for _, warning := range report.Warnings {
					a.Tellf("warning: %s", warning)
				}
				if report.Postponed > 0 {
					a.Tellf("%s at which the model failed: tried again later", wording.Count(report.Postponed, "snapshot"))
				}
				if ctx.Err() != nil {
					return exitError{exitInterrupted, wording.Errorf("interrupted: what is left is made by a later run")}
				}
				if err != nil {
					return exitFor(ctx, err, false)
				}
				if asJSON {
					return a.PrintJSON(value.Must(report.Report))
				}
				return nil
			})
		},
	}
	scope.addFlags(cmd, "")
	cmd.Flags().BoolVar(&all, "all", false, "of every session and category with anything new")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {\"snapshots\": [ids], \"meta_snapshots\": [ids], \"postponed\", \"embedded\"}")
	return cmd
}
