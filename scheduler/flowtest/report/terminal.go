package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// Printer prints a run for people while it goes on: a line for each file, and what failed in it. It
// is not safe for concurrent use.
type Printer struct {
	out io.Writer
	o   Options
	// Verbose prints a line for every case.
	Verbose bool
}

// NewPrinter returns a printer for a terminal or a log. What it writes has no colours and ends every
// line.
func NewPrinter(out io.Writer, o Options) *Printer { return &Printer{out: out, o: o} }

// PrintSuite prints what a test file gave.
func (p *Printer) PrintSuite(s *result.Suite) {
	if p.o.Mask != nil {
		s = masked(s, p.o.Mask)
	}
	counts := s.Counts()
	word := "ok   "
	if counts.Errors > 0 {
		word = "ERROR"
	}
	if counts.Failed > 0 {
		word = "FAIL "
	}
	fmt.Fprintf(p.out, "%s %s  %s%s\n", word, p.o.path(s.File), p.o.countsLine(counts), elapsed(s.Elapsed))
	for _, c := range s.Cases {
		p.printCase(c)
	}
}

// printCase prints what a person must know of a case.
func (p *Printer) printCase(c *result.Case) {
	if p.Verbose {
		fmt.Fprintf(p.out, "  %-5s %s\n", c.Outcome, c.ID())
	}
	if c.Outcome == result.Skip {
		if p.Verbose && c.Skipped != "" {
			fmt.Fprintf(p.out, "      %s\n", c.Skipped)
		}
		return
	}
	isBad := c.Outcome != result.Pass
	if line := p.o.rateLine(c); line != "" && (isBad || p.Verbose) {
		fmt.Fprintf(p.out, "  %s: %s: %s\n", p.o.place(c.Position), c.ID(), line)
	}
	if !isBad {
		return
	}
	for _, f := range findings(c) {
		fmt.Fprintf(p.out, "  %s: %s: %s\n", p.o.place(f.at), c.ID(), indent(f.title(), 6))
		for _, line := range p.o.details(c, f) {
			fmt.Fprintf(p.out, "      %s\n", indent(line, 6))
		}
	}
}

// indent puts the further lines of a text below the first.
func indent(text string, by int) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", by))
}

// elapsed returns a duration behind a line; "" where it is not known.
func elapsed(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("  %.2fs", d.Seconds())
}

// countsLine returns counts as people read them: "6 passed, 1 failed".
func (o *Options) countsLine(c result.Counts) string {
	var parts []string
	for _, part := range []struct {
		n      int
		format string
	}{{c.Passed, "%d passed"}, {c.Failed, "%d failed"}, {c.Errors, "%d not decided"}, {c.Skipped, "%d skipped"}} {
		if part.n > 0 {
			parts = append(parts, o.say(part.format, part.n))
		}
	}
	if len(parts) == 0 {
		return o.say("no cases")
	}
	return strings.Join(parts, ", ")
}

// PrintEnd prints the last lines of a run, and how it differs from an earlier one; c may be nil.
func (p *Printer) PrintEnd(run *result.Run, c *compare.Comparison) {
	if p.o.Mask != nil {
		run, c = masked(run, p.o.Mask), masked(c, p.o.Mask)
	}
	if c != nil {
		fmt.Fprintln(p.out)
		for _, line := range p.o.comparisonLines(c) {
			fmt.Fprintln(p.out, line)
		}
		fmt.Fprintln(p.out)
	}
	if len(run.Suites) != 1 || c != nil {
		fmt.Fprintf(p.out, "%s%s\n", p.o.countsLine(run.Counts()), elapsed(run.Elapsed))
	}
	if line := p.o.usageLine(run); line != "" {
		fmt.Fprintln(p.out, line)
	}
	if run.Interrupted {
		fmt.Fprintln(p.out, p.o.say("interrupted: the results so far are kept; go on with --rerun errors"))
	}
}

// usageLine tells what the models of a run cost; "" where none was asked.
func (o *Options) usageLine(run *result.Run) string {
	u := run.Usage()
	if u.InputTokens+u.OutputTokens == 0 {
		return ""
	}
	cost := ""
	if u.Cost > 0 {
		cost = fmt.Sprintf(", $%.4f", u.Cost)
	}
	if run.Mode == result.Live {
		return o.say("models: %d tokens in, %d out%s", u.InputTokens, u.OutputTokens, cost)
	}
	return o.say("models: %d tokens in, %d out%s, as recorded", u.InputTokens, u.OutputTokens, cost)
}
