package stat_test

import (
	_ "embed"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// The vectors were worked out once by testdata/vectors.py, in rational arithmetic where a result is
// rational and with 50 digits where it is not.
//
//go:embed testdata/vectors.json
var vectorsJSON []byte

// tolerance is how near a result must be to its vector.
const tolerance = 1e-9

type vectors struct {
	Wilson []struct {
		Passed, N int
		Want      [2]float64
	}
	PassK []struct {
		N, Passed, K int
		At, All      float64
	} `json:"pass_k"`
	McNemar []struct {
		Worse, Better int
		Want          float64
	}
	Mean []struct {
		Clusters                        [][]float64
		Mean, Error, Low, High, Visible float64
	}
	SignFlip []struct {
		Clusters [][]float64
		Seed     uint64
		Want     float64
	} `json:"sign_flip"`
	Bootstrap []struct {
		Clusters [][]float64
		Seed     uint64
		Want     [2]float64
	}
	Holm  []struct{ PS, Want []float64 }
	Kappa []struct {
		First, Second string
		Share, Kappa  float64
		Defined       bool
	}
}

// checker counts the vectors that were held against results.
type checker struct {
	*testing.T
	vectors int
}

// near checks the results of one vector.
func (c *checker) near(name string, index int, got, want []float64) {
	c.Helper()
	c.vectors++
	if len(got) != len(want) {
		c.Fatalf("%s %d: %v instead of %v", name, index, got, want)
	}
	for i := range got {
		if math.IsNaN(got[i]) || math.Abs(got[i]-want[i]) > tolerance*max(1, math.Abs(want[i])) {
			c.Errorf("%s %d: %v instead of %v", name, index, got, want)
			return
		}
	}
}

func TestVectors(t *testing.T) {
	var all vectors
	if err := json.Unmarshal(vectorsJSON, &all); err != nil {
		t.Fatal(err)
	}
	c := &checker{T: t}
	for i, v := range all.Wilson {
		got := stat.Wilson(v.Passed, v.N)
		c.near("wilson", i, []float64{got.Low, got.High}, v.Want[:])
	}
	for i, v := range all.PassK {
		at, okAt := stat.PassAtK(v.N, v.Passed, v.K)
		every, okAll := stat.PassAllK(v.N, v.Passed, v.K)
		if !okAt || !okAll {
			t.Errorf("pass_k %d is known", i)
		}
		c.near("pass_k", i, []float64{at, every}, []float64{v.At, v.All})
	}
	for i, v := range all.McNemar {
		c.near("mcnemar", i, []float64{stat.McNemar(v.Worse, v.Better)}, []float64{v.Want})
	}
	for i, v := range all.Mean {
		got, ok := stat.ClusteredMean(v.Clusters)
		if !ok {
			t.Errorf("mean %d is known", i)
		}
		c.near("mean", i, []float64{got.Mean, got.Error, got.Interval.Low, got.Interval.High, got.Visible()}, []float64{v.Mean, v.Error, v.Low, v.High, v.Visible})
	}
	for i, v := range all.SignFlip {
		c.near("sign_flip", i, []float64{stat.SignFlip(v.Clusters, v.Seed)}, []float64{v.Want})
	}
	for i, v := range all.Bootstrap {
		got, ok := stat.Bootstrap(v.Clusters, v.Seed)
		if !ok {
			t.Errorf("bootstrap %d is known", i)
		}
		c.near("bootstrap", i, []float64{got.Low, got.High}, v.Want[:])
	}
	for i, v := range all.Holm {
		c.near("holm", i, stat.Holm(v.PS), v.Want)
	}
	for i, v := range all.Kappa {
		got := stat.Kappa(strings.Split(v.First, ""), strings.Split(v.Second, ""))
		if got.Defined != v.Defined || got.Items != len(v.First) {
			t.Errorf("kappa %d: %+v", i, got)
		}
		c.near("kappa", i, []float64{got.Share, got.Kappa}, []float64{v.Share, v.Kappa})
	}
	if c.vectors < 200 {
		t.Errorf("only %d vectors were checked", c.vectors)
	}
}
