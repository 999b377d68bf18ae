package main

import (
	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// completion is what the shell completes with.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completeWords offers words where a command has no arguments yet, and files after.
func completeWords(words func() []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeCalls offers the names of calls and functions.
func completeCalls(a *app) completion {
	return completeWords(func() []string {
		if a.open() != nil {
			return nil
		}
		registry, err := a.runtime.Registry("")
		if err != nil {
			return nil
		}
		names := registry.CallNames()
		functions, err := a.knownFunctions()
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

// completeResumable offers those that resume goes on with: runs that no process holds and
// that are not finished.
func completeResumable(a *app) completion {
	return completeSome(a, func(info *journal.RunInfo) bool {
		return info.State != journal.RunFinished && info.Holder == nil
	})
}

func completeSome(a *app, fits func(*journal.RunInfo) bool) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		const most = 50
		var ids []string
		newest := true
		for info, err := range a.service.Runs(cmd.Context(), service.Principal{}, journal.RunFilter{}) {
			if err != nil || len(ids) > most {
				break
			}
			if fits(info) {
				if newest {
					ids = append(ids, "last")
				}
				ids = append(ids, info.ID+"\t"+info.Flow+", "+stateWord(info, a.Language))
			}
			newest = false
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags registers the words of flags: providers, formats, the steps of the flow.
func completeFlags(a *app, cmd *cobra.Command) {
	offer := func(flag string, words completion) {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, words) // fails only for a flag that is not there
		}
	}
	offer("llm", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.settings.LLM.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	offer("format", cobra.FixedCompletions([]string{"mermaid", "dot"}, cobra.ShellCompDirectiveNoFileComp))
	offer("explain", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 || a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		flow, _, _, err := a.service.Load(args[0])
		if err != nil || flow == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return stepIDs(flow), cobra.ShellCompDirectiveNoFileComp
	})
}
