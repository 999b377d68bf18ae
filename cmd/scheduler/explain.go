package main

import (
	"fmt"
	"io"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
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

// printPrompts prints the prompts of a step, every piece with its source.
func (a *app) printPrompts(prompts *service.Prompts) error {
	for _, e := range prompts.Explanations {
		if err := a.PrintExplanation(e); err != nil {
			return err
		}
	}
	_, err := io.WriteString(a.Stdout, tokensNote(prompts.Step))
	return err
}

// tokensNote returns what the tokens are that stand with a prompt, and beside them in the
// lines of steps.
func tokensNote(st *journal.StepState) string {
	note := fmt.Sprintf("\nTokens are estimates, of texts and images alone: each message costs about %d more.\n", llm.MessageOverhead)
	if st.Usage.Total() > 0 {
		note += fmt.Sprintf("All that step %s asked cost %d tokens in, %d out, by the count of the provider (where it gives none, an estimate).\n",
			st.ID, st.Usage.InputTokens, st.Usage.OutputTokens)
	}
	return note
}
