// Package vector packs the vectors of texts into bytes and finds vectors that point the same way, for example of
// "bike" and "cycling". Stores keep the bytes and share the comparison.
package vector

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/callnode/scheduler/llm/value/wording"
)

// MaxDimensions bounds the numbers of a vector; models give 256 to 4096.
const MaxDimensions = 1 << 14

// prefix is the bytes before the numbers: the length of the packed vector.
const prefix = 4

// Check returns an error for a vector that is empty, too long, without a direction, or
// has something that is not a number.
func Check(v []float32) error {
	if len(v) == 0 || len(v) > MaxDimensions {
		return wording.Errorf("a vector has %d numbers, want 1 to %d", len(v), MaxDimensions)
	}
	sum := 0.0
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return wording.Errorf("the number %d of a vector is %v", i, x)
		}
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return wording.Errorf("a vector has no direction: all its numbers are 0")
	}
	return nil
}

// Pack makes one byte of each number, for only the direction counts: 127 is the
// largest. v has passed [Check].
func Pack(v []float32) []byte {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
	}
	b := make([]byte, prefix, prefix+len(v))
	sum := 0.0
	for _, x := range v {
		n := math.Round(float64(x) / largest * math.MaxInt8)
		sum += n * n
		b = append(b, byte(int8(n)))
	}
	binary.LittleEndian.PutUint32(b, math.Float32bits(float32(math.Sqrt(sum))))
	return b
}

// Probe is a vector that others are compared with.
type Probe []float32

// NewProbe makes a probe of a vector that has passed [Check].
func NewProbe(v []float32) Probe {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	p, length := make(Probe, len(v)), math.Sqrt(sum)
	for i, x := range v {
		p[i] = float32(float64(x) / length)
	}
	return p
}

// Cosine compares a packed vector: 1 points the same way, 0 across. ok is false for
// one of another length, and for damaged ones.
func (p Probe) Cosine(packed []byte) (cosine float64, ok bool) {
	if len(packed) != prefix+len(p) {
		return 0, false
	}
	length := float64(math.Float32frombits(binary.LittleEndian.Uint32(packed)))
	packed = packed[prefix:]
	// Four sums at once do not wait for each other.
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(packed); i += 4 {
		v, w := packed[i:i+4:i+4], p[i:i+4:i+4]
		a += float32(int8(v[0])) * w[0]
		b += float32(int8(v[1])) * w[1]
		c += float32(int8(v[2])) * w[2]
		d += float32(int8(v[3])) * w[3]
	}
	for ; i < len(packed); i++ {
		a += float32(int8(packed[i])) * p[i]
	}
	cosine = float64(a+b+c+d) / length
	return cosine, math.Abs(cosine) < 1.5 // not so: it is damaged
}

// Near is a memory and how near the probe it is.
type Near struct {
	Seq    uint32
	Cosine float64
}

// Nearest keeps a number of the nearest, in whatever order they come. [NewNearest] makes one
// for one search; it is not safe for concurrent use.
type Nearest struct {
	limit int
	list  []Near
	bar   *Near // the memories that are farther are not among them
}

// NewNearest returns one that keeps limit of them, at least 1.
func NewNearest(limit int) *Nearest { return &Nearest{limit: limit} }

func compareNear(a, b Near) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(b.Seq, a.Seq))
}

// Add offers one.
func (n *Nearest) Add(x Near) {
	if n.bar != nil && compareNear(x, *n.bar) > 0 {
		return
	}
	n.list = append(n.list, x)
	if len(n.list) >= 2*n.limit+64 {
		n.Sorted()
	}
}

// Sorted returns the nearest, the nearest first; of equal ones the later saved.
func (n *Nearest) Sorted() []Near {
	slices.SortFunc(n.list, compareNear)
	if len(n.list) >= n.limit {
		n.list = n.list[:n.limit]
		bar := n.list[n.limit-1]
		n.bar = &bar
	}
	return n.list
}
