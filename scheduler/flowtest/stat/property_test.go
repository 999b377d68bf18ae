package stat_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

func drawClusters(t *rapid.T, least int) [][]float64 {
	value := rapid.Float64Range(-1, 1)
	return rapid.SliceOfN(rapid.SliceOfN(value, 1, 4), least, 18).Draw(t, "clusters")
}

func TestWilsonCoversItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		passed := rapid.IntRange(0, n).Draw(t, "passed")
		in, rate := stat.Wilson(passed, n), float64(passed)/float64(n)
		if in.Low < 0 || in.High > 1 || in.Low > rate+1e-12 || in.High < rate-1e-12 {
			t.Fatalf("%d of %d: %+v", passed, n, in)
		}
		mirror := stat.Wilson(n-passed, n)
		if math.Abs(in.Low-(1-mirror.High)) > 1e-12 {
			t.Fatalf("fails are not the mirror of passes: %+v, %+v", in, mirror)
		}
		if more := stat.Wilson(2*passed, 2*n); more.High-more.Low >= in.High-in.Low {
			t.Fatalf("twice as many are no surer: %+v, %+v", in, more)
		}
	})
	if got := stat.Wilson(0, 0); got != (stat.Interval{Low: 0, High: 1}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// Whatever the rest turns out to be, it gives the verdict that was settled before; and a verdict
// that is open could still have become either.
func TestDecideIsFinal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		planned := rapid.IntRange(1, 40).Draw(t, "planned")
		passed := rapid.IntRange(0, planned).Draw(t, "passed")
		failed := rapid.IntRange(0, planned-passed).Draw(t, "failed")
		need := stat.Need{Rate: float64(rapid.IntRange(0, 20).Draw(t, "rate")) / 20, Sure: rapid.Bool().Draw(t, "sure")}
		var ends []stat.Verdict
		for more := range planned - passed - failed + 1 {
			ends = append(ends, stat.Decide(passed+more, planned-passed-more, planned, need))
		}
		if slices.Contains(ends, stat.Open) {
			t.Fatalf("open with all repeats known: %v", ends)
		}
		same := !slices.ContainsFunc(ends, func(v stat.Verdict) bool { return v != ends[0] })
		got := stat.Decide(passed, failed, planned, need)
		if same && got != ends[0] || !same && got != stat.Open {
			t.Fatalf("%v, but the ends are %v", got, ends)
		}
	})
}

func TestNeeds(t *testing.T) {
	if got := stat.FewestRepeats(stat.Need{Rate: 0.8, Sure: true}); got != 16 {
		t.Errorf("a sure rate of 0.8 needs %d of as many, not 16", got)
	}
	if got := stat.FewestRepeats(stat.Need{Rate: 1, Sure: true}); got != 0 {
		t.Errorf("no number makes sure of 1: %d", got)
	}
	if got := stat.FewestRepeats(stat.Need{Rate: 1}); got != 1 {
		t.Errorf("rate 1 needs %d", got)
	}
	for tenths := range 11 { // no rate is lost to rounding
		if !(stat.Need{Rate: float64(tenths) / 10}).IsMetBy(tenths, 10) {
			t.Errorf("%d of 10 do not meet the rate 0.%d", tenths, tenths)
		}
	}
	for metrics, want := range map[int]int{0: 6, 1: 6, 2: 7, 3: 7, 10: 9} {
		if got := stat.FewestChanges(metrics); got != want {
			t.Errorf("%d metrics: %d changes, not %d", metrics, got, want)
		}
	}
	if stat.McNemar(6, 0) > 0.05 || stat.McNemar(5, 0) <= 0.05 {
		t.Error("6 changes one way are the fewest that can be significant")
	}
}

func TestPassAtKAndAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		passed, k := rapid.IntRange(0, n).Draw(t, "passed"), rapid.IntRange(1, n).Draw(t, "k")
		at, _ := stat.PassAtK(n, passed, k)
		every, _ := stat.PassAllK(n, passed, k)
		fails, _ := stat.PassAllK(n, n-passed, k)
		if every > at+1e-12 || math.Abs(at-(1-fails)) > 1e-12 {
			t.Fatalf("at %v, all %v, all fail %v", at, every, fails)
		}
	})
	for _, bad := range [][3]int{{3, 1, 4}, {3, 1, 0}, {3, 4, 1}, {0, 0, 1}} {
		if _, ok := stat.PassAtK(bad[0], bad[1], bad[2]); ok {
			t.Errorf("%v is no sample", bad)
		}
	}
}

func TestMeanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := drawClusters(t, 2)
		e, ok := stat.ClusteredMean(clusters)
		if !ok || e.Error < 0 || e.Interval.Low > e.Mean || e.Interval.High < e.Mean {
			t.Fatalf("%+v", e)
		}
		// Repeating every value of a case says nothing new of the cases.
		var twice [][]float64
		for _, values := range clusters {
			twice = append(twice, slices.Concat(values, values))
		}
		again, _ := stat.ClusteredMean(twice)
		if math.Abs(again.Error-e.Error) > 1e-12 || math.Abs(again.Mean-e.Mean) > 1e-12 {
			t.Fatalf("doubled repeats look like twice as many cases: %+v, %+v", e, again)
		}
	})
	if _, ok := stat.ClusteredMean([][]float64{{}, nil}); ok {
		t.Error("there is a mean of nothing")
	}
	one, ok := stat.ClusteredMean([][]float64{{1, 0, 1}})
	if !ok || !math.IsNaN(one.Error) || !math.IsInf(one.Interval.High, 1) || !math.IsNaN(one.Visible()) {
		t.Errorf("one cluster is no sample: %+v", one)
	}
}

func TestPairedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := drawClusters(t, 2)
		p := stat.SignFlip(clusters, 7)
		if p <= 0 || p > 1 || p != stat.SignFlip(clusters, 7) {
			t.Fatalf("p = %v", p)
		}
		var mirrored [][]float64
		for _, values := range clusters {
			turned := make([]float64, len(values))
			for i, v := range values {
				turned[i] = -v
			}
			mirrored = append(mirrored, turned)
		}
		if other := stat.SignFlip(mirrored, 7); other != p {
			t.Fatalf("the other way round it is %v, not %v", other, p)
		}
		worse, better := rapid.IntRange(0, 80).Draw(t, "worse"), rapid.IntRange(0, 80).Draw(t, "better")
		if m := stat.McNemar(worse, better); m <= 0 || m > 1 || m != stat.McNemar(better, worse) {
			t.Fatalf("McNemar %v", m)
		}
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 9).Draw(t, "ps")
		for i, q := range stat.Holm(ps) {
			if q < ps[i] || q > 1 {
				t.Fatalf("Holm made %v of %v", q, ps[i])
			}
		}
	})
	if got := stat.Holm(nil); len(got) != 0 {
		t.Errorf("Holm of nothing: %v", got)
	}
}

func TestBootstrapCoversTheMean(t *testing.T) {
	clusters := [][]float64{{0.1}, {0.2, 0.4}, {0}, {-0.1}, {0.3}}
	in, ok := stat.Bootstrap(clusters, 1)
	mean, _ := stat.ClusteredMean(clusters)
	if !ok || in.Low >= mean.Mean || in.High <= mean.Mean {
		t.Errorf("%+v does not cover %v", in, mean.Mean)
	}
	if again, _ := stat.Bootstrap(clusters, 1); again != in {
		t.Errorf("one seed, two intervals: %+v, %+v", in, again)
	}
	if _, ok := stat.Bootstrap([][]float64{{1, 2}, {}}, 1); ok {
		t.Error("one cluster is no sample")
	}
	if none := stat.Kappa([]bool{}, nil); none.Items != 0 || none.Defined {
		t.Errorf("agreement over nothing: %+v", none)
	}
}
