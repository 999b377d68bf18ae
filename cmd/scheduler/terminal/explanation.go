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
		"Prompt of step %s (%s): %s, %s", e.Step, e.Call, Count(len(e.Messages), "message"), Count(e.Tokens, "token"))))
	if e.Shared > 0 {
		fmt.Fprintf(&b, "\n%s\n", colours.paint("36", fmt.Sprintf("[0] to [%d] are the messages above", e.Shared-1)))
	}
	for i, m := range e.Messages {
		if i < e.Shared {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", colours.paint("1;36", fmt.Sprintf("[%d] %s, %s", i, m.Role, Count(m.Tokens, "token"))))
		for _, p := range m.Pieces {
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
	_, err := io.WriteString(rawWriter(t.Stdout), b.String())
	return err
}
