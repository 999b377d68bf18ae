package rank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
)

// Source gives the postings of terms.
type Source interface {
	// Postings appends the postings of a term in the memories, in any order. Those of
	// deleted ones may be among them.
	Postings(ctx context.Context, term string, to []Posting) ([]Posting, error)
	// ExtraPostings does the same for the extra texts.
	ExtraPostings(ctx context.Context, term string, to []Posting) ([]Posting, error)
}

// Hit is a memory that was found.
type Hit struct {
	Seq uint32
	// Score orders the hits of one query; [Result.Relevance] makes it comparable.
	Score float64
	// Date is how well its time fits one that the query names, 0 to 1.
	Date float64
	// Said says that a speaker whom the query names said it; Timed that the query asks
	// for a time and the memory speaks of one; Around that memories near it in its
	// session, or itself there, have words of the query.
	Said, Timed, Around bool
}

// Result is what a search found, best first.
type Result struct {
	Hits     []Hit
	Analysis Analysis
	scale    scale
}

// Relevance is what a score means, 0 to 1.
func (r *Result) Relevance(score float64) float64 { return r.scale.relevance(score) }

// shape is k1 and b of BM25.
type shape struct{ k1, b float64 }

var (
	ofMemory = shape{0.9, 0.4}
	ofWindow = shape{1.2, 0.75}
)

// weight is the BM25 weight of a term that occurs so often in a text of that
// length.
func (s shape) weight(frequency, length, average float64) float64 {
	return frequency * (s.k1 + 1) / (frequency + s.k1*(1-s.b+s.b*length/average))
}

// What the parts of a score weigh.
const (
	weightPrevious = 0.3
	weightAnswer   = 0.5 // besides, when the memory before is a question
	weightNear     = 1.25
	weightWide     = 0.75
	weightSession  = 0.2
	// Characters and pairs of them say less than words, so what the session is about
	// says more.
	weightSessionOfCharacters = 1

	boostSpeaker  = 0.75
	boostTime     = 0.5
	boostDate     = 1.0
	malusQuestion = 0.3
	boostSession  = 0.05
	boostRecent   = 0.05
	boostNewest   = 0.5

	recentDays = 30
)

// manyEntries is from where on a term that stands in every fourth memory is left
// out when there are rarer ones.
const manyEntries = 50_000

// Search finds the memories that matter for a query.
func Search(ctx context.Context, ix *Index, source Source, q *Query) (*Result, error) {
	r := &Result{Analysis: analyze(q, ix)}
	if ix.live == 0 {
		return r, nil
	}
	lists, release, err := fetch(ctx, ix, source, r.Analysis.Terms)
	defer release()
	if err != nil {
		return nil, err
	}
	b := newBoard(ix)
	b.weightTalk = blend(r.Analysis.spaceless(), weightSession, weightSessionOfCharacters)
	defer b.release()
	asked := 0.0
	for _, l := range lists {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		asked += l.share
		if !l.skip {
			b.count(l)
			b.countExtras(l)
		}
	}
	if len(lists) == 0 {
		b.everything(&r.Analysis)
	}
	b.finish(q, r, len(lists) == 0)
	b.measure(r, asked)
	return r, nil
}

// list is a term with its postings.
type list struct {
	idf float64
	// share is the idf among at least [fewEntries] memories.
	share           float64
	postings, extra []Posting
	skip            bool
}

var postingPool = sync.Pool{New: func() any { return new([]Posting) }}

// fetch gets the postings of all terms; release gives their room back.
func fetch(ctx context.Context, ix *Index, source Source, terms []Term) (lists []list, release func(), err error) {
	room := postingPool.Get().(*[]Posting)
	all := (*room)[:0]
	release = func() {
		*room = all
		postingPool.Put(room)
	}
	type bounds struct{ start, middle, end int }
	places := make([]bounds, len(terms))
	for i, t := range terms {
		places[i].start = len(all)
		if all, err = source.Postings(ctx, t.Text, all); err != nil {
			return nil, release, err
		}
		places[i].middle = len(all)
		if len(ix.Extras) > 0 {
			if all, err = source.ExtraPostings(ctx, t.Text, all); err != nil {
				return nil, release, err
			}
		}
		places[i].end = len(all)
	}
	rare := false
	for i, t := range terms {
		p := places[i]
		df := float64(p.middle - p.start)
		n := float64(ix.live)
		if t.optional && df == 0 && p.middle == p.end {
			continue
		}
		l := list{postings: all[p.start:p.middle], extra: all[p.middle:p.end]}
		l.idf = t.Weight * idf(n, df)
		l.share = t.Weight * idf(max(n, fewEntries), df)
		if df == 0 && !t.spaceless { // in a handful of memories most words are missing
			l.share *= n / (n + halfEntries)
		}
		l.skip = ix.live > manyEntries && df > n/4
		rare = rare || !l.skip && df > 0
		lists = append(lists, l)
	}
	if !rare {
		for i := range lists {
			lists[i].skip = false
		}
	}
	return lists, release, nil
}

// idf is what a term is worth that stands in df of n memories.
func idf(n, df float64) float64 { return math.Log(1 + (max(n-df, 0)+0.5)/(df+0.5)) }

// top keeps the best hits. It collects more than are wanted and sorts now and then.
type top struct {
	limit int
	ix    *Index
	hits  []Hit
	bar   *Hit // what is worse is not among the best
}

func newTop(limit int, ix *Index) *top { return &top{limit: max(limit, 1), ix: ix} }

// order puts better hits first: by score, then newer, then saved later.
func (t *top) order(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score),
		cmp.Compare(t.ix.entries[b.Seq].Time, t.ix.entries[a.Seq].Time), cmp.Compare(b.Seq, a.Seq))
}

func (t *top) add(h Hit) {
	if t.bar != nil && t.order(h, *t.bar) > 0 {
		return
	}
	t.hits = append(t.hits, h)
	if len(t.hits) >= 2*t.limit+64 {
		t.sorted()
	}
}

func (t *top) sorted() []Hit {
	slices.SortFunc(t.hits, t.order)
	if len(t.hits) >= t.limit {
		t.hits = t.hits[:t.limit]
		bar := t.hits[t.limit-1]
		t.bar = &bar
	}
	return t.hits
}
