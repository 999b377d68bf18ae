package vector

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, v := range map[string][]float32{
		"nothing": {}, "no number": {1, nan}, "no end": {inf, 1}, "no direction": {0, 0}, "too many": make([]float32, MaxDimensions+1),
	} {
		if Check(v) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := Check([]float32{0, math.MaxFloat32}); err != nil {
		t.Error(err)
	}
}

// TestCosine: packing costs little, and neither the length of a vector nor its number
// of dimensions matters.
func TestCosine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		number := rapid.Float32Range(-1, 1)
		a, b := rapid.SliceOfN(number, n, n).Draw(t, "a"), rapid.SliceOfN(number, n, n).Draw(t, "b")
		a[0], b[n-1] = 1, 1
		var dot, aa, bb float64
		for i := range a {
			dot, aa, bb = dot+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
		}
		scale := rapid.Float32Range(1e-6, 1e6).Draw(t, "scale")
		for i := range b {
			b[i] *= scale
		}
		got, ok := NewProbe(a).Cosine(Pack(b))
		if want := dot / math.Sqrt(aa*bb); !ok || math.Abs(got-want) > 0.02 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Near {
			return Near{uint32(rapid.IntRange(0, 1000).Draw(t, "seq")), float64(rapid.IntRange(0, 20).Draw(t, "cosine"))}
		})).Draw(t, "list")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		best := NewNearest(limit)
		for _, x := range list {
			best.Add(x)
		}
		want := slices.SortedFunc(slices.Values(list), compareNear)
		if diff := cmp.Diff(want[:min(len(want), limit)], best.Sorted(), cmp.Transformer("empty", func(l []Near) []Near { return append([]Near{}, l...) })); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzCosine: damaged vectors are refused, and never more than a number.
func FuzzCosine(f *testing.F) {
	f.Add(Pack([]float32{1, 2, 3, 4, 5}))
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3, 4, 5})
	f.Add([]byte{0, 0, 0xc0, 0x7f, 1, 2, 3, 4, 5})
	probe := NewProbe([]float32{1, 1, 0, 0, -1})
	f.Fuzz(func(t *testing.T, packed []byte) {
		if cosine, ok := probe.Cosine(packed); ok && math.IsNaN(cosine) {
			t.Errorf("%v", cosine)
		}
	})
}
