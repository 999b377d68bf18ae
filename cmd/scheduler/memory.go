package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/service"
)

// scopeFlags say whose memories a command is about.
type scopeFlags struct {
	user, session string
	allUsers      bool
	cmd           *cobra.Command
}

// addFlags adds --user and --all-users; session is the help of --session, "" leaves
// it out.
func (f *scopeFlags) addFlags(cmd *cobra.Command, session string) {
	f.cmd = cmd
	cmd.Flags().StringVar(&f.user, "user", "", "whose memories; \"\" is the `user` without a name")
	cmd.Flags().BoolVar(&f.allUsers, "all-users", false, "everybody's memories")
	if session != "" {
		cmd.Flags().StringVar(&f.session, "session", "", session)
	}
}

func (f *scopeFlags) userSaid() bool    { return f.cmd.Flags().Changed("user") }
func (f *scopeFlags) sessionSaid() bool { return f.cmd.Flags().Changed("session") }

// namedUsers returns the users that the flags name; no user at all is an error.
func (f *scopeFlags) namedUsers() (memory.Users, error) {
	if err := errors.Join(memory.CheckUser(f.user), memory.CheckSession(f.session)); err != nil {
		return memory.Users{}, usageError(err)
	}
	for flag, name := range map[string]string{"--user": f.user, "--session": f.session} {
		if err := memory.CheckLine(flag, name); err != nil {
			return memory.Users{}, usageError(err)
		}
	}
	switch {
	case f.userSaid() && f.allUsers:
		return memory.Users{}, usageError(wording.Errorf("--user and --all-users exclude each other"))
	case f.allUsers:
		return memory.AllUsers(), nil
	case f.userSaid():
		return memory.User(f.user), nil
	}
	return memory.Users{}, usageError(wording.Errorf("whose memories? name a user with --user, or say --all-users"))
}

// usersOrAll returns the users that the flags name, or all.
func (f *scopeFlags) usersOrAll() (memory.Users, error) {
	if !f.userSaid() && !f.allUsers {
		return memory.AllUsers(), nil
	}
	return f.namedUsers()
}

// withMemory opens the memory of the state directory and hands it to do.
func (a *app) withMemory(ctx context.Context, do func(*memory.SnapshotProcessor) error) error {
	p, err := a.service.Memory(ctx)
	if err != nil {
		return a.beforeRun(err)
	}
	return do(p)
}

// readMemory is withMemory for commands that change nothing: a state directory
// without a store has no memories, and gets none.
func (a *app) readMemory(ctx context.Context, do func(*memory.SnapshotProcessor) error) error {
	if a.runtime.HasMemory() {
		return a.withMemory(ctx, do)
	}
	a.Tellf("note: there are no memories in %s yet", a.settings.StateDir)
	p, err := a.runtime.OpenMemory(ctx, service.MemoryOptions{Temporary: true})
	if err != nil {
		return exitError{exitFailed, err}
	}
	return errors.Join(do(p), p.Store.Close())
}

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
