package stat

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Draws is how many permutations and resamples are drawn.
const Draws = 10_000

// exactClusters is up to how many clusters all sign flips are tried: 2^13 are fewer than [Draws].
const exactClusters = 13

// The seeds of the two random streams differ, for permutations and for resamples.
const (
	permutationStream = 1
	bootstrapStream   = 2
)

// McNemar returns the exact two-sided p-value of the case counts that changed one way and the other: the chance of
// a split at least as uneven if both ways are equally likely.
func McNemar(worse, better int) float64 {
	if worse+better == 0 {
		return 1
	}
	return min(1, 2*coinCDF(min(worse, better), worse+better))
}

// SignFlip returns the two-sided p-value of the differences of two runs: the chance of a mean at least as far from
// 0 if either run may as well have been the first. The differences of a cluster are flipped together. Up to 13
// clusters that differ it is exact; from there it comes from [Draws] random flips.
func SignFlip(clusters [][]float64, seed uint64) float64 {
	sums, size := make([]float64, 0, len(clusters)), 0.0
	observed := 0.0
	for _, values := range clusters {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		if sum != 0 { // flipping a 0 changes nothing
			sums = append(sums, sum)
			size += math.Abs(sum)
			observed += sum
		}
	}
	if len(sums) == 0 {
		return 1
	}
	// Sums of equal size may differ in their last bits.
	limit := math.Abs(observed) - 1e-12*size
	if len(sums) <= exactClusters {
		hits, all := 0, 1<<len(sums)
		for signs := range all {
			if math.Abs(flipSum(sums, []uint64{uint64(signs)})) >= limit {
				hits++
			}
		}
		return float64(hits) / float64(all)
	}
	random := rand.NewPCG(seed, permutationStream)
	signs := make([]uint64, (len(sums)+63)/64)
	hits := 0
	for range Draws {
		for i := range signs {
			signs[i] = random.Uint64()
		}
		if math.Abs(flipSum(sums, signs)) >= limit {
			hits++
		}
	}
	return float64(hits+1) / float64(Draws+1) // the observed order is one of them
}

// flipSum adds up sums; a sum with its bit set is subtracted.
func flipSum(sums []float64, signs []uint64) float64 {
	total := 0.0
	for i, sum := range sums {
		if signs[i/64]>>(i%64)&1 == 1 {
			sum = -sum
		}
		total += sum
	}
	return total
}

// Bootstrap returns the percentile interval of the mean of all values, from [Draws] resamples of the clusters. ok
// is false if there are fewer than two.
func Bootstrap(clusters [][]float64, seed uint64) (in Interval, ok bool) {
	clusters = slices.DeleteFunc(slices.Clone(clusters), func(values []float64) bool { return len(values) == 0 })
	if len(clusters) < 2 {
		return Interval{math.Inf(-1), math.Inf(1)}, false
	}
	sums := make([]float64, len(clusters))
	for i, values := range clusters {
		for _, v := range values {
			sums[i] += v
		}
	}
	random := rand.NewPCG(seed, bootstrapStream)
	means := make([]float64, Draws)
	for draw := range means {
		sum, n := 0.0, 0
		for range clusters {
			i, _ := bits.Mul64(random.Uint64(), uint64(len(clusters)))
			sum += sums[i]
			n += len(clusters[i])
		}
		means[draw] = sum / float64(n)
	}
	slices.Sort(means)
	tail := (1 - Confidence) / 2
	return Interval{quantile(means, tail), quantile(means, 1-tail)}, true
}

// quantile returns the quantile p of sorted values, interpolated between two of them.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Holm returns p-values, in their order, adjusted for how many there are: each is to be held against
// 1 - [Confidence] as if it were the only one.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	adjusted, highest := make([]float64, len(ps)), 0.0
	for i, at := range order {
		highest = max(highest, min(1, float64(len(ps)-i)*ps[at]))
		adjusted[at] = highest
	}
	return adjusted
}

// FewestChanges returns how many cases must change, all one way, before a comparison with that number of metrics
// can be significant: 6 with one.
func FewestChanges(metrics int) int {
	for n := 1; ; n++ {
		if math.Ldexp(2, -n)*float64(max(metrics, 1)) <= 1-Confidence {
			return n
		}
	}
}
