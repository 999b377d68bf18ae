package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// style colours text on a terminal.
type style bool

// paint also colours text from outside this program, so it quotes it too.
func (on style) paint(code, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + code + "m" + Visible(text) + "\x1b[0m"
}

// quote is text as a terminal may have it.
func (on style) quote(text string) string {
	if !on {
		return text
	}
	return Visible(text)
}

// PrintPrompts prints the prompts of a step, every piece with its source.
func (t *Terminal) PrintPrompts(prompts *service.Prompts) error {
	for _, e := range prompts.Explanations {
		if err := t.printExplanation(e); err != nil {
			return err
		}
	}
	return t.PrintText(t.tokensNote(prompts.Step, prompts.Explanations))
}

// tokensNote returns the explanation of the counts of tokens printed with a prompt.
func (t *Terminal) tokensNote(st *journal.StepState, prompts []*explain.Explanation) string {
	note := t.Language.Say("Tokens of messages and pieces are estimates, of texts and images alone; the whole prompt has about %d more for each message.", llm.MessageOverhead)
	if prompts[len(prompts)-1].CountedBy == explain.ByProvider {
		note = t.Language.Say("Tokens of messages and pieces are estimates, of texts and images alone; those of the whole prompt are by the count of the provider.")
	}
	if len(prompts) > 1 && st.Usage.Total() > 0 {
		note += "\n" + t.Language.Say("All that step %s asked cost %d tokens in, %d out.", st.ID, st.Usage.InputTokens, st.Usage.OutputTokens)
	}
	return "\n" + note + "\n"
}

// printExplanation prints a prompt with the source of every piece.
func (t *Terminal) printExplanation(e *explain.Explanation) error {
	colours := style(IsTerminal(t.Stdout))
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", colours.paint("1", t.Language.Say(
		"Prompt of step %s (%s): %s, %s", e.Step, e.Call, t.Language.Count(len(e.Messages), "message"), t.totalTokens(e))))
	for _, p := range e.Providers {
		asked := t.Language.Say("requests to %s: %d, tokens in: %d, out: %d", p.Provider, p.Requests, p.Usage.InputTokens, p.Usage.OutputTokens)
		if p.Failed > 0 {
			asked += t.Language.Say("; %d failed: %s", p.Failed, p.Error)
		}
		fmt.Fprintf(&b, "%s\n", colours.paint("36", colours.quote(asked)))
	}
	if e.Shared > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("36", t.Language.Say("[0] to [%d] are the messages above", e.Shared-1)))
	}
	for i, m := range e.Messages {
		if i < e.Shared {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1;36", fmt.Sprintf("[%d] %s, %s", i, m.Role, t.Language.Count(m.Tokens, "token"))))
		for _, p := range sameWay(m.Pieces) {
			if strings.TrimSpace(p.Text) == "" {
				continue // there is nothing to see of it
			}
			fmt.Fprintf(&b, "  %s\n", colours.paint("33", t.Language.Say("from %s (%s)", p.Way(), t.Language.Count(p.Tokens, "token"))))
			for line := range strings.SplitSeq(strings.Trim(colours.quote(p.Text), "\n"), "\n") {
				fmt.Fprintf(&b, "  | %s\n", line)
			}
		}
	}
	if len(e.LeftOut) > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1", t.Language.Say("Left out")))
		for _, l := range e.LeftOut {
			b.WriteString(colours.quote("  - " + t.Language.Say("%s of step %s: %s", strings.TrimSpace(explain.PartName(l.Kind).In(string(t.Language))+" "+l.Name), l.Step, wording.Restate(l.Reason)) + "\n"))
		}
	}
	for _, file := range e.Edited {
		fmt.Fprintf(&b, "\n%s\n", colours.quote(t.Language.Say("%s was edited during the run: for what ran before, its lines are those of the file as it was.", file)))
	}
	if e.Unrecorded {
		fmt.Fprintf(&b, "\n%s\n", t.Language.Say("The run has not recorded where some of these texts come from: they are given with all that their templates name."))
	}
	if e.Cache != nil {
		b.WriteString(colours.quote(t.cacheReport(e.Cache)))
	}
	_, err := io.WriteString(rawWriter(t.Stdout), b.String())
	return err
}

// sameWay joins neighbouring pieces that came the same way, as people read it: lines of a
// file and the heading above them.
func sameWay(pieces []explain.Piece) (joined []explain.Piece) {
	for _, p := range pieces {
		if last := len(joined) - 1; last >= 0 && joined[last].Way() == p.Way() {
			joined[last].Text += p.Text
			joined[last].Tokens += p.Tokens
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// totalTokens writes the cost of a whole prompt, in the form of the lines of steps.
func (t *Terminal) totalTokens(e *explain.Explanation) string {
	if e.CountedBy == explain.ByProvider {
		return t.Language.Count(e.Total, "token")
	}
	return t.Language.Say("about %s", t.Language.Count(e.Total, "token"))
}

// cacheReport describes the part of a prompt that its provider has seen before. Its counts are estimates, even if
// the provider has counted the whole prompt.
func (t *Terminal) cacheReport(c *explain.Cache) string {
	say := t.Language.Say
	before := say("step %s", c.Step)
	if c.Run != "" {
		before = say("step %s of run %s", c.Step, c.Run)
	}
	text := "\n" + say("Cache: about the first %s are as in the previous prompt (%s)", t.Language.Count(c.Tokens, "token"), before) + "\n  "
	if c.Broken == nil {
		return text + say("the previous prompt is unchanged") + "\n"
	}
	return text + say("first difference in message [%d], from %s; to be read again: about %s",
		c.Broken.Message, c.Broken.Piece.Way(), t.Language.Count(c.Broken.Tokens, "token")) + "\n"
}
