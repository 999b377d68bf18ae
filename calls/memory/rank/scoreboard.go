package rank

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// scoreboard adds up the scores of one query. It is taken from a pool for each search.
type scoreboard struct {
	ix             *Index
	cells          []entryScore // by entry
	term           int32        // the present term, from 1
	touched        []uint32     // entries with a score
	touchedWindows []uint32     // entries whose windows have the present term
	// By session, the same.
	sessionScores      []float64
	sessionWeight      float64
	sessionFrequencies []float32
	touchedSessions    []int32
	extraScores        map[uint32]float64
	// spokenOf are the memories that extra texts are about, by the number of the text; nil: each is about all its
	// memories. inExtra are the memories that have a score from that.
	spokenOf map[uint32][]uint32
	// ended are the memories with words of endings, if the query asks whether something still goes on.
	ended          map[uint32]bool
	inExtra        map[uint32]bool
	average        float64
	averageWindows [2]float64
	averageSession float64
}

// entryScore is the score of one entry so far. It is small, because a user may have a
// million.
type entryScore struct {
	// base is the BM25 score of the memory, windows the score of its windows.
	base, windows float32
	// matched and cover are the summed weights of the terms in or around it, as idf and as
	// share.
	matched, cover float32
	// inNear and inWide are the frequencies of the current term in its windows.
	inNear, inWide float32
	// lastTerm is the last term in or around it, scoredOnly if there is none, and 0 for an
	// entry without a score.
	lastTerm int32
}

// scoredOnly marks an entry that has a score but no term yet.
const scoredOnly = -1

var scoreboardPool = sync.Pool{New: func() any { return new(scoreboard) }}

// bigScoreboard keeps a scoreboard of more than bigScoreboardSize entries: a sync.Pool
// would drop it now and then, and there would be two until the next garbage collection.
var bigScoreboard = make(chan *scoreboard, 1)

const bigScoreboardSize = 1 << 17

func acquireScoreboard(n int) *scoreboard {
	if n > bigScoreboardSize {
		select {
		case b := <-bigScoreboard:
			return b
		default:
			return new(scoreboard)
		}
	}
	return scoreboardPool.Get().(*scoreboard)
}

func (b *scoreboard) returnToPool() {
	if cap(b.cells) <= bigScoreboardSize {
		scoreboardPool.Put(b)
		return
	}
	select {
	case bigScoreboard <- b:
	default: // one is enough
	}
}

func newScoreboard(ix *Index) *scoreboard {
	b := acquireScoreboard(len(ix.entries))
	b.ix = ix
	b.cells = resizeZeroed(b.cells, len(ix.entries))
	b.touched, b.touchedWindows = resizeZeroed(b.touched, len(ix.entries))[:0], resizeZeroed(b.touchedWindows, len(ix.entries))[:0]
	b.sessionScores, b.sessionFrequencies = resizeZeroed(b.sessionScores, len(ix.sessions)), resizeZeroed(b.sessionFrequencies, len(ix.sessions))
	b.extraScores, b.inExtra, b.spokenOf = map[uint32]float64{}, map[uint32]bool{}, nil
	live := float64(ix.live)
	b.average = max(float64(ix.total)/live, 1)
	inTalks := 0.0
	for i := range ix.sessions {
		inTalks += float64(len(ix.sessions[i].members))
	}
	for i, total := range ix.windows {
		b.averageWindows[i] = max(float64(total)/max(inTalks, 1), 1)
	}
	b.averageSession = max(float64(ix.total)/float64(max(ix.liveSessions, 1)), 1)
	return b
}

// roomToGrow bounds the spare entries of a scoreboard, so that the next memory does not
// need a new one.
const roomToGrow = 1 << 14

// resizeZeroed returns a slice of n zeros; its last user has zeroed s.
func resizeZeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+min(n/4, roomToGrow))
	}
	return s[:n]
}

func (b *scoreboard) release() {
	for _, n := range b.touched {
		b.cells[n] = entryScore{}
	}
	clear(b.sessionScores)
	b.term, b.touched, b.ix, b.extraScores = 0, b.touched[:0], nil, nil
	b.spokenOf, b.inExtra, b.ended = nil, nil, nil
	b.returnToPool()
}

func (b *scoreboard) markScored(n uint32) {
	if c := &b.cells[n]; c.lastTerm == 0 {
		c.lastTerm = scoredOnly
		b.touched = append(b.touched, n)
	}
}

// addMatch notes that the current term is in or around an entry.
func (b *scoreboard) addMatch(n uint32, l termPostings) {
	c := &b.cells[n]
	if c.lastTerm == b.term {
		return
	}
	c.lastTerm = b.term
	c.matched += float32(l.idf)
	if !l.isClass { // the name of the class is asked for, not all its members
		c.cover += float32(l.share)
	}
}

// addTerm adds the score of a term.
func (b *scoreboard) addTerm(l termPostings) {
	ix := b.ix
	b.term++
	for _, p := range l.postings {
		n, tf := p.Seq(), p.frequency()
		if int(n) >= len(ix.entries) {
			continue // saved after the index was read
		}
		e := &ix.entries[n]
		if e.Deleted {
			continue
		}
		b.markScored(n)
		b.cells[n].base += float32(l.idf * memoryBM25.termWeight(tf, float64(e.Len), b.average))
		if ix.isAlone(e) {
			b.addMatch(n, l)
			continue
		}
		b.addToWindows(n, e.Session, float32(tf))
	}
	b.scoreWindows(l)
}

// markEnded notes the memories that have the words of endings.
func (b *scoreboard) markEnded(l termPostings) {
	b.ended = map[uint32]bool{}
	for _, p := range l.postings {
		b.ended[p.Seq()] = true
	}
}

// addToWindows adds a frequency to the windows and the session around an entry.
func (b *scoreboard) addToWindows(n uint32, in int32, tf float32) {
	s, at := &b.ix.sessions[in], int(b.ix.positions[n])
	if b.sessionFrequencies[in] == 0 {
		b.touchedSessions = append(b.touchedSessions, in)
	}
	b.sessionFrequencies[in] += tf
	for i := max(at-wide, 0); i <= min(at+wide, len(s.members)-1); i++ {
		m := s.members[i]
		c := &b.cells[m]
		if c.inWide == 0 {
			b.touchedWindows = append(b.touchedWindows, m)
		}
		c.inWide += tf
		if at-near <= i && i <= at+near {
			c.inNear += tf
		}
	}
}

// scoreWindows turns the frequencies of the current term into scores.
func (b *scoreboard) scoreWindows(l termPostings) {
	ix := b.ix
	for _, n := range b.touchedWindows {
		s, at := &ix.sessions[ix.entries[n].Session], int(ix.positions[n])
		b.markScored(n)
		b.addMatch(n, l)
		c := &b.cells[n]
		score := weightWide * windowBM25.termWeight(float64(c.inWide), float64(s.windowLength(at, wide)), b.averageWindows[1])
		if c.inNear > 0 {
			score += weightNear * windowBM25.termWeight(float64(c.inNear), float64(s.windowLength(at, near)), b.averageWindows[0])
		}
		c.windows += float32(l.idf * score)
		c.inNear, c.inWide = 0, 0
	}
	for _, in := range b.touchedSessions {
		s := &ix.sessions[in]
		b.sessionScores[in] += l.idf * windowBM25.termWeight(float64(b.sessionFrequencies[in]), float64(s.lengthUntil[len(s.lengthUntil)-1]), b.averageSession)
		b.sessionFrequencies[in] = 0
	}
	b.touchedWindows, b.touchedSessions = b.touchedWindows[:0], b.touchedSessions[:0]
}

// extraScore returns the score of a term in an extra text, before the weight of that.
func (b *scoreboard) extraScore(l *termPostings, p Posting, x *Extra) float64 {
	average := float64(b.ix.extraLen) / float64(max(b.ix.texts, 1))
	return l.idf * memoryBM25.termWeight(p.frequency(), float64(x.Len), max(average, 1))
}

// chooseExtras chooses the extra texts with most of the query, and looks up which memories they are about.
func (b *scoreboard) chooseExtras(ctx context.Context, q *Query, r *Result, lists []termPostings) error {
	if q.SpokenOf == nil {
		return nil
	}
	b.spokenOf = map[uint32][]uint32{}
	scores := map[uint32]float64{}
	for i := range lists {
		for _, p := range lists[i].extra {
			if int(p.Seq()) < len(b.ix.Extras) {
				scores[p.Seq()] += b.extraScore(&lists[i], p, &b.ix.Extras[p.Seq()])
			}
		}
	}
	best := slices.SortedFunc(maps.Keys(scores), func(x, y uint32) int { return cmp.Or(cmp.Compare(scores[y], scores[x]), cmp.Compare(x, y)) })
	best = best[:min(len(best), maxExtras)]
	if len(best) == 0 {
		return nil
	}
	extras := make([]Extra, len(best))
	for i, number := range best {
		extras[i] = b.ix.Extras[number]
	}
	found, err := q.SpokenOf(ctx, &r.Analysis, extras)
	for i, number := range best {
		b.spokenOf[number] = found[extras[i].ID]
	}
	return err
}

const (
	// maxExtras bounds the extra texts for which the memories they are about are looked up.
	maxExtras = 32
	// weightUnspoken is how much the words of an extra text count, at the most, for memories of
	// which it is not known to speak. They put these in order, below the default cut.
	weightUnspoken = 0.3
)

// addExtras adds the score of a term in the extra texts. Of several texts about a
// memory, the best counts.
func (b *scoreboard) addExtras(l termPostings) {
	ix := b.ix
	best := map[uint32]float64{}
	for _, p := range l.extra {
		if int(p.Seq()) >= len(ix.Extras) {
			continue
		}
		x := &ix.Extras[p.Seq()]
		refs, weight, isSpokenOf := x.Refs, x.Weight, true
		if b.spokenOf != nil {
			refs = b.spokenOf[p.Seq()]
			if len(refs) == 0 {
				refs, weight, isSpokenOf = x.Refs, min(x.Weight, weightUnspoken), false
			}
		}
		score := weight * b.extraScore(&l, p, x)
		for _, n := range refs {
			if int(n) < len(ix.entries) && !ix.entries[n].Deleted {
				best[n] = max(best[n], score)
				b.inExtra[n] = b.inExtra[n] || isSpokenOf
			}
		}
	}
	for n, score := range best {
		b.markScored(n)
		b.addMatch(n, l)
		b.extraScores[n] += score
	}
}

// markAll marks all memories as scored if the query names only speakers or times.
func (b *scoreboard) markAll(a *Analysis) {
	if len(a.Speakers) == 0 && len(a.periods) == 0 {
		return
	}
	for n := range b.ix.entries {
		if !b.ix.entries[n].Deleted {
			b.markScored(uint32(n))
		}
	}
}

// weightAlone returns the weight of the words of a memory that is alone in its session or has none. In a talk the
// same words also count for the windows and the session around them: without this weight, a memory that has all
// words of a query would come after talks that have one of them.
func (b *scoreboard) weightAlone() float64 { return 1 + weightNear + weightWide + b.sessionWeight }

// scoreBeforeBoosts returns the score of an entry without boosts.
func (b *scoreboard) scoreBeforeBoosts(n uint32) float64 {
	e := &b.ix.entries[n]
	if b.ix.isAlone(e) {
		return b.weightAlone()*float64(b.cells[n].base) + b.extraScores[n]
	}
	s := float64(b.cells[n].base) + float64(b.cells[n].windows) + b.extraScores[n]
	s += b.sessionWeight * b.sessionScores[e.Session]
	if at := b.ix.positions[n]; at > 0 {
		before := b.ix.sessions[e.Session].members[at-1]
		base := float64(b.cells[before].base)
		s += weightPrevious * base
		if b.ix.entries[before].Question {
			s += weightAnswer * base
		}
	}
	return s
}

// pickBest boosts the scores and keeps the best hits. With only, the boosts are the scores.
func (b *scoreboard) pickBest(q *Query, r *Result, only *onlyBoosts) {
	a := &r.Analysis
	said := make([]bool, len(b.ix.Speakers))
	for _, number := range a.Speakers {
		said[number] = true
	}
	recent := boostRecent
	if a.Newest || a.Still {
		recent = boostNewest
	}
	best := newTopHits(q.Limit, b.ix)
	for _, n := range b.touched {
		e := &b.ix.entries[n]
		if q.Keep != nil && !q.Keep(n, *e) {
			continue
		}
		fit, within := a.dateMatch(e.Time, q.Now.Location())
		h := Hit{Seq: n, Date: fit, Timed: a.When && e.Timed, InWindow: b.cells[n].windows > 0, InExtra: b.inExtra[n]}
		h.BySpeaker = e.Speaker >= 0 && said[e.Speaker]
		boost := 1.0
		if h.BySpeaker {
			boost += boostSpeaker
		}
		if h.Timed {
			boost += boostTime
		}
		if e.Question {
			boost -= malusQuestion
		}
		boost += boostDate * h.Date
		if b.ended[n] && b.cells[n].base > 0 {
			boost += boostEnded
		}
		h.Score = b.scoreBeforeBoosts(n) * boost
		h.Score *= lengthPrior(e.Len)
		if only != nil {
			h.Score = only.scoreOf(a, &h, boost, within)
			if h.Score == 0 {
				continue
			}
		}
		age := max(0, float64(q.Now.UnixMilli()-e.Time)/float64(24*time.Hour/time.Millisecond))
		h.Score *= 1 + recent*math.Exp(-age/recentDays)
		if q.Session >= 0 && e.Session == q.Session {
			h.Score *= 1 + boostSession
		}
		best.add(h)
	}
	r.Hits = best.keepBest()
}

// scoreOf returns the score of a hit of a query that has only names; 0 if the hit is of another speaker or time.
func (o *onlyBoosts) scoreOf(a *Analysis, h *Hit, boost float64, within bool) float64 {
	hasTime := len(a.periods) > 0
	isNamed := o.named[h.Seq]
	wrongSpeaker := len(a.Speakers) > 0 && !h.BySpeaker
	wrongTime := hasTime && h.Date == 0 && !isNamed
	if wrongSpeaker || wrongTime {
		return 0
	}
	if isNamed {
		boost += boostDate * (1 - h.Date)
	}
	if hasTime && !within && !isNamed {
		return boost * malusOutside
	}
	if o.weak[h.Seq] {
		boost += boostWeak
	}
	return boost
}

// lengthPrior returns the boost for the length of a memory: one of a few words often only agrees or asks, for
// example "Sounds great!".
func lengthPrior(terms int32) float64 {
	return 1 + boostLength*min(1, math.Log1p(float64(terms))/math.Log(lengthOfStatement))
}
