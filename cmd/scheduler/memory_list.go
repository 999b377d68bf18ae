package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

func newMemoryList(a *app) *cobra.Command {
	var scope scopeFlags
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, the newest last",
		Long: `List memories by user, in the order of their time. Each line has the id, the time,
the user, the session and the beginning of the text; --json has everything.`,
		Example: strings.Trim(`
  scheduler memory list --user lin
  scheduler memory list --user lin --session monday --limit 0 --json | jq -r '.[].content'`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := scope.namedUsers()
			if err != nil {
				return err
			}
			if limit < 0 {
				return usageError(wording.Errorf("invalid --limit %d (use a number from 0, which lists all)", limit))
			}
			which := memory.Selection{Users: users, HasSession: scope.sessionSaid(), Session: scope.session, Newest: limit}
			return a.readMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				list := []value.Value{}
				var b strings.Builder
				for m, err := range p.Store.Memories(cmd.Context(), which) {
					if err != nil {
						return exitFor(cmd.Context(), err, false)
					}
					if asJSON {
						list = append(list, value.Must(m))
						continue
					}
					b.WriteString(a.Language.Say("%s  %s  user %q  session %q%s  %s", m.ID, memory.FormatTime(m.Timestamp), m.Context.UserID, m.Context.SessionID, a.runOfMemory(&m), terminal.FirstLine(m.Content)) + "\n")
				}
				if asJSON {
					return a.PrintJSON(value.OfList(list...))
				}
				if b.Len() == 0 {
					a.Tellf("no memories")
				}
				return a.PrintText(b.String())
			})
		},
	}
	scope.addFlags(cmd, "only the memories of this `session`")
	cmd.Flags().IntVar(&limit, "limit", 50, "the newest `N` memories of each user; 0 lists all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of memories")
	return cmd
}

// runOfMemory names the run that saved a memory; "" if that is not known, or the run is the session.
func (a *app) runOfMemory(m *memory.BaseMemory) string {
	run := m.Context.RunID()
	if run == "" || run == m.Context.SessionID {
		return ""
	}
	return "  " + a.Language.Say("run %s", run)
}

func newMemoryStats(a *app) *cobra.Command {
	var scope scopeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count what is stored",
		Example: "  scheduler memory stats\n  scheduler memory stats --user lin --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := scope.usersOrAll()
			if err != nil {
				return err
			}
			return a.readMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				stats, err := p.Store.Stats(cmd.Context(), users)
				if err != nil {
					return exitFor(cmd.Context(), err, false)
				}
				counts := value.Must(stats).Map().Clone()
				for key, t := range map[string]time.Time{"oldest": stats.Oldest, "newest": stats.Newest} {
					if !t.IsZero() {
						counts.Set(key, value.OfString(memory.FormatTime(t)))
					}
				}
				if asJSON {
					return a.PrintJSON(value.OfMap(counts))
				}
				w := terminal.NewTable(a.Stdout)
				for key, v := range counts.All() {
					fmt.Fprintf(w, "%s\t%s\n", a.Language.Say(strings.ReplaceAll(key, "_", " ")), v.PlainText())
				}
				return w.Flush()
			})
		},
	}
	scope.addFlags(cmd, "")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
