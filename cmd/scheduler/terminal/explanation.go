package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/callnode/scheduler/scheduler/explain"
)

// style colours text on a terminal.
type style bool

// paint colours what was not written by this program, so it quotes it too.
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

// PrintExplanation prints a prompt with the source of every piece.
func (t *Terminal) PrintExplanation(e *explain.Explanation) error {
	colours := style(IsTerminal(t.Stdout))
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", colours.paint("1", fmt.Sprintf(
		"Prompt of step %s (%s): %s, %s", e.Step, e.Call, Count(len(e.Messages), "message"), totalTokens(e))))
	if e.Shared > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("36", fmt.Sprintf("[0] to [%d] are the messages above", e.Shared-1)))
	}
	for i, m := range e.Messages {
		if i < e.Shared {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1;36", fmt.Sprintf("[%d] %s, %s", i, m.Role, Count(m.Tokens, "token"))))
		for _, p := range sameWay(m.Pieces) {
			if strings.Trim(p.Text, "- \n") == "" {
				continue // separators are part of the text, but nobody asks where they come from
			}
			fmt.Fprintf(&b, "  %s\n", colours.paint("33", fmt.Sprintf("from %s (%s)", p.Way(), Count(p.Tokens, "token"))))
			for line := range strings.SplitSeq(strings.Trim(colours.quote(p.Text), "\n"), "\n") {
				fmt.Fprintf(&b, "  | %s\n", line)
			}
		}
	}
	if len(e.LeftOut) > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1", "Left out"))
		for _, l := range e.LeftOut {
			b.WriteString(colours.quote(fmt.Sprintf("  - %s of step %s: %s\n", strings.TrimSpace(l.Kind+" "+l.Name), l.Step, l.Reason)))
		}
	}
	if e.Cache != nil {
		b.WriteString(colours.quote(cacheReport(e.Cache)))
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

// totalTokens writes what a prompt cost as a whole, as the lines of steps do.
func totalTokens(e *explain.Explanation) string {
	if e.CountedBy == explain.ByProvider {
		return Count(e.Total, "token")
	}
	return "about " + Count(e.Total, "token")
}

// cacheReport tells what of a prompt its provider has seen before. Its counts are estimates,
// also where the provider has counted the prompt as a whole.
func cacheReport(c *explain.Cache) string {
	before := "step " + c.Step
	if c.Run != "" {
		before += " of run " + c.Run
	}
	text := fmt.Sprintf("\nCache: about the first %s are as in the previous prompt (%s)\n", Count(c.Tokens, "token"), before)
	if c.Broken == nil {
		return text + "  the previous prompt is unchanged\n"
	}
	return text + fmt.Sprintf("  first difference in message [%d], from %s; to be read again: about %s\n",
		c.Broken.Message, c.Broken.Piece.Way(), Count(c.Broken.Tokens, "token"))
}
