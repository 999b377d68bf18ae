package rank

import (
	"math"
	"sync"
	"time"
)

// board is where the scores of one query are added up.
type board struct {
	ix      *Index
	cells   []cell   // by entry
	term    int32    // the present term, from 1
	touched []uint32 // entries with a score
	around  []uint32 // entries whose windows have the present term
	// By session, the same.
	talk        []float64
	weightTalk  float64
	inTalk      []float32
	talksSeen   []int32
	extra       map[uint32]float64
	average     float64
	averageWide [2]float64
	averageTalk float64
}

// cell is what a board has of one entry. Who owns a million has as many, so it is small
// and lies together.
type cell struct {
	// base is BM25 of the memory, windows that of its windows.
	base, windows float32
	// matched and cover are the weight of the terms that stand in or around it, as idf and
	// as share.
	matched, cover float32
	// inNear and inWide are the frequencies of the present term in its windows.
	inNear, inWide float32
	// noted is the last term that stands in or around it, touched where none does; 0 for
	// an entry without a score.
	noted int32
}

// touched marks a cell among the touched ones.
const touched = -1

var boardPool = sync.Pool{New: func() any { return new(board) }}

// bigBoard holds a board for more than bigCells entries: a pool drops them now and then,
// and then there are two until the garbage is collected.
var bigBoard = make(chan *board, 1)

const bigCells = 1 << 17

func takeBoard(n int) *board {
	if n > bigCells {
		select {
		case b := <-bigBoard:
			return b
		default:
			return new(board)
		}
	}
	return boardPool.Get().(*board)
}

func (b *board) giveBack() {
	if cap(b.cells) <= bigCells {
		boardPool.Put(b)
		return
	}
	select {
	case bigBoard <- b:
	default: // one is enough
	}
}

func newBoard(ix *Index) *board {
	b := takeBoard(len(ix.entries))
	b.ix = ix
	b.cells = room(b.cells, len(ix.entries))
	b.touched, b.around = room(b.touched, len(ix.entries))[:0], room(b.around, len(ix.entries))[:0]
	b.talk, b.inTalk = room(b.talk, len(ix.sessions)), room(b.inTalk, len(ix.sessions))
	b.extra = map[uint32]float64{}
	live := float64(ix.live)
	b.average = max(float64(ix.total)/live, 1)
	inTalks := 0.0
	for i := range ix.sessions {
		inTalks += float64(len(ix.sessions[i].members))
	}
	for i, total := range ix.windows {
		b.averageWide[i] = max(float64(total)/max(inTalks, 1), 1)
	}
	b.averageTalk = max(float64(ix.total)/float64(max(ix.talks, 1)), 1)
	return b
}

// roomToGrow is how many memories more a board has room for at most: the next memory
// should not need another one.
const roomToGrow = 1 << 14

// room is a slice of n zeros; it was cleaned when it was used last.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+min(n/4, roomToGrow))
	}
	return s[:n]
}

func (b *board) release() {
	for _, n := range b.touched {
		b.cells[n] = cell{}
	}
	clear(b.talk)
	b.term, b.touched, b.ix, b.extra = 0, b.touched[:0], nil, nil
	b.giveBack()
}

func (b *board) touch(n uint32) {
	if c := &b.cells[n]; c.noted == 0 {
		c.noted = touched
		b.touched = append(b.touched, n)
	}
}

// note says that a term stands in or around an entry.
func (b *board) note(n uint32, l list) {
	c := &b.cells[n]
	if c.noted == b.term {
		return
	}
	c.noted = b.term
	c.matched += float32(l.idf)
	c.cover += float32(l.share)
}

// count adds what one term brings.
func (b *board) count(l list) {
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
		b.touch(n)
		b.cells[n].base += float32(l.idf * ofMemory.weight(tf, float64(e.Len), b.average))
		if e.Session < 0 || len(ix.sessions[e.Session].members) == 1 {
			b.note(n, l)
			continue
		}
		b.spread(n, e.Session, float32(tf))
	}
	b.settle(l)
}

// spread adds a frequency to the windows and the session around an entry.
func (b *board) spread(n uint32, in int32, tf float32) {
	s, at := &b.ix.sessions[in], int(b.ix.place[n])
	if b.inTalk[in] == 0 {
		b.talksSeen = append(b.talksSeen, in)
	}
	b.inTalk[in] += tf
	for i := max(at-wide, 0); i <= min(at+wide, len(s.members)-1); i++ {
		m := s.members[i]
		c := &b.cells[m]
		if c.inWide == 0 {
			b.around = append(b.around, m)
		}
		c.inWide += tf
		if at-near <= i && i <= at+near {
			c.inNear += tf
		}
	}
}

// settle turns the frequencies of the present term into scores.
func (b *board) settle(l list) {
	ix := b.ix
	for _, n := range b.around {
		s, at := &ix.sessions[ix.entries[n].Session], int(ix.place[n])
		b.touch(n)
		b.note(n, l)
		c := &b.cells[n]
		score := weightWide * ofWindow.weight(float64(c.inWide), float64(s.window(at, wide)), b.averageWide[1])
		if c.inNear > 0 {
			score += weightNear * ofWindow.weight(float64(c.inNear), float64(s.window(at, near)), b.averageWide[0])
		}
		c.windows += float32(l.idf * score)
		c.inNear, c.inWide = 0, 0
	}
	for _, in := range b.talksSeen {
		s := &ix.sessions[in]
		b.talk[in] += l.idf * ofWindow.weight(float64(b.inTalk[in]), float64(s.until[len(s.until)-1]), b.averageTalk)
		b.inTalk[in] = 0
	}
	b.around, b.talksSeen = b.around[:0], b.talksSeen[:0]
}

// countExtras adds what one term brings in the extra texts. Of several texts of one
// memory the best counts.
func (b *board) countExtras(l list) {
	ix := b.ix
	average := float64(ix.extraLen) / float64(max(ix.texts, 1))
	best := map[uint32]float64{}
	for _, p := range l.extra {
		if int(p.Seq()) >= len(ix.Extras) {
			continue
		}
		x := &ix.Extras[p.Seq()]
		score := x.Weight * l.idf * ofMemory.weight(p.frequency(), float64(x.Len), max(average, 1))
		for _, n := range x.Refs {
			if int(n) < len(ix.entries) && !ix.entries[n].Deleted {
				best[n] = max(best[n], score)
			}
		}
	}
	for n, score := range best {
		b.touch(n)
		b.note(n, l)
		b.extra[n] += score
	}
}

// everything gives each memory by a speaker or at a time that the query names a
// score, when the query says nothing else.
func (b *board) everything(a *Analysis) {
	if len(a.Speakers) == 0 && len(a.periods) == 0 {
		return
	}
	for n := range b.ix.entries {
		if !b.ix.entries[n].Deleted {
			b.touch(uint32(n))
		}
	}
}

// score is what an entry has in all.
func (b *board) score(n uint32) float64 {
	e := &b.ix.entries[n]
	s := float64(b.cells[n].base) + float64(b.cells[n].windows) + b.extra[n]
	if e.Session < 0 {
		return s
	}
	s += b.weightTalk * b.talk[e.Session]
	if at := b.ix.place[n]; at > 0 {
		before := b.ix.sessions[e.Session].members[at-1]
		base := float64(b.cells[before].base)
		s += weightPrevious * base
		if b.ix.entries[before].Question {
			s += weightAnswer * base
		}
	}
	return s
}

// finish boosts the scores and picks the best.
func (b *board) finish(q *Query, r *Result, onlyBoosts bool) {
	a := &r.Analysis
	said := make([]bool, len(b.ix.Speakers))
	for _, number := range a.Speakers {
		said[number] = true
	}
	recent := boostRecent
	if a.Newest {
		recent = boostNewest
	}
	best := newTop(q.Limit, b.ix)
	for _, n := range b.touched {
		e := &b.ix.entries[n]
		if q.Keep != nil && !q.Keep(n, *e) {
			continue
		}
		h := Hit{Seq: n, Date: a.date(e.Time, q.Now.Location()), Timed: a.When && e.Timed, Around: b.cells[n].windows > 0}
		h.Said = e.Speaker >= 0 && said[e.Speaker]
		boost := 1.0
		if h.Said {
			boost += boostSpeaker
		}
		if h.Timed {
			boost += boostTime
		}
		if e.Question {
			boost -= malusQuestion
		}
		boost += boostDate * h.Date
		h.Score = b.score(n) * boost
		if onlyBoosts {
			if !h.Said && len(a.Speakers) > 0 || h.Date == 0 && len(a.periods) > 0 {
				continue
			}
			h.Score = boost
		}
		age := max(0, float64(q.Now.UnixMilli()-e.Time)/float64(24*time.Hour/time.Millisecond))
		h.Score *= 1 + recent*math.Exp(-age/recentDays)
		if q.Session >= 0 && e.Session == q.Session {
			h.Score *= 1 + boostSession
		}
		best.add(h)
	}
	r.Hits = best.sorted()
}
