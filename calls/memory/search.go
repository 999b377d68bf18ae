package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// UserIndex is one user's memories as [SearchUser] needs them. A store implements it.
type UserIndex interface {
	rank.Source
	// Index must not change during a search.
	Index() *rank.Index
	// SessionNumber returns the index's number for a session, or [rank.None].
	SessionNumber(name string) int32
	// Vectors calls each with the packed vectors of a model, in any order. The slice is
	// valid during the call.
	Vectors(ctx context.Context, model string, each func(seq uint32, packed []byte)) error
	// Load returns the memories of these numbers, in their order.
	Load(ctx context.Context, seqs []uint32) ([]BaseMemory, error)
}

// extraCandidates is the number of memories beyond the limit that are examined, because
// their order may still change.
const extraCandidates = 20

// SearchUser searches one user's memories. Stores call it for each user of a query.
func SearchUser(ctx context.Context, index UserIndex, q *Query) ([]Scored, error) {
	for limit := q.effectiveLimit() + extraCandidates; ; limit *= 8 {
		found, complete, err := q.searchHits(ctx, index, limit)
		if err != nil || complete || len(found) >= q.effectiveLimit() {
			return found, err
		}
	}
}

// searchHits searches with the best hits, at most limit of them. complete reports whether
// more hits would not add to the result; they may if many have the same text.
func (q *Query) searchHits(ctx context.Context, index UserIndex, limit int) (found []Scored, complete bool, err error) {
	ix := index.Index()
	session := index.SessionNumber(q.Session)
	rq := &rank.Query{Text: q.Text, Earlier: q.Earlier, Now: q.Now, Session: session, Keep: q.entryFilter(session), Limit: limit}
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
	complete = q.dropUnwanted(r) || complete
	list, err := q.loadDistinct(ctx, index, r)
	if err != nil {
		return nil, false, err
	}
	return q.scoreCandidates(ix, &result.Analysis, r, list), complete, nil
}

// dropUnwanted drops the hits that are below the cut, whatever reorders them, and reports
// whether there were any.
func (q *Query) dropUnwanted(r *ranking) (dropped bool) {
	if !q.Other.IsNull() {
		return false
	}
	n := len(r.hits)
	for n > 0 && q.isBelowCut(roundRelevance(r.relevance(r.hits[n-1].Score))) {
		n--
	}
	dropped = n < len(r.hits)
	r.hits = r.hits[:n]
	return dropped
}

// loadDistinct loads the best hits, as many as may be in the result. Of memories with the
// same text by the same speaker the newest stands for all, with the best score.
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
			key := c.memory.Speaker() + "\x00" + ContentKey(c.memory.Content)
			at, known := positions[key]
			if !known {
				positions[key] = len(list)
				list = append(list, c)
			} else if c.memory.Timestamp.After(list[at].memory.Timestamp) {
				c.hit.Score = list[at].hit.Score
				list[at] = c
			}
		}
		if len(list) >= wanted {
			break
		}
	}
	return list, nil
}

func (q *Query) effectiveLimit() int {
	if q.Limit <= 0 {
		return DefaultLimit
	}
	return q.Limit
}

// isBelowCut reports whether a relevance is too low. With 0, nothing is.
func (q *Query) isBelowCut(relevance float64) bool {
	return q.MinRelevance > 0 && relevance <= q.MinRelevance
}

// entryFilter returns the filter for what the query excludes; nil excludes nothing.
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
		if q.OnlySession && (session == rank.None || e.Session != session) {
			return false
		}
		return e.Time < until && e.Time >= since
	}
}

// candidate is a hit with its memory.
type candidate struct {
	hit     rank.Hit
	memory  BaseMemory
	doc     rank.Document
	words   []string // of the query that it has, to show
	matches bool     // it has terms of the query
	// byMeaning reports whether its meaning alone makes it worth showing, onlyByMeaning
	// whether no word found it.
	byMeaning, onlyByMeaning bool
}

func (q *Query) scoreCandidates(ix *rank.Index, a *rank.Analysis, r *ranking, list []candidate) []Scored {
	for i := range list {
		c := &list[i]
		c.hit.Score *= 1 + boostShared*float64(min(2, countSharedMembers(q.Other, c.memory.Context.Other)))
		c.doc = rank.Analyze(c.memory.Content, c.memory.Speaker())
		c.words, c.matches = a.MatchedWords(&c.doc, c.memory.Content)
		c.byMeaning, c.onlyByMeaning = r.byMeaning[c.hit.Seq], r.onlyByMeaning[c.hit.Seq]
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.hit.Score, a.hit.Score) })
	preferNewest(list)
	var out []Scored
	for _, c := range list {
		s := Scored{Memory: c.memory, Relevance: r.relevance(c.hit.Score), Neighbour: c.isNeighbour()}
		if s.Neighbour {
			s.Relevance = capNeighbour(s.Relevance)
		}
		s.Relevance = roundRelevance(s.Relevance)
		if q.isBelowCut(s.Relevance) && !(q.Neighbours && s.Neighbour && s.Relevance > neighbourCap-neighbourRange) {
			continue
		}
		s.Snapshots = slices.DeleteFunc(ix.ExtrasOf(c.hit.Seq), func(id string) bool { return !strings.HasPrefix(id, string(SnapshotID)) })
		s.Reason = explainHit(a, &c, s.Snapshots, q.Now.Location())
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Scored) int { return a.compare(&b) })
	return out[:min(len(out), q.effectiveLimit())]
}

// isNeighbour reports whether nothing but the memories around it makes it a hit.
func (c *candidate) isNeighbour() bool {
	h := &c.hit
	byItself := c.matches || c.byMeaning || c.onlyByMeaning || h.InExtra
	return h.InWindow && !byItself && !h.BySpeaker && !h.Timed && h.Date == 0
}

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

// roundRelevance keeps six digits: what looks equal is equal.
func roundRelevance(relevance float64) float64 { return math.Round(relevance*1e6) / 1e6 }

// compare orders the better first, then the newer, then by id.
func (s *Scored) compare(o *Scored) int {
	return cmp.Or(cmp.Compare(o.Relevance, s.Relevance), o.Memory.Timestamp.Compare(s.Memory.Timestamp), cmp.Compare(s.Memory.ID, o.Memory.ID))
}

// Merge merges the results of several users.
func Merge(q *Query, lists ...[]Scored) []Scored {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Scored) int { return a.compare(&b) })
	return all[:min(len(all), q.effectiveLimit())]
}

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

// Near-duplicates say nearly the same: of the best memories, those that share most
// of their words and score nearly the same.
const (
	duplicateAmong = 12
	duplicateWords = 4
	duplicateShare = 0.7
	duplicateScore = 0.75
)

// preferNewest gives the newer of two near-duplicates the better score: what was said
// last is how things are.
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

func dateText(t time.Time, chinese bool) string {
	if chinese {
		return t.Format("2006年1月2日")
	}
	return t.Format("2 January 2006")
}
