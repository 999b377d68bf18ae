package compare

import (
	"slices"

	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// sample is one metric of all pairs.
type sample struct {
	name string
	// binary reports whether every value is 0 or 1.
	binary      bool
	was, is     []float64
	clusters    []string // of each pair: its cluster, else its id
	isClustered bool
}

// add adds a pair.
func (s *sample) add(p pair, was, is float64) {
	s.was, s.is = append(s.was, was), append(s.is, is)
	s.binary = s.binary && isBinary(was) && isBinary(is)
	cluster := p.after.Cluster
	if cluster == "" {
		cluster = "\x00" + p.file + "\x00" + p.after.ID // a group of its own
	} else {
		s.isClustered = true
	}
	s.clusters = append(s.clusters, cluster)
}

func isBinary(v float64) bool { return v == 0 || v == 1 }

// differences returns how much each pair differs, grouped by cluster, in the order in which they
// come.
func (s *sample) differences() (groups [][]float64) {
	index := map[string]int{}
	for i, cluster := range s.clusters {
		at, ok := index[cluster]
		if !ok {
			at = len(groups)
			index[cluster] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s.is[i]-s.was[i])
	}
	return groups
}

// compare returns how the metric differs.
func (s *sample) compare(exact bool, seed uint64) Metric {
	m := s.describe()
	if exact {
		m.Method = Exact
		m.Significant = m.Worse+m.Better > 0
		return m
	}
	groups := s.differences()
	m.estimate(groups, seed)
	m.Method = Permutation
	p := 0.0
	if s.binary && !s.isClustered {
		m.Method = McNemar
		p = stat.McNemar(m.Worse, m.Better)
	} else {
		p = stat.SignFlip(groups, seed)
	}
	m.P = &p
	return m
}

// describe returns the observed values, without a word on chance.
func (s *sample) describe() Metric {
	m := Metric{Name: s.name, Method: Estimated, Cases: len(s.was)}
	for i := range s.was {
		m.Before += s.was[i]
		m.After += s.is[i]
		if s.is[i] > s.was[i] {
			m.Better++
		}
		if s.is[i] < s.was[i] {
			m.Worse++
		}
	}
	n := float64(len(s.was))
	m.Before /= n
	m.After /= n
	m.Effect = m.After - m.Before
	return m
}

// estimate fills in how sure the effect is.
func (m *Metric) estimate(groups [][]float64, seed uint64) {
	if in, ok := stat.Bootstrap(groups, seed); ok {
		m.Interval = &in
	}
	e, ok := stat.ClusteredMean(groups)
	if visible := e.Visible(); ok && visible > 0 { // 0 and NaN prove nothing
		m.Visible = &visible
	}
}

// measures returns how tokens, cost and time differ, as far as both runs know them. A cost of nothing is left out: no case has
// asked a model, or no provider has a price.
func measures(pairs []pair, seed uint64) (all []Metric) {
	for _, measure := range []struct {
		name string
		of   func(*BaselineCase) *float64
	}{
		{ScoreMeasure, func(c *BaselineCase) *float64 { return c.Score }},
		{TokensMeasure, func(c *BaselineCase) *float64 { return c.Tokens }},
		{CostMeasure, func(c *BaselineCase) *float64 { return c.Cost }},
		{TimeMeasure, func(c *BaselineCase) *float64 { return c.MS }},
	} {
		s := sample{name: measure.name}
		for _, p := range pairs {
			was, is := measure.of(p.before), measure.of(p.after)
			if was != nil && is != nil {
				s.add(p, *was, *is)
			}
		}
		isNothing := measure.name == CostMeasure && !slices.ContainsFunc(slices.Concat(s.was, s.is), func(v float64) bool { return v > 0 })
		if len(s.was) == 0 || isNothing {
			continue
		}
		m := s.describe()
		m.estimate(s.differences(), seed)
		all = append(all, m)
	}
	return all
}

// pair is a case in both runs.
type pair struct {
	file          string
	before, after *BaselineCase
}
