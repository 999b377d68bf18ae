package report

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/compare"
)

// shownCases is how many cases a line names.
const shownCases = 3

// comparisonLines describes how a run differs from an earlier one.
func (o *Options) comparisonLines(c *compare.Comparison) (lines []string) {
	lines = append(lines, o.say("against %s: %d cases in both", c.Against, c.Pairs))
	for _, other := range []struct {
		format string
		ids    []string
	}{{"not decided in one of them: %s", c.Undecided}, {"only in this run: %s", c.Added}, {"only in %s: %s", c.Removed}} {
		if len(other.ids) == 0 {
			continue
		}
		if strings.Count(other.format, "%s") == 2 {
			lines = append(lines, "  "+o.say(other.format, c.Against, o.someOf(other.ids)))
			continue
		}
		lines = append(lines, "  "+o.say(other.format, o.someOf(other.ids)))
	}
	for _, change := range c.Changes {
		lines = append(lines, fmt.Sprintf("  %s: %s: %s", o.path(change.File), change.ID, o.say("was %s, is %s", string(change.Was), string(change.Is))))
	}
	if c.Curtailed {
		lines = append(lines, "  "+o.say("repeats were left out once a verdict was settled: verdicts are compared, not rates"))
	}
	for i := range c.Metrics {
		lines = append(lines, "  "+o.metricLine(&c.Metrics[i]))
	}
	if c.FewestChanges > 0 {
		lines = append(lines, "  "+o.say("at least %d cases must change, all one way, before passes and fails tell two runs apart", c.FewestChanges))
	}
	if len(c.Prompt) > 0 {
		lines = append(lines, o.say("in the prompts:"))
	}
	for i := range c.Prompt {
		lines = append(lines, "  "+o.pieceChangeLine(&c.Prompt[i]))
	}
	return lines
}

// someOf names the first few of ids.
func (o *Options) someOf(ids []string) string {
	if len(ids) <= shownCases {
		return strings.Join(ids, ", ")
	}
	return o.say("%s and %d more", strings.Join(ids[:shownCases], ", "), len(ids)-shownCases)
}

// metricLine describes how a metric differs, how sure that is, and which difference could have been seen.
func (o *Options) metricLine(m *compare.Metric) string {
	show, isShare := showShare, true
	switch m.Name {
	case compare.TokensMeasure, compare.TimeMeasure:
		isShare = false
		show = func(v float64) string { return fmt.Sprintf("%.1f", v) }
	case compare.CostMeasure:
		isShare = false
		show = o.Currency.Text
	}
	line := o.say("%s: %s, was %s (%s)", m.Name, show(m.After), show(m.Before), signed(m.Effect, show))
	if m.Method == compare.Exact {
		return line + o.say("; better in %d, worse in %d", m.Better, m.Worse)
	}
	if m.Interval != nil {
		line += o.say("; 95 %% between %s and %s", signed(m.Interval.Low, show), signed(m.Interval.High, show))
	}
	if m.Adjusted != nil {
		line += o.say("; p = %.3g (%s)", *m.Adjusted, string(m.Method))
	}
	line += o.significance(m)
	switch {
	case m.Visible == nil:
	case isShare && *m.Visible > 1: // more than from none to all
		line += o.say("; so few cases show no effect")
	default:
		line += o.say("; smallest visible effect %s", show(*m.Visible))
	}
	return line
}

// significance says whether a difference is more than chance; "" if that was not tested.
func (o *Options) significance(m *compare.Metric) string {
	switch {
	case m.Adjusted == nil:
		return ""
	case !m.Significant:
		return o.say("; no difference that chance does not explain")
	case m.IsRegression():
		return o.say("; WORSE")
	}
	return o.say("; better")
}

func showShare(v float64) string { return fmt.Sprintf("%.3f", v) }

// signed returns a difference with its sign.
func signed(v float64, show func(float64) string) string {
	if v < 0 {
		return "-" + show(-v)
	}
	return "+" + show(v)
}

// sourcesLine says that the text of a piece has other sources now.
func (o *Options) sourcesLine(name string, p *compare.PieceChange) string {
	if p.To == "" {
		return o.say("%s: comes no longer from %s", name, p.From)
	}
	if p.From == "" {
		return o.say("%s: comes from %s too", name, p.To)
	}
	return o.say("%s: comes from %s, was from %s", name, p.To, p.From)
}

// pieceChangeLine describes the change of a piece of the prompts: "The keeper: out now, budget 400: needs 31, 12
// left".
func (o *Options) pieceChangeLine(p *compare.PieceChange) string {
	name := p.Name
	if name == "" {
		name = p.Kind
	}
	line := ""
	switch p.What {
	case compare.Out:
		line = o.say("%s: out now, %s", name, p.Reason)
	case compare.In:
		line = o.say("%s: in now, %+d tokens", name, p.Tokens)
		if p.Reason != "" {
			line += o.say(" (was out: %s)", p.Reason)
		}
	case compare.Gone:
		line = o.say("%s: not offered any more, %+d tokens", name, p.Tokens)
	case compare.Resized:
		line = o.say("%s: %+d tokens", name, p.Tokens)
	case compare.Edited:
		line = o.say("%s: another text of the same length", name)
	case compare.Moved:
		line = o.say("%s: from %s to %s", name, p.From, p.To)
	case compare.Sourced:
		line = o.sourcesLine(name, p)
	case compare.Reorder:
		line = o.say("%s: in another place", name)
	}
	return line + o.say(" [%s of %s; %s]", p.Kind, p.Step, o.someOf(p.Cases))
}
