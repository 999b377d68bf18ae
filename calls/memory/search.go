package memory

import (
	"context"
	"math"
	"slices"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// extraCandidates is the number of memories beyond the limit that are examined, because
// their order may still change.
const extraCandidates = 20

// SearchUser searches one user's memories. Stores call it for each user of a query.
func SearchUser(ctx context.Context, index UserIndex, q *Query) ([]Scored, error) {
	answers, err := q.askFacts(ctx, index)
	if err != nil {
		return nil, err
	}
	for limit := q.effectiveLimit() + extraCandidates; ; limit *= 8 {
		found, complete, err := q.searchHits(ctx, index, limit, answers)
		if err != nil || complete || len(found) >= q.effectiveLimit() {
			return found, err
		}
	}
}

// searchHits searches with the best hits, at most limit of them. complete reports whether
// more hits would not add to the result; they may if many have the same text.
func (q *Query) searchHits(ctx context.Context, index UserIndex, limit int, answers *verdicts) (found []Scored, complete bool, err error) {
	ix := index.Index()
	session := index.SessionNumber(q.Session)
	rq := &rank.Query{Text: q.Text, Earlier: q.Earlier, Now: q.Now, Session: session, Keep: q.entryFilter(session), SpokenOf: findSpokenOf(index), Limit: limit}
	if q.Vector != nil {
		rq.Limit = max(rq.Limit, fuseBest)
	}
	result, err := rank.Search(ctx, ix, index, rq)
	if err != nil {
		return nil, false, err
	}
	complete = len(result.Hits) < rq.Limit
	r := &ranking{hits: result.Hits, relevance: result.Relevance}
	if q.Vector != nil {
		near, err := q.nearestMemories(ctx, index, rq.Keep)
		if err != nil {
			return nil, false, err
		}
		r = fuseRankings(result, near, &q.Vector.Model)
	}
	answers.putFirst(r)
	complete = q.dropUnwanted(r, answers) || complete
	list, err := q.loadDistinct(ctx, index, r)
	if err != nil {
		return nil, false, err
	}
	return q.scoreCandidates(ix, &result.Analysis, r, list, answers), complete, nil
}

// dropUnwanted drops the hits that are below the cut, whatever reorders them, and reports
// whether there were any.
func (q *Query) dropUnwanted(r *ranking, answers *verdicts) (dropped bool) {
	if !q.Other.IsNull() {
		return false
	}
	n := len(r.hits)
	for n > 0 && !answers.isAnswer(r.hits[n-1].Seq) && q.isBelowCut(roundRelevance(r.relevance(r.hits[n-1].Score))) {
		n--
	}
	dropped = n < len(r.hits)
	r.hits = r.hits[:n]
	return dropped
}

// loadDistinct loads the best hits, as many as may be in the result. Memories with the same
// words by the same speaker are one: if the query names a time, the memory that fits it best, and the newest with the
// best score otherwise.
func (q *Query) loadDistinct(ctx context.Context, index UserIndex, r *ranking) (list []candidate, err error) {
	wanted := q.effectiveLimit() + 2
	if !q.Other.IsNull() {
		wanted = q.effectiveLimit() + extraCandidates
	}
	positions := map[string]int{}
	for hits := range slices.Chunk(r.hits, wanted) {
		numbers := make([]uint32, len(hits))
		for i, h := range hits {
			numbers[i] = h.Seq
		}
		memories, err := index.Load(ctx, numbers)
		if err != nil {
			return nil, err
		}
		for i, h := range hits {
			c := candidate{hit: h, memory: memories[i]}
			key := c.memory.Speaker() + "\x00" + wordsKey(c.memory.Content)
			at, known := positions[key]
			if !known {
				positions[key] = len(list)
				list = append(list, c)
				continue
			}
			list[at] = chooseSame(list[at], c)
		}
		if len(list) >= wanted {
			break
		}
	}
	return list, nil
}

// chooseSame returns one of two memories with the same words; first has the better score. The newer one wins with
// that score. If only one matches the time asked for, it wins and keeps its own.
func chooseSame(first, second candidate) candidate {
	chosen := first
	switch {
	case second.hit.Date > first.hit.Date:
		chosen = second
	case second.hit.Date == first.hit.Date && second.memory.Timestamp.After(first.memory.Timestamp):
		chosen = second
		chosen.hit.Score = first.hit.Score
	}
	chosen.again = first.again + second.again + 1
	return chosen
}

// entryFilter returns the filter for memories that the query excludes; nil excludes nothing.
func (q *Query) entryFilter(session int32) func(uint32, rank.Entry) bool {
	until, since := int64(math.MaxInt64), int64(math.MinInt64)
	if !q.Before.IsZero() {
		until = q.Before.UnixMilli()
	}
	if q.AsOf {
		until = min(until, q.Now.UnixMilli()+1)
	}
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	if !q.OnlySession && until == math.MaxInt64 && since == math.MinInt64 {
		return nil
	}
	return func(_ uint32, e rank.Entry) bool {
		isUnknown := session == rank.None && q.Session != ""
		isOther := isUnknown || e.Session != session
		if q.OnlySession && isOther {
			return false
		}
		return e.Time < until && e.Time >= since
	}
}

// Merge merges the results of several users.
func Merge(q *Query, lists ...[]Scored) []Scored {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Scored) int { return a.compare(&b) })
	return all[:min(len(all), q.effectiveLimit())]
}
