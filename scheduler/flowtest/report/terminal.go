package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// Printer prints a run for people while it goes on: a line for each file, and its failures. It is not safe for
// concurrent use.
type Printer struct {
	out io.Writer
	o   Options
	// Verbose prints a line for every case.
	Verbose bool
}

// NewPrinter returns a printer for a terminal or a log. Its output has no colours and ends every line.
func NewPrinter(out io.Writer, o Options) *Printer { return &Printer{out: out, o: o} }

// printf writes whole lines.
func (p *Printer) printf(format string, args ...any) {
	_, _ = io.WriteString(p.out, p.o.withoutCommands(fmt.Sprintf(format, args...))) // ignored as with fmt.Fprint: there is nowhere to report it
}

// PrintSuite prints the results of a test file.
func (p *Printer) PrintSuite(s *result.Suite) {
	s = masked(s, p.o.visible)
	counts := s.Counts()
	word := "ok   "
	if counts.Errors > 0 {
		word = "ERROR"
	}
	if counts.Failed > 0 {
		word = "FAIL "
	}
	if counts.IsAllSkipped() {
		word = "SKIP "
	}
	p.printf("%s %s  %s%s\n", word, p.o.path(s.File), p.o.countsLine(counts), elapsed(s.Elapsed))
	for _, c := range s.Cases {
		p.printCase(c)
	}
	if !p.Verbose {
		p.printGroups(s)
	}
	for _, note := range s.Notes {
		p.printf("  %s: %s\n", p.o.place(note.Position), p.o.say("note: %s", note.Message))
	}
}

// printCase prints the facts that a person needs about a case.
func (p *Printer) printCase(c *result.Case) {
	if p.Verbose {
		p.printf("  %-5s %s\n", c.Outcome, c.ID())
	}
	if c.Outcome == result.Skip {
		if p.Verbose && c.Skipped != "" {
			p.printf("      %s\n", c.Skipped)
		}
		return
	}
	isBad := c.Outcome != result.Pass
	if line := p.o.rateLine(c); line != "" && (isBad || p.Verbose) {
		p.printf("  %s: %s: %s\n", p.o.place(c.Position), c.ID(), line)
	}
	if c.IsUnchecked() {
		why := p.o.say("no checks")
		if c.IsWeightless() {
			why = p.o.say("no check counts: their weight is 0")
		}
		p.printf("  %s: %s: %s\n", p.o.place(c.Position), c.ID(), why)
	}
	if names := c.Tolerated(); len(names) > 0 {
		p.printf("  %s: %s: %s\n", p.o.place(c.Position), c.ID(), p.o.toleratedLine(c, names))
	}
	if line := p.o.gradesLine(c); line != "" {
		p.printf("  %s: %s: %s\n", p.o.place(c.Position), c.ID(), line)
	}
	for _, note := range p.o.noteLines(c) {
		p.printf("  %s: %s: %s\n", p.o.place(note.at), c.ID(), note.message)
	}
	if p.Verbose {
		for _, f := range findings(c) {
			p.printFinding(c, f, nil)
		}
	}
}

// printFinding prints a finding of a case, and which other cases have the same.
func (p *Printer) printFinding(c *result.Case, f *finding, others []string) {
	p.printf("  %s: %s: %s\n", p.o.place(f.at), c.ID(), indent(f.title(), 6))
	for _, line := range p.o.details(c, f) {
		p.printf("      %s\n", indent(line, 6))
	}
	if len(others) > 0 {
		p.printf("      %s\n", p.o.say("in %d more: %s", len(others), p.o.someOf(others)))
	}
}

// printGroups prints the findings of all cases that did not pass. Findings of one check, in rows and variants, are
// printed once, with the text of the first.
func (p *Printer) printGroups(s *result.Suite) {
	type group struct {
		of     *result.Case
		first  *finding
		others []string
	}
	var groups []*group
	known := map[string]*group{}
	for _, c := range s.Cases {
		if c.Outcome != result.Fail && c.Outcome != result.Error {
			continue
		}
		for _, f := range findings(c) {
			key := fmt.Sprint(f.at, f.name, f.outcome)
			if f.name == "" { // problems are the same if their texts are
				key += f.message
			}
			if g := known[key]; g != nil && g.of != c {
				g.others = append(g.others, c.ID())
				continue
			}
			known[key] = &group{of: c, first: f}
			groups = append(groups, known[key])
		}
	}
	for _, g := range groups {
		p.printFinding(g.of, g.first, g.others)
	}
}

// indent puts the further lines of a text below the first.
func indent(text string, by int) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", by))
}

// elapsed returns a duration behind a line; "" if it is not known.
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
	}{{c.Passed, "%d passed"}, {c.Failed, "%d failed"}, {c.Errors, "%d not decided"}, {c.Skipped, "%d skipped"}, {c.Unchecked, "%d without checks"}, {c.Tolerated, "%d of them with failing checks"}} {
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
	run, c = masked(run, p.o.visible), masked(c, p.o.visible)
	if c != nil {
		p.printf("\n")
		for _, line := range p.o.comparisonLines(c) {
			p.printf("%s\n", line)
		}
		p.printf("\n")
	}
	if len(run.Suites) != 1 || c != nil {
		p.printf("%s%s\n", p.o.countsLine(run.Counts()), elapsed(run.Elapsed))
	}
	if line := p.o.usageLine(run); line != "" {
		p.printf("%s\n", line)
	}
	if run.Interrupted {
		p.printf("%s\n", p.o.say("interrupted: the results so far are kept; go on with --rerun errors"))
	}
}

// usageLine returns the cost of a run's models; "" if none was asked.
func (o *Options) usageLine(run *result.Run) string {
	u, embedded := run.Usage()
	var parts []string
	if u.Total() > 0 {
		parts = append(parts, o.say("models: %d tokens in, %d out%s", u.InputTokens, u.OutputTokens, o.costText(u)))
	}
	if embedded.Total() > 0 {
		parts = append(parts, o.say("embeddings: %d tokens%s", embedded.Total(), o.costText(embedded)))
	}
	if len(parts) == 0 {
		return ""
	}
	line := strings.Join(parts, o.say("; "))
	if run.Mode == result.Live {
		return line
	}
	return o.say("%s, as recorded", line)
}

// costText returns a cost behind tokens; "" if there is none.
func (o *Options) costText(u llm.Usage) string {
	if u.Cost == 0 {
		return ""
	}
	return ", " + o.Currency.Text(u.Cost)
}
