// Package stat has the statistics of test runs: how sure a rate is ([Wilson]), how sure a mean is
// ([ClusteredMean]), when a verdict is settled ([Decide]), whether two runs differ ([McNemar], [SignFlip],
// [Bootstrap], [Holm]), how small a difference they could have shown ([FewestChanges], [Estimate.Visible]), and
// how far two people or models agree ([Kappa]). For example, 9 passes of 10 are a rate between 0.60 and 0.98 with
// 95 % confidence.
//
// All functions are pure: equal arguments give equal results on every machine. Random draws come from a seed.
package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Confidence is the confidence of all intervals, and 1 - Confidence the chance of a false alarm that a comparison
// may have.
const Confidence = 0.95

// Power is how often a difference of [Estimate.Visible] is found.
const Power = 0.8

// Interval is a range that covers the true value with [Confidence].
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Wilson returns Wilson's score interval of a rate, given that passed of n passed. For n = 0 it is the whole range
// from 0 to 1.
func Wilson(passed, n int) Interval {
	if n <= 0 {
		return Interval{0, 1}
	}
	z := mathext.NormalQuantile((1 + Confidence) / 2)
	size, rate := float64(n), float64(passed)/float64(n)
	shrink := 1 + z*z/size
	centre := (rate + z*z/(2*size)) / shrink
	half := z / shrink * math.Sqrt(rate*(1-rate)/size+z*z/(4*size*size))
	in := Interval{centre - half, centre + half}
	if passed == 0 { // exact at the ends: rounding would leave a trace there
		in.Low = 0
	}
	if passed == n {
		in.High = 1
	}
	return in
}

// PassAtK returns the chance that at least one of k tries passes, given that passed of n passed: the unbiased 1 -
// C(n-passed, k) / C(n, k). ok reports whether n is large enough.
func PassAtK(n, passed, k int) (chance float64, ok bool) {
	if !isSample(n, passed, k) {
		return 0, false
	}
	return 1 - chooseRatio(n-passed, n, k), true
}

// PassAllK returns the chance that all of k tries pass (pass^k), given that passed of n passed: the unbiased
// C(passed, k) / C(n, k). ok reports whether n is large enough.
func PassAllK(n, passed, k int) (chance float64, ok bool) {
	if !isSample(n, passed, k) {
		return 0, false
	}
	return chooseRatio(passed, n, k), true
}

func isSample(n, passed, k int) bool {
	return k >= 1 && k <= n && passed >= 0 && passed <= n
}

// chooseRatio returns C(part, k) / C(n, k), without either of them: both can be very large.
func chooseRatio(part, n, k int) float64 {
	ratio := 1.0
	for i := range k {
		if part-i <= 0 {
			return 0
		}
		ratio *= float64(part-i) / float64(n-i)
	}
	return ratio
}
