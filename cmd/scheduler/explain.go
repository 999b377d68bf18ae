package main

import (
	"io"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// promptsError turns the error of a step's prompts into an exit code.
func promptsError(err error) error {
	if calls.KindOf(err) == calls.NotFound {
		return usageError(err)
	}
	return exitError{exitFailed, err}
}

// withShortPaths names the files of the flow from the working directory: a run names them as they
// were given, and the journal has them from the root.
func withShortPaths(prompts *service.Prompts) *service.Prompts {
	short := *prompts
	short.Explanations = slices.Clone(prompts.Explanations)
	for i, e := range short.Explanations {
		short.Explanations[i] = e.WithFileNames(shortPath)
	}
	return &short
}

// printPrompts prints the prompts of a step, every piece with its source.
func (a *app) printPrompts(prompts *service.Prompts) error {
	for _, e := range prompts.Explanations {
		if err := a.PrintExplanation(e); err != nil {
			return err
		}
	}
	_, err := io.WriteString(a.Stdout, a.tokensNote(prompts.Step, prompts.Explanations))
	return err
}

// tokensNote returns what the tokens are that stand with a prompt.
func (a *app) tokensNote(st *journal.StepState, prompts []*explain.Explanation) string {
	note := a.Language.Say("Tokens of messages and pieces are estimates, of texts and images alone; the whole prompt has about %d more for each message.", llm.MessageOverhead)
	if prompts[len(prompts)-1].CountedBy == explain.ByProvider {
		note = a.Language.Say("Tokens of messages and pieces are estimates, of texts and images alone; those of the whole prompt are by the count of the provider.")
	}
	if len(prompts) > 1 && st.Usage.Total() > 0 {
		note += "\n" + a.Language.Say("All that step %s asked cost %d tokens in, %d out.", st.ID, st.Usage.InputTokens, st.Usage.OutputTokens)
	}
	return "\n" + note + "\n"
}
