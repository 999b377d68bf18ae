package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// gonum has both of these in its package distuv, which links all of its linear algebra, 2 MB.

// studentQuantile returns the quantile p, above 0.5, of Student's t distribution: the inverse of
// F(t) = 1 - I(f/(f+t²); f/2, 1/2) / 2 for f degrees of freedom (Abramowitz and Stegun, 26.7.1).
func studentQuantile(p float64, freedom int) float64 {
	f := float64(freedom)
	return math.Sqrt(f/mathext.InvRegIncBeta(f/2, 0.5, 2*(1-p)) - f)
}

// coinCDF returns the chance of at most k heads, k < n, in n throws of a fair coin (Abramowitz and Stegun, 26.5.24).
func coinCDF(k, n int) float64 {
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5)
}
