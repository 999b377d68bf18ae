package main

import (
	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/cmd/scheduler/starter"
	"github.com/callnode/scheduler/scheduler/flow"
)

// completion is the function with which the shell completes.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completeWords offers words for a command's first argument, and files after it.
func completeWords(words func() []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
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
	offer("template", cobra.FixedCompletions(starter.Names(), cobra.ShellCompDirectiveNoFileComp))
	offer("format", cobra.FixedCompletions([]string{"mermaid", "dot"}, cobra.ShellCompDirectiveNoFileComp))
	offer("explain", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 || a.open() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		flow, _, _, err := a.service.Load(cmd.Context(), args[0])
		if err != nil || flow == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return stepIDs(flow), cobra.ShellCompDirectiveNoFileComp
	})
}

func stepIDs(flow *flow.Flow) []string {
	ids := make([]string, len(flow.Steps))
	for i, s := range flow.Steps {
		ids[i] = s.ID
	}
	return ids
}
