package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls/memory"
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
