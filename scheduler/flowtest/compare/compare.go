package compare

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// Compare compares a run with an earlier one, by the cases of the test files that ran in it. The seed fixes the
// random draws.
func Compare(before, after *Baseline, against string, seed uint64) *Comparison {
	c := &Comparison{Against: against, Exact: before.Mode == result.Replay && after.Mode == result.Replay}
	var pairs []pair
	for _, suite := range after.Suites {
		i := slices.IndexFunc(before.Suites, func(s BaselineSuite) bool { return s.File == suite.File })
		if i < 0 {
			for j := range suite.Cases {
				c.Added = append(c.Added, suite.Cases[j].ID)
			}
			continue
		}
		pairs = append(pairs, c.pairCases(&before.Suites[i], &suite)...)
	}
	decided := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return p.before.N == 0 || p.after.N == 0 })
	c.Pairs = len(decided)
	for _, p := range pairs {
		if p.before.N == 0 || p.after.N == 0 {
			c.Undecided = append(c.Undecided, p.after.ID)
		}
		if p.before.Outcome != p.after.Outcome {
			c.Changes = append(c.Changes, CaseChange{p.file, p.after.ID, p.before.Outcome, p.after.Outcome})
		}
		c.Prompt = addChanges(c.Prompt, p.after.ID, DiffPieces(p.before.Pieces, p.after.Pieces))
	}
	c.compareMetrics(decided, seed)
	return c
}

// pairCases returns the cases that both suites have.
func (c *Comparison) pairCases(before, after *BaselineSuite) (pairs []pair) {
	known := map[string]*BaselineCase{}
	for i := range before.Cases {
		known[before.Cases[i].ID] = &before.Cases[i]
	}
	for i := range after.Cases {
		is := &after.Cases[i]
		was := known[is.ID]
		if was == nil {
			c.Added = append(c.Added, is.ID)
			continue
		}
		delete(known, is.ID)
		pairs = append(pairs, pair{after.File, was, is})
	}
	for i := range before.Cases {
		if known[before.Cases[i].ID] != nil {
			c.Removed = append(c.Removed, before.Cases[i].ID)
		}
	}
	return pairs
}

// AddGoneFiles adds the cases of test files that the earlier run had and that are there no more; has reports whether a file is.
func (c *Comparison) AddGoneFiles(before *Baseline, has func(file string) bool) {
	for _, suite := range before.Suites {
		if has(suite.File) {
			continue
		}
		for i := range suite.Cases {
			c.Removed = append(c.Removed, suite.File+": "+suite.Cases[i].ID)
		}
	}
}

// compareMetrics fills in the metrics.
func (c *Comparison) compareMetrics(pairs []pair, seed uint64) {
	if len(pairs) == 0 {
		return
	}
	c.Curtailed = slices.ContainsFunc(pairs, func(p pair) bool { return p.before.Curtailed || p.after.Curtailed })
	passes := sample{name: PassMetric, binary: true}
	for _, p := range pairs {
		was, is := float64(p.before.C)/float64(p.before.N), float64(p.after.C)/float64(p.after.N)
		if c.Curtailed {
			was, is = verdictValue(p.before.Outcome), verdictValue(p.after.Outcome)
		}
		passes.add(p, was, is)
	}
	samples := []sample{passes}
	for _, name := range metricNames(pairs) {
		s := sample{name: name}
		for _, p := range pairs {
			was, hadIt := p.before.score(name)
			is, hasIt := p.after.score(name)
			if hadIt && hasIt {
				s.add(p, was, is)
			}
		}
		samples = append(samples, s)
	}
	var tested []int
	var ps []float64
	for i := range samples {
		m := samples[i].compare(c.Exact, seed)
		if m.P != nil {
			tested = append(tested, i)
			ps = append(ps, *m.P)
		}
		c.Metrics = append(c.Metrics, m)
	}
	for i, adjusted := range stat.Holm(ps) {
		m := &c.Metrics[tested[i]]
		m.Adjusted = &adjusted
		m.Significant = adjusted <= 1-stat.Confidence
	}
	if !c.Exact {
		c.FewestChanges = stat.FewestChanges(len(ps))
	}
	c.Metrics = append(c.Metrics, measures(pairs, seed)...)
}

func verdictValue(o result.Outcome) float64 {
	if o == result.Pass {
		return 1
	}
	return 0
}

// metricNames returns the metrics that a pair has in both runs, sorted.
func metricNames(pairs []pair) (names []string) {
	for _, p := range pairs {
		for _, s := range p.after.Scores {
			if _, ok := p.before.score(s.Metric); ok && !slices.Contains(names, s.Metric) {
				names = append(names, s.Metric)
			}
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// score returns the mean of a metric.
func (c *BaselineCase) score(metric string) (mean float64, ok bool) {
	i := slices.IndexFunc(c.Scores, func(s Score) bool { return s.Metric == metric })
	if i < 0 {
		return 0, false
	}
	return c.Scores[i].Mean, true
}
