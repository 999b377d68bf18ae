package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// How the score of a memory is computed, from the first to the last step:
//
//   - rank.Search scores the words of the query (rank/scoreboard.go: BM25 of the memory,
//     its neighbours and its snapshots, times the boosts for speaker and time);
//   - rank/calibrate_score.go maps that score to a relevance of 0 to 1;
//   - with embeddings, fuse_rankings.go joins it with the nearness in meaning;
//   - scoreCandidates below boosts shared context, prefers the newer of near-duplicates,
//     puts the answers of facts first (answer_facts.go), keeps mere neighbours, hits that only a
//     snapshot matched, and matches of words like 去 below the cut, and drops hits that are below it
//     or, at the default cut, far from the best.

// scoreCandidates returns the candidates with their final relevances, best first, as many as
// the query wants.
func (q *Query) scoreCandidates(ix *rank.Index, a *rank.Analysis, r *ranking, list []candidate, answers *verdicts) []Scored {
	for i := range list {
		c := &list[i]
		c.hit.Score *= 1 + boostShared*float64(min(2, countSharedMembers(q.Other, c.memory.Context.Other)))
		c.doc = rank.Analyze(c.memory.Content, c.memory.Speaker())
		c.match = a.MatchMemory(&c.doc, c.memory.Content, c.memory.Timestamp.In(q.Now.Location()))
		c.byMeaning, c.onlyByMeaning = r.byMeaning[c.hit.Seq], r.onlyByMeaning[c.hit.Seq]
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.hit.Score, a.hit.Score) })
	preferNewest(list)
	var out []Scored
	for _, c := range list {
		s := Scored{Memory: c.memory, Relevance: r.relevance(c.hit.Score), Neighbour: c.hit.InWindow && !c.isFoundByItself() && !answers.isAnswer(c.hit.Seq)}
		if !c.isFoundByItself() {
			s.Relevance = capNeighbour(s.Relevance)
		}
		s.Relevance = roundRelevance(answers.relevance(c.hit.Seq, s.Relevance))
		s.Fact = answers.judgedOf(c.hit.Seq)
		isWanted := q.Neighbours && s.Neighbour && s.Relevance > neighbourCap-neighbourRange
		if q.isBelowCut(s.Relevance) && !isWanted {
			continue
		}
		s.Snapshots = slices.DeleteFunc(ix.ExtrasOf(c.hit.Seq), func(id string) bool { return !strings.HasPrefix(id, string(SnapshotID)) })
		s.Reason = q.explainHit(a, &c, s.Snapshots, answers)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Scored) int { return a.compare(&b) })
	answers.preferUpdate(out)
	out = q.dropFarFromBest(out)
	return out[:min(len(out), q.effectiveLimit())]
}

// At the default cut, the first keptAnyway memories are followed only by memories whose odds are at least
// 1/farFromBest of the best odds: beside a memory that is certainly right, one that is barely worth showing is
// noise.
const (
	keptAnyway  = 3
	farFromBest = 8
)

// dropFarFromBest drops the hits that are far from the best one. Neighbours, which are asked for, and answers of
// facts stay. If the cut is not the default one, nothing is dropped.
func (q *Query) dropFarFromBest(sorted []Scored) []Scored {
	if q.MinRelevance != DefaultMinRelevance || len(sorted) <= keptAnyway {
		return sorted
	}
	least := oddsOf(sorted[0].Relevance) / farFromBest
	kept := sorted[:keptAnyway:keptAnyway]
	for _, s := range sorted[keptAnyway:] {
		if s.Neighbour || s.Fact != nil || oddsOf(s.Relevance) >= least {
			kept = append(kept, s)
		}
	}
	return kept
}

// oddsOf returns the odds of a relevance, which is a probability: 1 for 0.5, 9 for 0.9.
func oddsOf(relevance float64) float64 { return relevance / max(1-relevance, 1e-6) }

// A neighbour that would be worth showing comes directly below the default cut.
const (
	neighbourCap   = DefaultMinRelevance
	neighbourRange = 0.02
)

// capNeighbour maps relevances above the cap into a range below it, in the same order.
func capNeighbour(relevance float64) float64 {
	if relevance <= neighbourCap {
		return min(relevance, neighbourCap-neighbourRange)
	}
	return neighbourCap - neighbourRange*(1-relevance)/(1-neighbourCap)
}

// roundRelevance keeps six digits, so that relevances that look equal are equal.
func roundRelevance(relevance float64) float64 { return math.Round(relevance*1e6) / 1e6 }

// boostShared is added to the score for each member that two other contexts share.
const boostShared = 0.05

// countSharedMembers counts the members that two other contexts have in common; equal
// texts count as one.
func countSharedMembers(a, b value.Value) (n int) {
	if a.IsNull() || b.IsNull() {
		return 0
	}
	if a.Kind() != value.Object {
		if value.Equal(a, b) {
			return 1
		}
		return 0
	}
	for key, v := range a.Map().All() {
		if other, ok := b.Get(key); ok && value.Equal(v, other) {
			n++
		}
	}
	return n
}

// Near-duplicates are memories among the best that share most of their words and score nearly the same.
const (
	duplicateAmong = 12
	duplicateWords = 4
	duplicateShare = 0.7
	duplicateScore = 0.75
)

// preferNewest scores the newer of two near-duplicates higher: the last statement counts.
func preferNewest(list []candidate) {
	for i := range min(len(list), duplicateAmong) {
		for j := i + 1; j < min(len(list), duplicateAmong); j++ {
			a, b := &list[i], &list[j]
			if b.memory.Timestamp.After(a.memory.Timestamp) && b.hit.Score >= duplicateScore*a.hit.Score && areNearDuplicates(a, b) {
				a.hit.Score, b.hit.Score = b.hit.Score, a.hit.Score
				*a, *b = *b, *a
			}
		}
	}
}

func areNearDuplicates(a, b *candidate) bool {
	if len(a.doc.Terms) < duplicateWords || len(b.doc.Terms) < duplicateWords || a.doc.Speaker != b.doc.Speaker {
		return false
	}
	both, i, j := 0, 0, 0
	for i < len(a.doc.Terms) && j < len(b.doc.Terms) {
		switch c := cmp.Compare(a.doc.Terms[i].Term, b.doc.Terms[j].Term); {
		case c == 0:
			both++
			i++
			j++
		case c < 0:
			i++
		default:
			j++
		}
	}
	return float64(both) >= duplicateShare*float64(len(a.doc.Terms)+len(b.doc.Terms)-both)
}
