// Package compare compares a test run with an earlier one, case by case: whether answers got worse ([Compare]),
// and what changed in the prompts at the same time, by source ([PieceChange]). For example, a case fails now
// because a preset no longer fits the budget.
package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// baselineVersion is the version of the files that this code writes and reads.
const baselineVersion = 1

// Suffix ends the name of a baseline's file, for example main.test.baseline.json.
const Suffix = ".test.baseline.json"

// Baseline is the record of a run for comparison with later ones. [NewBaseline] makes it from a run,
// [ReadBaseline] from a file. It contains no texts of prompts and answers. It is only data.
type Baseline struct {
	Version int         `json:"version"`
	Mode    result.Mode `json:"mode"`
	// Suites are in the order of their files.
	Suites []BaselineSuite `json:"suites"`
}

// BaselineSuite is the record of a test file.
type BaselineSuite struct {
	File  string         `json:"file"`
	Cases []BaselineCase `json:"cases"`
}

// BaselineCase is the record of a case. N repeats were decided, and C of them passed.
type BaselineCase struct {
	ID      string         `json:"id"`
	Cluster string         `json:"cluster,omitempty"`
	Outcome result.Outcome `json:"outcome"`
	N       int            `json:"n"`
	C       int            `json:"c"`
	// Curtailed reports whether repeats were left out, so that C of N is not an estimate.
	Curtailed bool `json:"curtailed,omitempty"`
	// Score is the mean of all checks over the repeats, nil if none has one; Scores are the means of the metrics
	// that checks name, in the order of the names.
	Score  *float64 `json:"score,omitempty"`
	Scores []Score  `json:"scores,omitempty"`
	// Tokens, Cost and MS are means over the repeats; nil if they are not known.
	Tokens *float64 `json:"tokens,omitempty"`
	Cost   *float64 `json:"cost,omitempty"`
	MS     *float64 `json:"ms,omitempty"`
	// Pieces are the pieces of the prompts of the first repeat.
	Pieces []result.Piece `json:"pieces,omitempty"`
}

// Score is the mean of a metric.
type Score struct {
	Metric string  `json:"metric"`
	Mean   float64 `json:"mean"`
}

// NewBaseline returns the baseline of a run. Skipped cases are not in it.
func NewBaseline(run *result.Run) *Baseline {
	b := &Baseline{Version: baselineVersion, Mode: run.Mode, Suites: []BaselineSuite{}}
	for _, s := range run.Suites {
		suite := BaselineSuite{File: s.File, Cases: []BaselineCase{}}
		for _, c := range s.Cases {
			if c.Outcome != result.Skip {
				suite.Cases = append(suite.Cases, newBaselineCase(c))
			}
		}
		b.Suites = append(b.Suites, suite)
	}
	b.sort()
	return b
}

func (b *Baseline) sort() {
	slices.SortFunc(b.Suites, func(x, y BaselineSuite) int { return strings.Compare(x.File, y.File) })
}

// newBaselineCase returns the record of a case.
func newBaselineCase(c *result.Case) BaselineCase {
	kept := BaselineCase{ID: c.ID(), Cluster: c.Cluster, Outcome: c.Outcome, Curtailed: c.Curtailed()}
	kept.C, kept.N = c.Observed()
	var tokens, cost, ms, score means
	scores := map[string]*means{}
	for i := range c.Repeats {
		r := &c.Repeats[i]
		if r.Outcome == result.Error {
			continue
		}
		tokens.add(float64(r.Usage.InputTokens + r.Usage.OutputTokens))
		if r.PriceKnown {
			cost.add(r.Usage.Cost)
		}
		if r.ElapsedMS != nil {
			ms.add(float64(*r.ElapsedMS))
		} else if r.RecordedMS != nil {
			ms.add(float64(*r.RecordedMS))
		}
		if r.Score != nil {
			score.add(*r.Score)
		}
		for metric, score := range metricsOf(r.Checks) {
			addScore(scores, metric, score)
		}
	}
	kept.Tokens, kept.Cost, kept.MS, kept.Score = tokens.mean(), cost.mean(), ms.mean(), score.mean()
	for metric, m := range scores {
		kept.Scores = append(kept.Scores, Score{metric, *m.mean()})
	}
	slices.SortFunc(kept.Scores, func(x, y Score) int { return strings.Compare(x.Metric, y.Metric) })
	if len(c.Repeats) > 0 {
		kept.Pieces = c.Repeats[0].Pieces
	}
	return kept
}

// metricsOf returns the mean of each metric that checks name.
func metricsOf(checks []result.Check) map[string]float64 {
	groups := map[string][]result.Check{}
	for _, c := range checks {
		if c.Metric != "" {
			groups[c.Metric] = append(groups[c.Metric], c)
		}
	}
	all := map[string]float64{}
	for metric, group := range groups {
		if score := result.MeanScore(group); score != nil {
			all[metric] = *score
		}
	}
	return all
}

// means adds up values for their mean.
type means struct {
	sum float64
	n   int
}

func (m *means) add(v float64) {
	m.sum += v
	m.n++
}

func (m *means) mean() *float64 {
	if m.n == 0 {
		return nil
	}
	mean := m.sum / float64(m.n)
	return &mean
}

func addScore(scores map[string]*means, metric string, score float64) {
	if scores[metric] == nil {
		scores[metric] = &means{}
	}
	scores[metric].add(score)
}

// ReadBaseline reads the file of a baseline.
func ReadBaseline(data []byte) (*Baseline, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	var b Baseline
	if err := in.Decode(&b); err != nil {
		return nil, wording.Errorf("this is not a baseline of scheduler test: %w", err)
	}
	if b.Version != baselineVersion {
		return nil, wording.Errorf("the baseline has version %d, and this program reads version %d: write it again with --bless", b.Version, baselineVersion)
	}
	return &b, nil
}

// Write writes the file of the baseline: a line for each case, so that its changes are easy to read
// in version control.
func (b *Baseline) Write(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\"version\": %d, \"mode\": %q, \"suites\": [", b.Version, b.Mode)
	for i, s := range b.Suites {
		if i > 0 {
			out.WriteString(",")
		}
		file, err := encode(s.File)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n {\"file\": %s, \"cases\": [", file)
		for j := range s.Cases {
			if j > 0 {
				out.WriteString(",")
			}
			line, err := encode(&s.Cases[j])
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n  %s", line)
		}
		out.WriteString("\n ]}")
	}
	out.WriteString("\n]}\n")
	_, err := w.Write(out.Bytes())
	return err
}

// encode returns JSON in one line, with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// Replace returns the baseline with the cases of newer in place of its own, for a run of some test files or cases
// only. Other cases of these files stay if keeps reports that they still exist; nil: none.
func (b *Baseline) Replace(newer *Baseline, keeps func(file, id string) bool) *Baseline {
	all := &Baseline{Version: baselineVersion, Mode: newer.Mode, Suites: slices.Clone(newer.Suites)}
	for _, s := range b.Suites {
		at := slices.IndexFunc(all.Suites, func(n BaselineSuite) bool { return n.File == s.File })
		if at < 0 {
			all.Suites = append(all.Suites, s)
			continue
		}
		into := &all.Suites[at]
		into.Cases = slices.Clone(into.Cases)
		for _, c := range s.Cases {
			isNew := slices.ContainsFunc(into.Cases, func(n BaselineCase) bool { return n.ID == c.ID })
			if !isNew && keeps != nil && keeps(s.File, c.ID) {
				into.Cases = append(into.Cases, c)
			}
		}
	}
	all.sort()
	return all
}

// Without returns the baseline without the cases that leaves reports, such as those that a run of a few cases was not
// asked for.
func (b *Baseline) Without(leaves func(file, id string) bool) *Baseline {
	rest := &Baseline{Version: b.Version, Mode: b.Mode, Suites: slices.Clone(b.Suites)}
	for i := range rest.Suites {
		s := &rest.Suites[i]
		s.Cases = slices.DeleteFunc(slices.Clone(s.Cases), func(c BaselineCase) bool { return leaves(s.File, c.ID) })
	}
	return rest
}
