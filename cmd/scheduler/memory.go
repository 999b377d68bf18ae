package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/service"
)

func newMemory(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Add, search, move and tidy up what is remembered",
		Long: `Add, search, move and tidy up what is remembered. Memories live in the state
directory; flows that name a user and a session under memory: use the same ones.

Whose memory it is, is a wall: what reads or deletes more than one by its id names a
user with --user, or says --all-users. --user "" is the user without a name.`,
		Example: strings.Trim(`
  scheduler memory add --user lin "I like jasmine tea best."
  scheduler memory search --user lin "which tea?"
  scheduler memory list --user lin --limit 20
  scheduler memory import --jsonl talks.jsonl
  scheduler memory export backup/
  scheduler memory cleanup --user lin --days 365 --dry-run
  scheduler memory snapshot list --user lin`, "\n"),
	}
	addSubcommands(cmd, newMemoryAdd(a), newMemorySearch(a), newMemoryList(a), newMemoryGet(a), newMemoryDelete(a), newMemoryImport(a), newMemoryExport(a),
		newMemoryCleanup(a), newMemorySnapshot(a), newMemoryStats(a))
	return cmd
}

// addSubcommands gives a command its subcommands; without one it shows its help.
func addSubcommands(cmd *cobra.Command, subcommands ...*cobra.Command) {
	cmd.AddCommand(subcommands...)
	cmd.Args = onlySubcommands
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// onlySubcommands refuses a word that is no subcommand.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return usageError(fmt.Errorf("%s has no %q%s: want one of %s", cmd.CommandPath(), args[0], value.DidYouMeanSuffix(args[0], names), strings.Join(names, ", ")))
}

// scopeFlags say whose memories a command is about.
type scopeFlags struct {
	user, session string
	allUsers      bool
	cmd           *cobra.Command
}

// addFlags adds --user and --all-users; session says what --session does, "" leaves
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

// namedUsers returns those that the flags name; nobody is an error.
func (f *scopeFlags) namedUsers() (memory.Users, error) {
	switch {
	case f.userSaid() && f.allUsers:
		return memory.Users{}, usageError(errors.New("--user and --all-users exclude each other"))
	case f.allUsers:
		return memory.AllUsers(), nil
	case f.userSaid():
		return memory.User(f.user), nil
	}
	return memory.Users{}, usageError(errors.New("whose memories? name a user with --user, or say --all-users"))
}

// usersOrAll returns those that the flags name, or all.
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
	if a.runtime.hasMemory() {
		return a.withMemory(ctx, do)
	}
	fmt.Fprintf(a.Stderr, "note: there are no memories in %s yet\n", a.settings.StateDir)
	p, err := a.runtime.openMemory(ctx, service.MemoryOptions{Temporary: true})
	if err != nil {
		return exitError{exitFailed, err}
	}
	return errors.Join(do(p), p.Store.Close())
}
