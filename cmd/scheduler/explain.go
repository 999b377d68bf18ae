package main

import (
	"context"
	"fmt"
	"io"
	"strings"

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
		if err := printExplanation(a.stdout, e); err != nil {
			return err
		}
	}
	_, err = io.WriteString(a.stdout, tokensNote(record.Step(step)))
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

// style colours text on a terminal.
type style bool

func (on style) paint(code, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func printExplanation(w io.Writer, e *explain.Explanation) error {
	colours := style(isTerminal(w))
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", colours.paint("1", fmt.Sprintf(
		"Prompt of step %s (%s): %s, %s", e.Step, e.Call, count(len(e.Messages), "message"), count(e.Tokens, "token"))))
	if e.Shared > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("36", fmt.Sprintf("[0] to [%d] are the messages above", e.Shared-1)))
	}
	for i, m := range e.Messages {
		if i < e.Shared {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1;36", fmt.Sprintf("[%d] %s, %s", i, m.Role, count(m.Tokens, "token"))))
		for _, p := range m.Pieces {
			if strings.Trim(p.Text, "- \n") == "" {
				continue // separators are part of the text, but nobody asks where they come from
			}
			fmt.Fprintf(&b, "  %s\n", colours.paint("33", fmt.Sprintf("from %s (%s)", strings.Join(p.Source, " > "), count(p.Tokens, "token"))))
			if colours { // which means: on a terminal
				p.Text = visible(p.Text)
			}
			for line := range strings.SplitSeq(strings.Trim(p.Text, "\n"), "\n") {
				fmt.Fprintf(&b, "  | %s\n", line)
			}
		}
	}
	if len(e.LeftOut) > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1", "Left out"))
		for _, l := range e.LeftOut {
			fmt.Fprintf(&b, "  - %s of step %s: %s\n", strings.TrimSpace(l.Part.Kind+" "+l.Part.Name), l.Step, l.Part.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
