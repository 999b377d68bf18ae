package main

import (
	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/scheduler/journal"
)

// completion is what the shell completes with.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// complete offers words where a command has no arguments yet, and files after.
func complete(words func() []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeCalls offers the names of calls and functions.
func completeCalls(a *app) completion {
	return complete(func() []string {
		if !a.settle() {
			return nil
		}
		registry, err := a.registry()
		if err != nil {
			return nil
		}
		names := registry.CallNames()
		functions, err := a.functions()
		if err != nil {
			return names
		}
		for i := range functions {
			names = append(names, functions[i].name)
		}
		return names
	})
}

// completeRuns offers the ids of runs, the newest first.
func completeRuns(a *app) completion {
	return completeSome(a, func(*journal.RunInfo) bool { return true })
}

// completeResumable offers those that resume goes on with: runs that nobody is at and
// that are not finished.
func completeResumable(a *app) completion {
	return completeSome(a, func(info *journal.RunInfo) bool {
		return info.State != journal.RunFinished && info.Holder == nil
	})
}

func completeSome(a *app, fits func(*journal.RunInfo) bool) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || !a.settle() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		const most = 50
		var ids []string
		_ = a.withJournal(cmd.Context(), func(j journal.Journal) error {
			newest := true
			for info, err := range j.Runs(cmd.Context(), journal.RunFilter{}) {
				if err != nil || len(ids) > most {
					return err
				}
				if fits(info) {
					if newest {
						ids = append(ids, "last")
					}
					ids = append(ids, info.ID+"\t"+info.Flow+", "+standing(info))
				}
				newest = false
			}
			return nil
		})
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags gives flags their words: providers, formats, the steps of the flow.
func completeFlags(a *app, cmd *cobra.Command) {
	offer := func(flag string, words completion) {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, words) // fails only for a flag that is not there
		}
	}
	offer("llm", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if !a.settle() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.config.LLM.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	offer("format", cobra.FixedCompletions([]string{"mermaid", "dot"}, cobra.ShellCompDirectiveNoFileComp))
	offer("explain", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 || !a.settle() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		loader, err := a.loader()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		flow, _ := loader.Load(args[0])
		if flow == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return stepIDs(flow), cobra.ShellCompDirectiveNoFileComp
	})
}

// settle reads the settings for a completion: the command itself does not run.
func (a *app) settle() bool {
	if a.config == nil {
		config, err := a.readConfig()
		if err != nil {
			return false
		}
		a.config = config
	}
	return true
}
