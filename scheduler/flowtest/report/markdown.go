package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// writeMarkdown writes a summary for a pull request: a table of the files, the failures, and the comparison.
func writeMarkdown(w io.Writer, run *result.Run, c *compare.Comparison, o *Options) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# scheduler test: %s\n\n", o.countsLine(run.Counts()))
	fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n|---|--:|--:|--:|--:|\n", o.say("file"), o.say("passed"), o.say("failed"), o.say("not decided"), o.say("skipped"))
	for _, s := range run.Suites {
		n := s.Counts()
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d |\n", markdownText(o.path(s.File)), n.Passed, n.Failed, n.Errors, n.Skipped)
	}
	if len(run.Wrong) > 0 {
		fmt.Fprintf(&out, "\n## %s\n\n", o.say("test files that are wrong, and did not run"))
	}
	for i := range run.Wrong {
		fmt.Fprintf(&out, "- %s: %s\n", markdownText(o.place(run.Wrong[i].Position)), markdownText(run.Wrong[i].Message))
	}
	for _, s := range run.Suites {
		for _, cs := range s.Cases {
			if cs.Outcome == result.Fail || cs.Outcome == result.Error {
				o.markdownCase(&out, cs)
			}
		}
	}
	if c != nil {
		fmt.Fprintf(&out, "\n## %s\n\n", markdownText(o.say("against %s", c.Against)))
		writeFenced(&out, o.comparisonLines(c))
	}
	if line := o.usageLine(run); line != "" {
		fmt.Fprintf(&out, "\n%s\n", markdownText(line))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// markdownCase writes the failures of a case.
func (o *Options) markdownCase(out *bytes.Buffer, c *result.Case) {
	fmt.Fprintf(out, "\n## %s\n\n", markdownText(c.ID()))
	if line := o.rateLine(c); line != "" {
		fmt.Fprintf(out, "%s\n\n", markdownText(line))
	}
	for _, f := range findings(c) {
		fmt.Fprintf(out, "%s: %s\n\n", markdownText(o.place(f.at)), markdownText(f.title()))
		if lines := o.details(c, f); len(lines) > 0 {
			writeFenced(out, lines)
		}
	}
}

// writeFenced writes lines as they are, in a fence that is longer than any in them.
func writeFenced(out *bytes.Buffer, lines []string) {
	text := strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(out, "%s\n%s\n%s\n", fence, text, fence)
}

// markdownText returns a text that Markdown shows as it is, in one line.
func markdownText(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r':
			out.WriteByte(' ')
		case strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
