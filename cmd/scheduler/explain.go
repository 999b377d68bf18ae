package main

import (
	"context"
	"fmt"
	"io"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// explain prints the prompts of a step, every piece with its source.
func (a *app) explain(flow *flow.Flow, record *journal.RunState, step string, counter llm.Counter) error {
	if step == lastPrompt {
		if step = explain.LastPrompt(flow, record); step == "" {
			return exitError{exitFailed, fmt.Errorf("--explain: no step of the run built a prompt")}
		}
	}
	all, err := explain.Explain(context.Background(), flow, record, step, counter)
	switch {
	case calls.KindOf(err) == calls.NotFound:
		return usageError(err)
	case err != nil:
		return exitError{exitFailed, err}
	}
	for _, e := range all {
		if err := a.PrintExplanation(e); err != nil {
			return err
		}
	}
	_, err = io.WriteString(a.Stdout, tokensNote(record.Step(step)))
	return err
}

// tokensNote says what the tokens are that stand with a prompt, and beside them in the
// lines of steps.
func tokensNote(st *journal.StepState) string {
	note := fmt.Sprintf("\nTokens are estimates, of texts and images alone: each message costs about %d more.\n", llm.MessageOverhead)
	if st.Usage.Total() > 0 {
		note += fmt.Sprintf("All that step %s asked cost %d tokens in, %d out, by the count of the provider (where it gives none, an estimate).\n",
			st.ID, st.Usage.InputTokens, st.Usage.OutputTokens)
	}
	return note
}
