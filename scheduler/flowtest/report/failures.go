package report

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// finding is something of a case that a person must look at: a check that did not pass, or a
// problem, and in how many repeats.
type finding struct {
	at      result.Position
	outcome result.Outcome
	// name is the name of the check; "" for a problem.
	name, message, hint string
	piece               *result.PieceRef
	diff                string
	criteria            []result.Criterion
	repeats             int
	isInformation       bool // its weight is 0
}

// findings returns the problems that a person must look at in a case, each once, however many repeats have it. The
// text is the first one's.
func findings(c *result.Case) (all []*finding) {
	if c.Problem != nil {
		all = append(all, ofProblem(c, c.Problem))
	}
	index := map[string]*finding{}
	add := func(key string, f *finding) {
		known := index[key]
		if known == nil {
			known = f
			index[key] = f
			all = append(all, f)
		}
		known.repeats++
	}
	for i := range c.Repeats {
		r := &c.Repeats[i]
		if r.Problem != nil {
			add("problem "+r.Problem.Message, ofProblem(c, r.Problem))
		}
		for j := range r.Checks {
			check := &r.Checks[j]
			if check.Outcome == result.Pass || check.Outcome == result.Skip { // a check that was not asked shows nothing
				continue
			}
			f := &finding{
				isInformation: check.Weight == 0, at: check.Position, outcome: check.Outcome, name: check.Name, message: check.Message, hint: check.Hint, piece: check.Piece, diff: check.Diff,
			}
			if check.Judge != nil {
				f.criteria = check.Judge.Criteria
			}
			add(fmt.Sprint(check.Position, check.Name, check.Outcome), f)
		}
	}
	return all
}

func ofProblem(c *result.Case, p *result.Problem) *finding {
	f := &finding{at: p.Position, outcome: result.Error, message: p.Message, hint: p.Hint}
	if f.at.File == "" {
		f.at = c.Position
	}
	if c.Outcome == result.Fail {
		f.outcome = result.Fail
	}
	return f
}

// title returns the first line of a finding: the check, and the fact.
func (f *finding) title() string {
	if f.name == "" || f.message == "" {
		return f.name + f.message
	}
	return f.name + ": " + f.message
}

// details returns the lines below the first: repeats, piece, criteria, diff, remedy.
func (o *Options) details(c *result.Case, f *finding) (lines []string) {
	if len(c.Repeats) > 1 && f.repeats > 0 {
		lines = append(lines, o.say("in %d of %d repeats", f.repeats, len(c.Repeats)))
	}
	if f.piece != nil {
		lines = append(lines, o.pieceLine(f.piece))
	}
	for _, criterion := range f.criteria {
		if !criterion.Met {
			lines = append(lines, o.say("not met: %s (%s)", criterion.Text, criterion.Reason))
		}
	}
	if f.diff != "" {
		lines = append(lines, strings.Split(strings.TrimRight(f.diff, "\n"), "\n")...)
	}
	if f.hint != "" {
		lines = append(lines, f.hint)
	}
	if f.isInformation {
		lines = append(lines, o.say("it does not count: its weight is 0"))
	}
	return lines
}

// pieceLine names a piece of a prompt.
func (o *Options) pieceLine(p *result.PieceRef) string {
	line := o.say("piece: %s %q of %s", p.Kind, p.Name, p.Step)
	if p.Role == "" {
		if p.Reason != "" {
			line += ", " + o.say("left out: %s", p.Reason)
		}
		return line
	}
	if p.Message < 0 { // the definition of a tool, or the name of a message
		line += ", " + o.say("beside the messages (%s)", p.Role)
	} else {
		line += ", " + o.say("in message %d (%s)", p.Message, p.Role)
	}
	if p.Source != "" {
		line += ", " + o.say("from %s", p.Source)
	}
	return line
}

// noteLines lists the passes of a case that prove little, each check once: there was nothing to look at, or people
// have found its judge to be no better than chance.
func (o *Options) noteLines(c *result.Case) (all []*finding) {
	seen := map[string]bool{}
	for i := range c.Repeats {
		for _, check := range c.Repeats[i].Checks {
			note := check.Note
			if judge := check.Judge; note == "" && check.Outcome == result.Pass && judge != nil && judge.Labels > 0 && judge.Kappa <= 0 {
				note = o.say("the judge agrees with people no more than chance does (kappa %.2f of %d answers)", judge.Kappa, judge.Labels)
			}
			key := fmt.Sprint(check.Position, note)
			if note != "" && check.Weight > 0 && !seen[key] {
				all = append(all, &finding{at: check.Position, name: check.Name, message: o.say("note: %s: %s", check.Name, note)})
			}
			seen[key] = true
		}
	}
	return all
}

// gradesLine lists the grades of the checks of a case that give one, as means over the repeats; "" if none does.
func (o *Options) gradesLine(c *result.Case) string {
	var names []string
	sums, counts := map[string]float64{}, map[string]int{}
	for i := range c.Repeats {
		for _, check := range c.Repeats[i].Checks {
			if check.Score == nil {
				continue
			}
			if counts[check.Name] == 0 {
				names = append(names, check.Name)
			}
			sums[check.Name] += *check.Score
			counts[check.Name]++
		}
	}
	for i, name := range names {
		names[i] = name + " " + showShare(sums[name]/float64(counts[name]))
	}
	if names == nil {
		return ""
	}
	return o.say("grades: %s", strings.Join(names, ", "))
}

// toleratedLine lists the checks that failed in a case that passed, and says why it did: repeats may fail, or the
// mean score was enough.
func (o *Options) toleratedLine(c *result.Case, names []string) string {
	list := o.someOf(names)
	if passed, decided := c.Passed(); passed < decided {
		return o.say("passed, although a check failed in %d of %d repeats: %s", decided-passed, decided, list)
	}
	return o.say("passed by its threshold, although a check failed: %s", list)
}

// rateLine says how many repeats of a case passed and how sure that is; "" if it ran once.
func (o *Options) rateLine(c *result.Case) string {
	passed, decided := c.Passed()
	if c.Planned < 2 || decided == 0 {
		return ""
	}
	if observed, n := c.Observed(); n < decided {
		return o.say("%d of %d repeats passed: one observation, as all had the same answers", observed*decided, decided)
	}
	in := stat.Wilson(passed, decided)
	line := o.say("%d of %d repeats passed (95 %%: %s to %s %%); %s %% must pass", passed, decided, percent(in.Low), percent(in.High), percent(c.Rate))
	if c.Sure {
		line = o.say("%d of %d repeats passed (95 %%: %s to %s %%); the lower bound must reach %s %%", passed, decided, percent(in.Low), percent(in.High), percent(c.Rate))
	}
	if c.Curtailed() {
		line += "; " + o.say("%d more could not change the verdict", c.Planned-len(c.Repeats))
	}
	return line
}

// percent returns a share in percent, without the sign.
func percent(share float64) string { return fmt.Sprintf("%.0f", 100*share) }
