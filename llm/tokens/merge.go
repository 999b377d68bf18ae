package tokens

import (
	"unicode/utf8"
)

// countTokens returns how many tokens of o200k a text is. When done is closed, the rest is estimated by its length.
func countTokens(text string, done <-chan struct{}) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // each wrong byte counts as U+FFFD
	}
	c := stoppable{done: done}
	for text != "" {
		size := nextPiece(text)
		c.addPiece(text[:size])
		text = text[size:]
	}
	return c.n
}

const (
	// bytesPerToken is how long a token of usual text is.
	bytesPerToken = 4
	// uncheckedBytes is how much is counted before the counter looks again whether it is to stop: some milliseconds.
	uncheckedBytes = 16 << 10
)

// stoppable counts the pieces of a text until it is told to stop. It is for one goroutine.
type stoppable struct {
	n         int
	done      <-chan struct{}
	unchecked int // bytes since it looked
	isStopped bool
}

// add adds a piece that is at most [longPiece] long.
func (c *stoppable) add(piece string) {
	c.unchecked += len(piece)
	if c.unchecked > uncheckedBytes && !c.isStopped {
		c.unchecked = 0
		select {
		case <-c.done:
			c.isStopped = true
		default:
		}
	}
	if c.isStopped {
		c.n += (len(piece) + bytesPerToken - 1) / bytesPerToken
		return
	}
	c.n += countMerged(piece)
}

// longPiece is the length in bytes up to which a piece is merged as a whole. Words of people are shorter. A longer
// piece, for example data without a blank, is counted in parts, so that its time grows with its length alone; a
// cut costs a token at most.
const longPiece = 64 << 10

// addPiece adds a piece of any length.
func (c *stoppable) addPiece(piece string) {
	for len(piece) > longPiece {
		cut := longPiece
		for !utf8.RuneStart(piece[cut]) {
			cut--
		}
		c.add(piece[:cut])
		piece = piece[cut:]
	}
	c.add(piece)
}

// countMerged returns how many tokens a piece is. Each byte is one at first; then the two neighbours that form the
// token with the lowest rank are merged, of equal ones the leftmost, until no pair forms a token. For example "l o
// w e r" becomes "lo w er" and then "low er". A heap has the pairs, so that a long piece, such as 100,000 times
// "a", takes no quadratic time.
func countMerged(piece string) int {
	if rankOf(piece) != noRank {
		return 1
	}
	parts := make([]part, len(piece)+1) // the last one begins after the end
	var pairs pairHeap
	for i := range parts {
		parts[i] = part{prev: i - 1, next: i + 1}
	}
	rankPair := func(at int) {
		parts[at].rank = noRank
		if second := parts[at].next; second < len(piece) {
			parts[at].rank = rankOf(piece[at:parts[second].next])
		}
		if parts[at].rank != noRank {
			pairs.push(pair{parts[at].rank, at})
		}
	}
	for i := range len(piece) {
		rankPair(i)
	}
	n := len(piece)
	for len(pairs) > 0 {
		first := pairs.pop()
		at := first.at
		if parts[at].rank != first.rank {
			continue // one of the two has been merged with another since
		}
		second := parts[at].next
		parts[second].rank = noRank
		parts[at].next = parts[second].next
		parts[parts[at].next].prev = at
		n--
		rankPair(at)
		if parts[at].prev >= 0 {
			rankPair(parts[at].prev)
		}
	}
	return n
}

// part is a token of a piece, by the offset at which it begins: the offsets of its neighbours,
// and the rank of the token that it makes with the next one.
type part struct {
	prev, next int
	rank       uint32
}

// pair is the part that begins at an offset together with the next one.
type pair struct {
	rank uint32
	at   int
}

func (p pair) isBefore(q pair) bool {
	return p.rank < q.rank || p.rank == q.rank && p.at < q.at
}

// pairHeap is a heap of pairs, the lowest first. Unlike container/heap it allocates nothing for
// each.
type pairHeap []pair

func (h *pairHeap) push(p pair) {
	*h = append(*h, p)
	s := *h
	for i := len(s) - 1; i > 0; {
		above := (i - 1) / 2
		if !s[i].isBefore(s[above]) {
			return
		}
		s[i], s[above] = s[above], s[i]
		i = above
	}
}

func (h *pairHeap) pop() pair {
	s := *h
	first, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := i
		for _, below := range []int{2*i + 1, 2*i + 2} {
			if below < last && s[below].isBefore(s[least]) {
				least = below
			}
		}
		if least == i {
			return first
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
