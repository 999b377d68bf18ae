package compare

import (
	"io"
	"slices"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// PassMetric is the metric that every comparison has: the share of repeats that pass.
const PassMetric = "pass"

// Measures that are compared and not tested: the mean of all checks adds little to the passes, and a cheaper run
// is not better by itself.
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
	// Against is the name of the earlier run.
	Against string `json:"against"`
	// Exact reports whether both are replays, so that nothing in them is chance.
	Exact bool `json:"exact"`
	// Pairs is how many cases are in both and decided in both; Undecided, Added and Removed are the ids of the
	// cases that are not compared.
	Pairs     int      `json:"pairs"`
	Undecided []string `json:"undecided,omitempty"`
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	// Curtailed reports whether repeats were left out of a run, so that verdicts were compared and not
	// rates.
	Curtailed bool `json:"curtailed,omitempty"`
	// FewestChanges is how many cases must change, all one way, for a significant result.
	FewestChanges int `json:"fewest_changes,omitempty"`
	// Metrics begin with the metric of passes; measures come last.
	Metrics []Metric `json:"metrics"`
	// Changes are the cases whose verdict changed, in the order of the run.
	Changes []CaseChange `json:"changes,omitempty"`
	// Prompt lists the changes in the prompts, by source.
	Prompt []PieceChange `json:"prompt,omitempty"`
}

// CaseChange is a case with another verdict than before.
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
	// Before and After are the means, Effect their difference, and Interval the interval of the effect; it is nil
	// if there is only one case, or nothing is random.
	Before   float64        `json:"before"`
	After    float64        `json:"after"`
	Effect   float64        `json:"effect"`
	Interval *stat.Interval `json:"interval,omitempty"`
	// P is the p-value, Adjusted that by Holm over all metrics that were tested; nil without a test.
	P        *float64 `json:"p,omitempty"`
	Adjusted *float64 `json:"adjusted,omitempty"`
	// Visible is the smallest effect that would be found four times in five; nil if that is not known.
	Visible *float64 `json:"visible,omitempty"`
	// Significant reports whether the difference is more than chance.
	Significant bool `json:"significant"`
}

// IsRegression reports whether the metric got worse by more than chance.
func (m *Metric) IsRegression() bool { return m.Significant && m.Effect < 0 }

// FailOn selects the results of a comparison that make a run fail.
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

// WriteLine writes the comparison as a JSON line after the lines of a run.
func (c *Comparison) WriteLine(w io.Writer) error {
	return result.WriteLine(w, struct {
		Type string `json:"type"`
		*Comparison
	}{"comparison", c})
}
