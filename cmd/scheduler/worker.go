package main

import (
	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/worker"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/remote"
)

// newWorker returns the subcommand worker, which hands over to the second program.
func newWorker(a *app) *cobra.Command {
	return worker.NewCommand(func(_ *cobra.Command, f *worker.Flags) error {
		if err := a.setOn(f.On); err != nil {
			return err
		}
		if a.remoteName() == "" {
			return usageError(wording.Errorf("the worker needs a server (name one with --on temporal://HOST:PORT, or the setting on)"))
		}
		program, err := remote.Find(a.settings.Temporal.Program)
		if err != nil {
			return usageError(err)
		}
		code, err := remote.HandOver(program, append([]string{remote.VersionFlag, buildVersion()}, a.args...))
		if err != nil {
			return usageError(err)
		}
		return exitError{code: code}
	})
}
