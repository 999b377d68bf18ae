package memorytest

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls/memory"
)

// Embedder is a model of a few concepts: texts with words of the same one point the
// same way.
type Embedder struct {
	// Name is the name of the model.
	Name string
	// Fault may change the vectors of a request, or fail it; nil does neither.
	Fault func(ctx context.Context, texts []string, vectors [][]float32) ([][]float32, error)

	mu    sync.Mutex
	asked []string
}

var _ memory.Embedder = (*Embedder)(nil)

// concepts are words that mean nearly the same.
var concepts = [][]string{
	{"work", "nurse", "office"}, {"eat", "peanut", "allergic"}, {"drive", "volvo"}, {"wedding", "marry"},
	{"宠物", "猫"}, {"周末", "星期六"}, {"孩子", "女儿"}, {"喝", "茶"},
	{"bicycle", "two-wheeler", "cycling", "自行车", "单车"}, {"flat", "apartment", "landlord"}, {"ocean", "sea", "大海"},
}

// directions is the number of dimensions for texts that have nothing to do with the concepts.
const directions = 13

// Dimensions is how many numbers the vectors of an [Embedder] have.
var Dimensions = len(concepts) + directions

// Meaning returns the vector of a text.
func Meaning(text string) []float32 {
	v := make([]float32, Dimensions)
	for i, words := range concepts {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(text), w) }) {
			v[i] = 1
		}
	}
	h := fnv.New32()
	_, _ = h.Write([]byte(text)) // it is documented never to fail
	v[len(concepts)+int(h.Sum32()%directions)] = 0.3
	return v
}

// Model returns the name.
func (e *Embedder) Model() string { return e.Name }

// Embed returns the vectors of texts.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.asked = append(e.asked, texts...)
	e.mu.Unlock()
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = Meaning(text)
	}
	if e.Fault != nil {
		return e.Fault(ctx, texts, vectors)
	}
	return vectors, ctx.Err()
}

// Asked returns the texts that were embedded so far, repeated if they were tried again.
func (e *Embedder) Asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}
