package stat

import "math"

// Estimate is a mean and how sure it is. [ClusteredMean] makes it.
type Estimate struct {
	Mean float64 `json:"mean"`
	// Error is the standard error; NaN if there is only one cluster.
	Error float64 `json:"-"`
	// Clusters is how many independent groups the values came from.
	Clusters int `json:"clusters"`
	// Interval is the interval of the mean, by Student's t with Clusters - 1 degrees of freedom; without bounds if
	// Error is NaN.
	Interval Interval `json:"-"`
}

// ClusteredMean returns the mean of all values of all clusters. The values of one cluster, the repeats of a case,
// may depend on each other; clusters may not. With one value in each it is the mean and standard error of every
// textbook. Empty clusters do not count; ok is false if nothing is left.
func ClusteredMean(clusters [][]float64) (e Estimate, ok bool) {
	sum, n := 0.0, 0
	for _, values := range clusters {
		if len(values) > 0 {
			e.Clusters++
		}
		for _, v := range values {
			sum += v
			n++
		}
	}
	if n == 0 {
		return Estimate{}, false
	}
	e.Mean = sum / float64(n)
	if e.Clusters < 2 {
		e.Error = math.NaN()
		e.Interval = Interval{math.Inf(-1), math.Inf(1)}
		return e, true
	}
	squares := 0.0
	for _, values := range clusters {
		residual := 0.0
		for _, v := range values {
			residual += v - e.Mean
		}
		squares += residual * residual
	}
	groups := float64(e.Clusters)
	e.Error = math.Sqrt(groups/(groups-1)*squares) / float64(n)
	half := studentQuantile((1+Confidence)/2, e.Clusters-1) * e.Error
	e.Interval = Interval{e.Mean - half, e.Mean + half}
	return e, true
}

// Visible returns the smallest true mean that is told from 0 with [Power], given the scatter of the values; NaN if
// that is not known.
func (e Estimate) Visible() float64 {
	if math.IsNaN(e.Error) {
		return math.NaN()
	}
	return (studentQuantile((1+Confidence)/2, e.Clusters-1) + studentQuantile(Power, e.Clusters-1)) * e.Error
}
