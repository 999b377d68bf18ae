package compare

import (
	"io"
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// PassMetric is the metric that every comparison has: the share of repeats that pass.
const PassMetric = "pass"

// The measures that are compared and not tested: the mean of all checks says little more than the
// passes do, and what is cheaper is not better by itself.
const (
	ScoreMeasure  = "score"
	TokensMeasure = "tokens"
	CostMeasure   = "cost"
	TimeMeasure   = "ms"
)

// Method is how a metric was compared.
type Method string

// The methods.
const (
	Exact       Method = "exact"       // both runs are replays: each difference is one
	McNemar     Method = "mcnemar"     // one pass or fail for each case
	Permutation Method = "permutation" // sign flips of the means of cases
	Estimated   Method = "estimated"   // an effect and its interval, without a test
)

// Comparison is how a run differs from an earlier one. [Compare] makes it; it is only data.
type Comparison struct {
	// Against is what people call the earlier run.
	Against string `json:"against"`
	// Exact reports whether both are replays, so that nothing in them is chance.
	Exact bool `json:"exact"`
	// Pairs is how many cases are in both and decided in both; Undecided, Added and Removed are
	// the ids of those that are not compared.
	Pairs     int      `json:"pairs"`
	Undecided []string `json:"undecided,omitempty"`
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	// Curtailed reports whether repeats were left out of a run, so that verdicts were compared and not
	// rates.
	Curtailed bool `json:"curtailed,omitempty"`
	// FewestChanges is how many cases must change, all one way, for a significant result.
	FewestChanges int `json:"fewest_changes,omitempty"`
	// Metrics begin with that of passes; measures come last.
	Metrics []Metric `json:"metrics"`
	// Changes are the cases whose verdict changed, in the order of the run.
	Changes []CaseChange `json:"changes,omitempty"`
	// Prompt is what changed in the prompts, by source.
	Prompt []PieceChange `json:"prompt,omitempty"`
}

// CaseChange is a case whose verdict changed.
type CaseChange struct {
	File string         `json:"file"`
	ID   string         `json:"id"`
	Was  result.Outcome `json:"was"`
	Is   result.Outcome `json:"is"`
}

// Metric is how one metric differs.
type Metric struct {
	Name   string `json:"name"`
	Method Method `json:"method"`
	// Cases is how many pairs have the metric, Better and Worse in how many it rose and fell.
	Cases  int `json:"cases"`
	Better int `json:"better"`
	Worse  int `json:"worse"`
	// Before and After are the means, Effect their difference, and Interval that of the effect; it is
	// nil where one case is all there is, and where nothing is chance.
	Before   float64        `json:"before"`
	After    float64        `json:"after"`
	Effect   float64        `json:"effect"`
	Interval *stat.Interval `json:"interval,omitempty"`
	// P is the p-value, Adjusted that by Holm over all metrics that were tested; nil without a test.
	P        *float64 `json:"p,omitempty"`
	Adjusted *float64 `json:"adjusted,omitempty"`
	// Visible is the smallest effect that would be found four times in five; nil where that is
	// not known.
	Visible *float64 `json:"visible,omitempty"`
	// Significant reports whether the difference is more than chance.
	Significant bool `json:"significant"`
}

// IsRegression reports whether the metric got worse by more than chance.
func (m *Metric) IsRegression() bool { return m.Significant && m.Effect < 0 }

// FailOn is what of a comparison makes a run fail.
type FailOn string

// The choices of --fail-on.
const (
	FailOnSignificant FailOn = "significant"
	FailOnAny         FailOn = "any"
	FailOnNone        FailOn = "none"
)

// Regressed reports whether the comparison makes the run fail.
func (c *Comparison) Regressed(on FailOn) bool {
	switch on {
	case FailOnNone:
		return false
	case FailOnAny:
		return len(c.Regressions()) > 0 || slices.ContainsFunc(c.Metrics, func(m Metric) bool { return m.Method != Estimated && m.Effect < 0 })
	default:
		if c.Exact {
			return len(c.Regressions()) > 0
		}
		return slices.ContainsFunc(c.Metrics, func(m Metric) bool { return m.IsRegression() })
	}
}

// Regressions returns the cases that passed before and fail now.
func (c *Comparison) Regressions() (all []CaseChange) {
	for _, change := range c.Changes {
		if change.Was == result.Pass && change.Is == result.Fail {
			all = append(all, change)
		}
	}
	return all
}

// pair is a case in both runs.
type pair struct {
	file          string
	before, after *BaselineCase
}

// Compare compares a run with an earlier one, by the cases of the test files that ran in it. The seed
// fixes what is drawn at random.
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
		c.Prompt = addChanges(c.Prompt, p.after.ID, diffPieces(p.before.Pieces, p.after.Pieces))
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

// WriteLine writes the comparison as the JSON line that follows those of a run.
func (c *Comparison) WriteLine(w io.Writer) error {
	return result.WriteLine(w, struct {
		Type string `json:"type"`
		*Comparison
	}{"comparison", c})
}
