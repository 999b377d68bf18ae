package rank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
)

// Source provides the postings of terms. A store makes one for each search of a user's
// memories, which uses it from one goroutine.
type Source interface {
	// Postings appends the postings of a term in the memories, in any order. Deleted
	// memories may be among them.
	Postings(ctx context.Context, term string, to []Posting) ([]Posting, error)
	// ExtraPostings appends the postings of a term in the extra texts.
	ExtraPostings(ctx context.Context, term string, to []Posting) ([]Posting, error)
}

// Fetcher is a [Source] that reads the postings of several terms faster at once than one by
// one, because its store is far away.
type Fetcher interface {
	Source
	// Fetch is called with all terms of a query before their postings are asked for.
	Fetch(ctx context.Context, terms []string) error
}

// Hit is a memory that was found.
type Hit struct {
	Seq uint32
	// Score orders the hits of one query; [Result.Relevance] makes it comparable.
	Score float64
	// Date is how well its time matches a period that the query names, 0 to 1.
	Date float64
	// BySpeaker reports whether a speaker named by the query said it, Timed whether the
	// query asks for a time and the memory mentions one, and InWindow whether the memories
	// around it, itself included, have words of the query.
	BySpeaker, Timed, InWindow bool
	// InExtra reports whether an extra text has words of the query in a part that is about the memory.
	InExtra bool
}

// Result is the result of [Search], best first. It belongs to the caller.
type Result struct {
	Hits        []Hit
	Analysis    Analysis
	calibration calibration
}

// Relevance returns the relevance, 0 to 1, of a score of this result.
func (r *Result) Relevance(score float64) float64 { return r.calibration.relevanceOf(score) }

// bm25 has the parameters of BM25.
type bm25 struct{ k1, b float64 }

var (
	memoryBM25 = bm25{0.9, 0.4}
	windowBM25 = bm25{1.2, 0.75}
)

// termWeight returns the BM25 weight of a term with that frequency in a text of that
// length.
func (s bm25) termWeight(frequency, length, average float64) float64 {
	return frequency * (s.k1 + 1) / (frequency + s.k1*(1-s.b+s.b*length/average))
}

// The weights of the parts of a score.
const (
	weightPrevious = 0.3
	weightAnswer   = 0.5 // besides, when the memory before is a question
	weightNear     = 1.25
	weightWide     = 0.75
	weightSession  = 0.2
	// Characters and pairs of them say less than words, so the subject of the session says more.
	weightSessionOfCharacters = 1

	boostSpeaker  = 0.75
	boostTime     = 0.5
	boostDate     = 1.0
	malusQuestion = 0.3
	// malusOutside is for queries that name only a time: beside a memory of that time, a memory of the days around
	// it stays below the default cut.
	malusOutside = 0.75
	boostSession = 0.05
	// boostWeak orders memories that are found by a time alone.
	boostWeak   = 0.25
	boostRecent = 0.05
	boostNewest = 0.5
	boostEnded  = 3
	// boostLength is the advantage of a memory of lengthOfStatement terms over one without any.
	boostLength       = 0.1
	lengthOfStatement = 20

	recentDays = 30
)

// manyEntries is the number of memories from which a term that is in more than a quarter of them is skipped if
// rarer terms exist.
const manyEntries = 50_000

// Search finds the memories that match a query.
func Search(ctx context.Context, ix *Index, source Source, q *Query) (*Result, error) {
	r := &Result{Analysis: analyzeQuery(q, ix)}
	if ix.live == 0 {
		return r, nil
	}
	lists, release, err := fetchPostings(ctx, ix, source, r.Analysis.Terms)
	defer release()
	if err != nil {
		return nil, err
	}
	if namesOnly(lists, len(r.Analysis.periods) > 0) {
		b := newScoreboard(ix)
		defer b.release()
		b.markAll(&r.Analysis)
		b.pickBest(q, r, &onlyBoosts{
			named: entriesOf(lists, func(l termPostings) bool { return l.isHoliday }), weak: entriesOf(lists, func(l termPostings) bool { return !l.isDate }),
		})
		b.calibrateScores(r, 0)
		if len(r.Hits) > 0 || len(lists) == 0 {
			return r, nil
		}
	}
	b := newScoreboard(ix)
	if err := b.chooseExtras(ctx, q, r, lists); err != nil {
		b.release()
		return nil, err
	}
	b.sessionWeight = interpolateShare(r.Analysis.spacelessShare(), weightSession, weightSessionOfCharacters)
	defer b.release()
	asked := 0.0
	r.Analysis.onlyNames = namesAmongForeign(lists)
	for _, l := range lists {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if isForeign := r.Analysis.onlyNames && l.spaceless; !isForeign && !l.isClass {
			asked += l.share
		}
		if l.isEnding {
			b.markEnded(l)
			continue
		}
		if !l.skip {
			b.addTerm(l)
			b.addExtras(l)
		}
	}
	b.pickBest(q, r, nil)
	b.calibrateScores(r, asked)
	return r, nil
}

// namesOnly reports whether a query has only names of speakers and times, and beside times at most words that say
// little, as in 上周去了哪里.
func namesOnly(lists []termPostings, namesTime bool) bool {
	return !slices.ContainsFunc(lists, func(l termPostings) bool {
		isLittle := namesTime && l.weak
		return !l.isDate && !isLittle
	})
}

// onlyBoosts are the memories that match the words of a query of names alone: named have the name of a holiday,
// weak have words that say little.
type onlyBoosts struct{ named, weak map[uint32]bool }

// entriesOf returns the entries that have terms of some lists.
func entriesOf(lists []termPostings, of func(termPostings) bool) map[uint32]bool {
	entries := map[uint32]bool{}
	for _, l := range lists {
		if !of(l) {
			continue
		}
		for _, p := range l.postings {
			entries[p.Seq()] = true
		}
	}
	return entries
}

// termPostings is a query term with its postings.
type termPostings struct {
	idf float64
	// share is the idf in a collection of at least [fewEntries] memories.
	share           float64
	postings, extra []Posting
	skip            bool
	// isDate, isHoliday, weak and spaceless are copied from the [Term].
	isDate, isHoliday, weak, spaceless bool
	// isClass reports whether they are the postings of the members of a class.
	isClass bool
	// isEnding reports whether they are the postings of the words of endings.
	isEnding bool
}

// isFound reports whether a memory has the term.
func (l *termPostings) isFound() bool { return len(l.postings)+len(l.extra) > 0 }

// enoughNames is how many names find a memory beside words of another language.
const enoughNames = 2

// namesAmongForeign reports whether all words of a query with spaces are found, at least two, and none of its
// words without: the question is in another language than the memories, and names things in them, for example 禁用
// webfetch 抓取工具 config.toml.
func namesAmongForeign(lists []termPostings) bool {
	names, hasForeign := 0, false
	for i := range lists {
		l := &lists[i]
		if l.spaceless == l.isFound() {
			return false
		}
		hasForeign = hasForeign || l.spaceless
		if !l.spaceless && !l.weak {
			names++
		}
	}
	return hasForeign && names >= enoughNames
}

var postingPool = sync.Pool{New: func() any { return new([]Posting) }}

// fetchPostings reads the postings of all terms. release returns their buffer to the
// pool.
func fetchPostings(ctx context.Context, ix *Index, source Source, terms []Term) (lists []termPostings, release func(), err error) {
	room := postingPool.Get().(*[]Posting)
	all := (*room)[:0]
	release = func() {
		*room = all
		postingPool.Put(room)
	}
	if fetcher, ok := source.(Fetcher); ok {
		if err := fetcher.Fetch(ctx, textsOf(terms)); err != nil {
			return nil, release, err
		}
	}
	type bounds struct{ start, middle, end int }
	places := make([]bounds, len(terms))
	for i, t := range terms {
		places[i].start = len(all)
		for _, text := range t.texts() {
			all, err = source.Postings(ctx, text, all)
			if err != nil {
				return nil, release, err
			}
		}
		if len(t.members) > 0 {
			all = mergePostings(all, places[i].start)
		}
		places[i].middle = len(all)
		if len(ix.Extras) > 0 && len(t.members) == 0 {
			all, err = source.ExtraPostings(ctx, t.Text, all)
			if err != nil {
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
		l := termPostings{isDate: t.isDate, isHoliday: t.isHoliday, weak: t.weak, spaceless: t.spaceless, isClass: len(t.members) > 0, isEnding: t.isEnding, postings: all[p.start:p.middle], extra: all[p.middle:p.end]}
		l.idf = t.Weight * inverseFrequency(max(n, fewEntries), smoothFrequency(n, df))
		l.share = t.Weight * inverseFrequency(max(n, fewEntries), df)
		if t.isGeneral {
			l.share *= shareOfGeneral
		}
		if df == 0 && (t.earlier || !t.spaceless) { // in a handful of memories most words are missing
			l.share *= n / (n + halfEntries)
		}
		l.skip = ix.live > manyEntries && df > n/4
		if !l.skip && df > 0 {
			rare = true
		}
		lists = append(lists, l)
	}
	if !rare {
		for i := range lists {
			lists[i].skip = false
		}
	}
	return lists, release, nil
}

func textsOf(terms []Term) []string {
	texts := make([]string, 0, len(terms))
	for i := range terms {
		texts = append(texts, terms[i].texts()...)
	}
	return texts
}

// mergePostings makes one list of the postings from start on. A memory with several members of a class gets the
// sum of their frequencies.
func mergePostings(all []Posting, start int) []Posting {
	list := all[start:]
	slices.Sort(list)
	merged := list[:0]
	for _, p := range list {
		last := len(merged) - 1
		if last >= 0 && merged[last].Seq() == p.Seq() {
			merged[last] = MakePosting(p.Seq(), int(merged[last].frequency()+p.frequency()))
			continue
		}
		merged = append(merged, p)
	}
	return all[:start+len(merged)]
}

// inverseFrequency returns the inverse document frequency of a term that is in df of n memories.
func inverseFrequency(n, df float64) float64 { return math.Log(1 + (max(n-df, 0)+0.5)/(df+0.5)) }

// topHits keeps the best hits. It collects more than needed and sorts now and then.
type topHits struct {
	limit     int
	ix        *Index
	hits      []Hit
	threshold *Hit // worse hits are not among the best
}

func newTopHits(limit int, ix *Index) *topHits { return &topHits{limit: max(limit, 1), ix: ix} }

// compareHits orders better hits first: by score, then newer, then saved later.
func (t *topHits) compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score),
		cmp.Compare(t.ix.entries[b.Seq].Time, t.ix.entries[a.Seq].Time), cmp.Compare(b.Seq, a.Seq))
}

func (t *topHits) add(h Hit) {
	if t.threshold != nil && t.compareHits(h, *t.threshold) > 0 {
		return
	}
	t.hits = append(t.hits, h)
	if len(t.hits) >= 2*t.limit+64 {
		t.keepBest()
	}
}

func (t *topHits) keepBest() []Hit {
	slices.SortFunc(t.hits, t.compareHits)
	if len(t.hits) >= t.limit {
		t.hits = t.hits[:t.limit]
		bar := t.hits[t.limit-1]
		t.threshold = &bar
	}
	return t.hits
}

// smoothFrequency returns the number of memories among n that a term counts as being in. In a handful of memories
// a word is soon in a quarter of them, so that the two memories about the subject would be worth less than one
// that has another word by chance. Up to half of the memories the number is the frequency itself; the more
// memories there are, the less a term in all of them is worth.
func smoothFrequency(n, df float64) float64 {
	if n >= fewEntries || n == 0 {
		return df
	}
	return df + (fewEntries-n)*max(0, 2*df/n-1)*n/(n+handful)
}
