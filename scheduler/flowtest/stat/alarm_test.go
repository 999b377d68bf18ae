package stat_test

import (
	"math/rand/v2"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/stat"
	"github.com/callnode/scheduler/test/slow"
)

// comparisons is how many pairs of equal runs are compared.
const comparisons = 1000

// passes returns the share of repeats that pass by chance.
func passes(random *rand.Rand, chance float64, repeats int) float64 {
	n := 0
	for range repeats {
		if random.Float64() < chance {
			n++
		}
	}
	return float64(n) / float64(repeats)
}

// Two runs of one flow differ by chance only. A difference found in them is a false alarm: at most one in twenty.
func TestEqualRunsRaiseFewAlarms(t *testing.T) {
	slow.Test(t)
	for _, suite := range []struct{ cases, repeats, metrics int }{{40, 1, 1}, {12, 5, 1}, {20, 10, 1}, {10, 3, 4}} {
		random := rand.New(rand.NewPCG(5, uint64(suite.cases)))
		alarms := 0
		for range comparisons {
			ps := make([]float64, suite.metrics)
			for m := range ps {
				var diffs [][]float64
				worse, better := 0, 0
				for range suite.cases {
					chance := random.Float64() // cases are more and less hard
					diff := passes(random, chance, suite.repeats) - passes(random, chance, suite.repeats)
					diffs = append(diffs, []float64{diff})
					if diff < 0 {
						worse++
					}
					if diff > 0 {
						better++
					}
				}
				if suite.repeats == 1 {
					ps[m] = stat.McNemar(worse, better)
				} else {
					ps[m] = stat.SignFlip(diffs, random.Uint64())
				}
			}
			for _, p := range stat.Holm(ps) {
				if p <= 1-stat.Confidence {
					alarms++
					break
				}
			}
		}
		if share := float64(alarms) / comparisons; share > 0.05 {
			t.Errorf("%+v: %.1f %% of equal runs look different", suite, 100*share)
		} else if alarms == 0 {
			t.Errorf("%+v: none of %d equal runs looks different: the test sees nothing", suite, comparisons)
		}
	}
}

// A difference that is as large as the estimate says can be seen is found about as often as it says.
func TestVisibleDifferencesAreFound(t *testing.T) {
	slow.Test(t)
	random := rand.New(rand.NewPCG(8, 8))
	found := 0
	for range comparisons {
		var diffs [][]float64
		for range 25 {
			diffs = append(diffs, []float64{random.NormFloat64()})
		}
		e, _ := stat.ClusteredMean(diffs)
		for i := range diffs {
			diffs[i][0] += e.Visible() // a sample with the true mean 0
		}
		moved, _ := stat.ClusteredMean(diffs)
		if moved.Interval.Low > 0 {
			found++
		}
	}
	if share := float64(found) / comparisons; share < 0.75 || share > 0.85 {
		t.Errorf("found in %.1f %%, not about %.0f %%", 100*share, 100*stat.Power)
	}
}
