package stat

import "gonum.org/v1/gonum/mathext"

// Verdict is the result of a case.
type Verdict int

// The verdicts. Open is a verdict that is not settled yet, or, after the last repeat, one that cannot be settled
// because of errors.
const (
	Open Verdict = iota
	Passed
	Failed
)

// Need is the rate that the repeats of a case must reach.
type Need struct {
	// Rate is the share that must pass, from 0 to 1.
	Rate float64
	// Sure asks that the lower end of the [Wilson] interval reaches Rate.
	Sure bool
}

// IsMetBy reports whether passed of n are enough.
func (need Need) IsMetBy(passed, n int) bool {
	if n == 0 {
		return false
	}
	if need.Sure {
		return Wilson(passed, n).Low >= need.Rate
	}
	return float64(passed)/float64(n) >= need.Rate
}

// Decide returns the verdict on a case with passed and failed repeats of the planned ones. The others, errors or
// not run yet, are not known: the verdict is settled as soon as they cannot change it, and no other repeat needs
// to run.
func Decide(passed, failed, planned int, need Need) Verdict {
	if need.IsMetBy(passed, planned) {
		return Passed
	}
	if !need.IsMetBy(planned-failed, planned) {
		return Failed
	}
	return Open
}

// FewestRepeats returns how many repeats, all passed, are needed to meet a need; 0 if no number is enough.
func FewestRepeats(need Need) int {
	if need.Rate >= 1 && need.Sure {
		return 0
	}
	n := 1
	if need.Sure { // the lower end for n of n is n / (n + z²); rounding may move it by one
		z := mathext.NormalQuantile((1 + Confidence) / 2)
		n = max(int(z*z*need.Rate/(1-need.Rate))-1, 1)
	}
	for !need.IsMetBy(n, n) {
		n++
	}
	return n
}
