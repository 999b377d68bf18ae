package memory

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/memory/vector"
)

// How the list by words and the list by meaning become one: reciprocal rank fusion of
// the best of both.
const (
	fuseBest      = 200
	fuseK         = 60
	weightWords   = 0.6
	weightMeaning = 0.4
)

// The scale of a model's cosines goes from 0, for texts unrelated to a question, to 1, for answers.
const (
	// halfMeaning is the point from which a memory is worth showing: among many memories some unrelated ones come
	// near.
	halfMeaning  = 0.65
	steepMeaning = 8
	// minSpan is the minimum distance of the two for the model's cosines to mean anything.
	minSpan = 0.02
)

// relevanceOf returns the meaning of a cosine, 0 to 1.
func (m *Model) relevanceOf(cosine float64) float64 {
	span := m.Related - m.Unrelated
	if !(span >= minSpan) {
		return 0
	}
	return 1 / (1 + math.Exp(-steepMeaning*((cosine-m.Unrelated)/span-halfMeaning)))
}

// ranking is hits, best first, and the meaning of their scores.
type ranking struct {
	hits      []rank.Hit
	relevance func(score float64) float64
	// byMeaning are the hits whose meaning alone makes them worth showing, onlyByMeaning the ones that no word
	// found.
	byMeaning, onlyByMeaning map[uint32]bool
}

// nearestMemories returns the memories whose vectors are nearest to the query's.
func (q *Query) nearestMemories(ctx context.Context, shelf UserIndex, keep func(uint32, rank.Entry) bool) ([]vector.Near, error) {
	ix := shelf.Index()
	best, probe := vector.NewNearest(fuseBest), vector.NewProbe(q.Vector.Values)
	err := shelf.Vectors(ctx, q.Vector.Model.Name, func(seq uint32, packed []byte) {
		if int(seq) >= ix.Len() {
			return // saved after the index was read
		}
		e := ix.Entry(seq)
		if e.Deleted {
			return
		}
		if keep != nil && !keep(seq, e) {
			return
		}
		if cosine, ok := probe.Cosine(packed); ok {
			best.Add(vector.Near{Seq: seq, Cosine: cosine})
		}
	})
	return best.Sorted(), err
}

// fused is a memory in one or both lists.
type fused struct {
	hit rank.Hit
	// share is its reciprocal rank score, relevance the better of its relevances by words
	// and by meaning.
	share, relevance float64
}

// fuseRankings makes one list of the hits by words and of the nearest.
//
// The order of reciprocal ranks does not say how much a memory matters: even among bad hits one is first. So the
// hits that are worth showing by their words or by their meaning come before all others, and within both groups
// the ranks decide. The relevances are handed out in that order: the number of hits above a cut stays the same.
func fuseRankings(words *rank.Result, near []vector.Near, m *Model) *ranking {
	r := &ranking{relevance: relevanceOfScore, byMeaning: map[uint32]bool{}, onlyByMeaning: map[uint32]bool{}}
	bySeq := map[uint32]*fused{}
	all := make([]*fused, 0, len(words.Hits)+len(near))
	of := func(h rank.Hit) *fused {
		f := bySeq[h.Seq]
		if f == nil {
			f = &fused{hit: h}
			bySeq[h.Seq] = f
			all = append(all, f)
		}
		return f
	}
	for i, h := range words.Hits {
		f := of(h)
		f.share, f.relevance = weightWords/float64(fuseK+i+1), words.Relevance(h.Score)
	}
	for i, x := range near {
		f := of(rank.Hit{Seq: x.Seq})
		f.share += weightMeaning / float64(fuseK+i+1)
		meaning := m.relevanceOf(x.Cosine)
		f.relevance = max(f.relevance, meaning)
		r.byMeaning[x.Seq], r.onlyByMeaning[x.Seq] = meaning > DefaultMinRelevance, f.hit.Score == 0
	}
	slices.SortFunc(all, func(a, b *fused) int {
		if x, y := a.relevance > DefaultMinRelevance, b.relevance > DefaultMinRelevance; x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.hit.Seq, a.hit.Seq))
	})
	relevances := make([]float64, len(all))
	for i, f := range all {
		relevances[i] = f.relevance
	}
	slices.SortFunc(relevances, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, f := range all {
		if i > 0 { // hits that the ranks put in order do not get equal scores
			relevances[i] = max(0, min(relevances[i], relevances[i-1]-2e-6))
		}
		f.hit.Score = scoreOfRelevance(relevances[i])
		r.hits = append(r.hits, f.hit)
	}
	return r
}

// oddsPower makes the scores of a fused list as steep as in a search by words, so that a boost changes the
// relevance alike.
const oddsPower = 4

func scoreOfRelevance(relevance float64) float64 {
	relevance = min(relevance, 1-1e-9)
	return math.Pow(relevance/(1-relevance), 1.0/oddsPower)
}

func relevanceOfScore(score float64) float64 {
	x := math.Pow(score, oddsPower)
	return x / (1 + x)
}
