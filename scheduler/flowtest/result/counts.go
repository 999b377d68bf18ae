package result

import (
	"slices"

	"github.com/callnode/scheduler/llm"
)

// Counts are how many cases ended in which way.
type Counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Errors  int `json:"errors"`
	Skipped int `json:"skipped"`
	// Unchecked are those among the passed in which no check counted.
	Unchecked int `json:"unchecked,omitempty"`
	// Tolerated are those among the passed in which a check that counts failed, and a threshold or a rate let that pass.
	Tolerated int `json:"tolerated,omitempty"`
}

// IsAllSkipped reports whether there are cases and none of them ran: nothing was tested.
func (c Counts) IsAllSkipped() bool { return c.Skipped > 0 && c.Skipped == c.Total() }

// Total returns how many cases there are.
func (c Counts) Total() int { return c.Passed + c.Failed + c.Errors + c.Skipped }

// add counts a case.
func (c *Counts) add(of *Case) {
	if of.IsUnchecked() {
		c.Unchecked++
	}
	if len(of.Tolerated()) > 0 {
		c.Tolerated++
	}
	switch of.Outcome {
	case Pass:
		c.Passed++
	case Fail:
		c.Failed++
	case Skip:
		c.Skipped++
	default: // a case without a verdict could not be decided
		c.Errors++
	}
}

// Counts returns how many cases of the suite ended in which way.
func (s *Suite) Counts() (counts Counts) {
	for _, c := range s.Cases {
		counts.add(c)
	}
	return counts
}

// Counts returns how many cases of the run ended in which way.
func (r *Run) Counts() (counts Counts) {
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			counts.add(c)
		}
	}
	return counts
}

// Usage returns the usage of models by all repeats: of answers to flows and to checks, and of embeddings.
func (r *Run) Usage() (answers, embeddings llm.Usage) {
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			one, embedded := c.Usage()
			answers.Add(one)
			embeddings.Add(embedded)
		}
	}
	return answers, embeddings
}

// Usage returns the usage of the case's repeats, like [Run.Usage].
func (c *Case) Usage() (answers, embeddings llm.Usage) {
	for i := range c.Repeats {
		r := &c.Repeats[i]
		answers.Add(r.Usage)
		answers.Add(r.JudgeUsage)
		embeddings.Add(r.EmbeddingUsage)
	}
	return answers, embeddings
}

// Passed returns how many repeats passed, and how many were decided: errors count in neither.
func (c *Case) Passed() (passed, decided int) {
	for _, r := range c.Repeats {
		switch r.Outcome {
		case Pass:
			passed++
			decided++
		case Fail:
			decided++
		default: // not decided
		}
	}
	return passed, decided
}

// Observed is [Case.Passed] for statistics: repeats with the same answers are one observation, if they agree.
func (c *Case) Observed() (passed, decided int) {
	passed, decided = c.Passed()
	if c.Scripted && decided > 1 && (passed == 0 || passed == decided) {
		return passed / decided, 1
	}
	return passed, decided
}

// Tolerated returns the names of the checks that count and failed in a case that passed all the same, each once.
func (c *Case) Tolerated() (names []string) {
	if c.Outcome != Pass {
		return nil
	}
	for i := range c.Repeats {
		for _, check := range c.Repeats[i].Checks {
			if check.Outcome == Fail && check.Weight > 0 && !slices.Contains(names, check.Name) {
				names = append(names, check.Name)
			}
		}
	}
	return names
}

// IsUnchecked reports whether the case passed without a check that counts: it has none, or none was asked, or all have the
// weight 0.
func (c *Case) IsUnchecked() bool {
	if c.Outcome != Pass {
		return false
	}
	for i := range c.Repeats {
		if slices.ContainsFunc(c.Repeats[i].Checks, func(check Check) bool { return check.Weight > 0 }) {
			return false
		}
	}
	return true
}

// IsWeightless reports whether the case has a check that was asked, and none that counts.
func (c *Case) IsWeightless() bool {
	return c.IsUnchecked() && slices.ContainsFunc(c.Repeats, func(r Repeat) bool {
		return slices.ContainsFunc(r.Checks, func(check Check) bool { return check.Outcome != Skip })
	})
}

// Curtailed reports whether repeats were left out because none could change the verdict, and not because a limit or
// the user stopped the case.
// The rate of such a case is not an estimate: it must not be pooled with others.
func (c *Case) Curtailed() bool {
	isStopped := c.Problem != nil && c.Problem.Kind != KindUnused
	return len(c.Repeats) < c.Planned && !isStopped
}

// ScoreOf returns the score of a check: its own, else 1 for a pass and 0 for a fail. An error has
// none.
func (c *Check) ScoreOf() (score float64, ok bool) {
	switch {
	case c.Outcome == Error:
		return 0, false
	case c.Score != nil:
		return *c.Score, true
	case c.Outcome == Pass:
		return 1, true
	}
	return 0, true
}

// MeanScore returns the mean of the scores of checks by their weights; nil if none has a score that counts.
func MeanScore(checks []Check) *float64 {
	sum, weights := 0.0, 0.0
	for i := range checks {
		score, ok := checks[i].ScoreOf()
		if !ok {
			continue
		}
		sum += checks[i].Weight * score
		weights += checks[i].Weight
	}
	if weights == 0 {
		return nil
	}
	mean := sum / weights
	return &mean
}
