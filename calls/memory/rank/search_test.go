package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shelf is memories for tests, with their postings in a map.
type shelf struct {
	index    *Index
	postings map[string][]Posting
	extras   map[string][]Posting
	docs     []Document
	entries  []Entry
}

func newShelf() *shelf {
	return &shelf{index: NewIndex(nil), postings: map[string][]Posting{}, extras: map[string][]Posting{}}
}

func (s *shelf) add(session int32, at time.Time, speaker, text string) {
	doc := Analyze(text, speaker)
	e := Entry{Time: at.UnixMilli(), Session: session, Speaker: None, Len: int32(doc.Len), Timed: doc.MentionsTime, Question: doc.Question}
	if doc.Speaker != "" {
		e.Speaker = int32(slices.Index(s.index.Speakers, doc.Speaker))
		if e.Speaker < 0 {
			e.Speaker = int32(len(s.index.Speakers))
			s.index.Speakers = append(s.index.Speakers, doc.Speaker)
		}
	}
	for _, f := range doc.Terms {
		s.postings[f.Term] = append(s.postings[f.Term], MakePosting(uint32(s.index.Len()), f.N))
	}
	s.index.Append(e)
	s.docs, s.entries = append(s.docs, doc), append(s.entries, e)
}

func (s *shelf) addExtra(weight float64, text string, refs ...uint32) {
	doc := Analyze(text, "")
	for _, f := range doc.Terms {
		s.extras[f.Term] = append(s.extras[f.Term], MakePosting(uint32(len(s.index.Extras)), f.N))
	}
	s.index.AddExtra(Extra{ID: fmt.Sprintf("snapshot_%d", len(s.index.Extras)), Len: int32(doc.Len), Refs: refs, Weight: weight})
}

func (s *shelf) Postings(_ context.Context, term string, to []Posting) ([]Posting, error) {
	return append(to, s.postings[term]...), nil
}

func (s *shelf) ExtraPostings(_ context.Context, term string, to []Posting) ([]Posting, error) {
	return append(to, s.extras[term]...), nil
}

func (s *shelf) search(t interface {
	Helper()
	Fatal(...any)
}, q Query) *Result {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Now.IsZero() {
		q.Now = wednesday
	}
	r, err := Search(context.Background(), s.index, s, &q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// formula scores every memory as the package says, in the slowest and plainest way.
func (s *shelf) formula(a *Analysis, now time.Time) map[uint32]float64 {
	sessions := map[int32][]int{}
	for i, e := range s.entries {
		key := e.Session
		if key == None {
			key = int32(-2 - i) // one of its own
		}
		sessions[key] = append(sessions[key], i)
	}
	around := func(i, radius int) []int {
		if s.entries[i].Session == None {
			return nil
		}
		all := sessions[s.entries[i].Session]
		at := slices.Index(all, i)
		return all[max(0, at-radius):min(len(all), at+radius+1)]
	}
	for _, all := range sessions {
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(s.entries[a].Time, s.entries[b].Time) })
	}
	size := func(list []int) (n float64) {
		for _, i := range list {
			n += float64(s.docs[i].Len)
		}
		return n
	}
	count := func(list []int, t *Term) (n float64) {
		for _, i := range list {
			one := 0.0
			for _, f := range s.docs[i].Terms {
				if slices.Contains(t.texts(), f.Term) {
					one += MakePosting(0, f.N).frequency() // large ones are rounded
				}
			}
			n += MakePosting(0, int(one)).frequency() * min(1, one)
		}
		return n
	}
	everything := make([]int, len(s.docs))
	average := map[int]float64{}
	inSessions := 0.0
	for i := range s.docs {
		everything[i] = i
		if s.entries[i].Session == None {
			continue
		}
		inSessions++
		for _, radius := range []int{2, 6} {
			average[radius] += size(around(i, radius))
		}
	}
	bm25 := func(list []int, average, k1, b float64) (sum float64) {
		for i := range a.Terms {
			t := &a.Terms[i]
			df := 0.0
			for i := range s.docs {
				if count([]int{i}, t) > 0 {
					df++
				}
			}
			if tf := count(list, t); tf > 0 {
				n := float64(len(s.docs))
				df += max(0, 100-n) * max(0, 2*df/n-1) * n / (n + 20)
				idf := math.Log(1 + (max(n, 100)-df+0.5)/(df+0.5))
				sum += t.Weight * idf * tf * (k1 + 1) / (tf + k1*(1-b+b*size(list)/max(average, 1)))
			}
		}
		return sum
	}
	characters := 0.0
	for _, t := range a.Terms {
		if t.spaceless {
			characters++
		}
	}
	session := 0.2 + 0.8*characters/max(float64(len(a.Terms)), 1)
	scores := map[uint32]float64{}
	base := func(i int) float64 { return bm25([]int{i}, size(everything)/float64(len(s.docs)), 0.9, 0.4) }
	for i, e := range s.entries {
		score := base(i)
		if all := sessions[e.Session]; e.Session != None && len(all) > 1 {
			if at := slices.Index(all, i); at > 0 {
				weight := 0.3
				if s.docs[all[at-1]].Question {
					weight += 0.5
				}
				score += weight * base(all[at-1])
			}
			score += 1.25*bm25(around(i, 2), average[2]/inSessions, 1.2, 0.75) + 0.75*bm25(around(i, 6), average[6]/inSessions, 1.2, 0.75)
			if score > 0 {
				score += session * bm25(all, size(everything)/float64(len(sessions)), 1.2, 0.75)
			}
		} else {
			score *= 1 + 1.25 + 0.75 + session
		}
		boost := 1.0
		if slices.Contains(a.Speakers, e.Speaker) {
			boost += 0.75
		}
		if a.When && e.Timed {
			boost += 0.5
		}
		if e.Question {
			boost -= 0.3
		}
		fit, _ := a.dateMatch(e.Time, time.UTC)
		boost += fit
		recent := 0.05
		if a.Newest {
			recent = 0.5
		}
		age := max(0, now.Sub(time.UnixMilli(e.Time)).Hours()/24)
		length := 1 + 0.1*min(1, math.Log(1+float64(s.docs[i].Len))/math.Log(20))
		score *= boost * length * (1 + recent*math.Exp(-age/30))
		if score > 0 {
			scores[uint32(i)] = score
		}
	}
	return scores
}

func TestSearchIsTheFormula(t *testing.T) {
	words := strings.Fields("dog pet camp kids painted yesterday 2023 violin What went 学习 小提琴 昨天 June beach friends yoga")
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf()
		text := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 9).Draw(rt, "words"), " ") + rapid.SampledFrom([]string{"", ".", "?"}).Draw(rt, "end")
		})
		start := time.Date(2023, 6, 1, 0, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 40).Draw(rt, "memories") {
			at := start.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "day")) * 24 * time.Hour)
			speaker := rapid.SampledFrom([]string{"", "Ann", "Melanie"}).Draw(rt, "speaker")
			s.add(rapid.Int32Range(None, 3).Draw(rt, "session"), at, speaker, text.Draw(rt, "text"))
		}
		q := Query{Text: text.Draw(rt, "query") + rapid.SampledFrom([]string{"", " Ann", " Mel's", " when", " on 5 June 2023", " now", " in June"}).Draw(rt, "more"), Session: None, Now: start.AddDate(0, 1, 0)}
		r := s.search(rt, q)
		if !slices.ContainsFunc(r.Analysis.Terms, func(x Term) bool { return len(s.postings[x.Text]) > 0 }) {
			return // all of a speaker or a time, or nothing
		}
		hasTime := len(r.Analysis.periods) > 0
		if !slices.ContainsFunc(r.Analysis.Terms, func(x Term) bool {
			return !x.isDate && !(hasTime && x.weak) && (len(s.postings[x.Text]) > 0 || !x.optional)
		}) {
			return // only a time is asked for: the memories of that time
		}
		want := s.formula(&r.Analysis, q.Now)
		for i, h := range r.Hits {
			if math.Abs(h.Score-want[h.Seq]) > 1e-5*want[h.Seq] {
				rt.Errorf("%q: the score of %d is %v, want %v", q.Text, h.Seq, h.Score, want[h.Seq])
			}
			if i > 0 && h.Score > r.Hits[i-1].Score {
				rt.Errorf("%q: the %d. is better than the one before", q.Text, i)
			}
		}
		if len(r.Hits) != len(want) {
			rt.Errorf("%q: %d hits, want %d", q.Text, len(r.Hits), len(want))
		}
	})
}

// TestAppend: an index that grew equals one that was made at once.
func TestAppend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Entry {
			return Entry{
				Time: rapid.Int64Range(0, 9).Draw(rt, "time"), Session: rapid.Int32Range(None, 2).Draw(rt, "session"),
				Speaker: rapid.Int32Range(None, 2).Draw(rt, "speaker"), Len: rapid.Int32Range(0, 9).Draw(rt, "length"), Deleted: rapid.IntRange(0, 4).Draw(rt, "deleted") == 0,
			}
		}), 0, 40).Draw(rt, "entries")
		grown := NewIndex(nil)
		for _, e := range entries {
			grown.Append(e)
		}
		if a, b := fmt.Sprintf("%+v", *grown), fmt.Sprintf("%+v", *NewIndex(slices.Clone(entries))); strings.ReplaceAll(a, "[]", "<nil>") != strings.ReplaceAll(b, "[]", "<nil>") {
			rt.Errorf("it grew to\n%s, made at once it is\n%s", a, b)
		}
	})
}

func TestRelevance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := calibration{best: rapid.Float64Range(0, 100).Draw(rt, "best"), certainty: rapid.Float64Range(-5, 8).Draw(rt, "certainty")}
		a, b := rapid.Float64Range(0, 100).Draw(rt, "a"), rapid.Float64Range(0, 100).Draw(rt, "b")
		low, high := s.relevanceOf(min(a, b)), s.relevanceOf(max(a, b))
		if low > high || low < 0 || high > 1 || math.IsNaN(low+high) {
			rt.Errorf("%+v: %v for %v, %v for %v", s, low, min(a, b), high, max(a, b))
		}
	})
}

// TestCut: answers to known things are above the default cut, answers to unknown ones below it.
func TestCut(t *testing.T) {
	s := newShelf()
	for i := range 200 {
		s.add(int32(i/10), wednesday.AddDate(0, 0, -i), []string{"Ann", "Ben"}[i%2], fmt.Sprintf("We talked about the weather and lunch number %d, nothing special.", i))
	}
	s.add(20, wednesday, "Ann", "My sister plays the violin in an orchestra in Vienna.")
	s.add(20, wednesday, "Ben", "Which pieces does she like?")
	s.add(20, wednesday, "Ann", "Mostly Brahms.")
	for text, want := range map[string]bool{
		"Who plays the violin?": true, "What does Ann's sister do in Vienna?": true, "Which orchestra does Ann's sister play in?": true,
		"When did Tom buy a motorcycle in Norway?": false, "What is the capital of Peru?": false, "quantum chromodynamics": false,
		"Where did Priya hide the silver key from her uncle?": false,
	} {
		r := s.search(t, Query{Text: text, Session: None})
		if got := len(r.Hits) > 0 && r.Relevance(r.Hits[0].Score) > 0.5; got != want {
			t.Errorf("%q: something relevant %v, want %v: %+v, certainty %v", text, got, want, r.Hits[:min(1, len(r.Hits))], r.calibration.certainty)
		}
	}
	r := s.search(t, Query{Text: "Which pieces does Ann's sister like?", Session: None})
	if r.Hits[0].Seq != 202 {
		t.Errorf("the answer is not before its question: %+v", r.Hits[:2])
	}
}

// A memory that has all words of the question comes before talks that have one of them, whether it is alone in its
// session or in none.
func TestAloneBesideTalks(t *testing.T) {
	for _, session := range []int32{2, None} {
		s := newShelf()
		for i := range 12 {
			s.add(int32(i/6), wednesday.Add(time.Duration(i)*time.Second), "", fmt.Sprintf("writer%d says word%d", i/6, i%6))
		}
		s.add(session, wednesday, "", "writer4 says word0")
		r := s.search(t, Query{Text: "writer4 word0", Session: None})
		if best := r.Hits[0]; best.Seq != 12 || r.Relevance(best.Score) <= 0.5 {
			t.Errorf("in session %d the best of the hits is %+v, relevance %v", session, best, r.Relevance(best.Score))
		}
	}
}

func TestExtras(t *testing.T) {
	s := newShelf()
	s.add(None, wednesday, "", "He arrived late.")
	s.add(None, wednesday, "", "The soup was cold.")
	s.addExtra(1, "complaints about the restaurant", 1, 1, 99)
	s.addExtra(0.3, "restaurant", 0)
	r := s.search(t, Query{Text: "restaurant complaints", Session: None})
	if len(r.Hits) != 2 || r.Hits[0].Seq != 1 || r.Hits[0].InWindow {
		t.Errorf("by their snapshots: %+v", r.Hits)
	}
	if got := s.index.ExtrasOf(1); !slices.Equal(got, []string{"snapshot_0"}) {
		t.Errorf("the snapshots of 1 are %v", got)
	}
}

// If a query names a day and nothing else, memories of that day are worth showing; memories of the days around it
// only if none is of that day.
func TestOnlyADay(t *testing.T) {
	s := newShelf()
	for day := 6; day <= 9; day++ {
		s.add(None, time.Date(2026, 5, day, 10, 0, 0, 0, time.UTC), "", fmt.Sprint("note ", day))
	}
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string][]uint32{
		"5月7日发生了什么": {1}, "what happened on May 8": {2}, "5月6日": {0}, "5月10日发生了什么": {3}, "what happened on 20 April": nil,
	} {
		r := s.search(t, Query{Text: text, Session: None, Now: now})
		var shown []uint32
		for _, h := range r.Hits {
			if r.Relevance(h.Score) > 0.5 {
				shown = append(shown, h.Seq)
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("%s: %v are shown, want %v", text, shown, want)
		}
	}
}

// Beside a time, words that say little only order the memories of that time, and a holiday is found by its name
// too.
func TestATimeAndLittleElse(t *testing.T) {
	s := newShelf()
	s.add(None, time.Date(2026, 10, 2, 10, 0, 0, 0, time.UTC), "", "爬了长城")
	s.add(None, time.Date(2026, 10, 3, 10, 0, 0, 0, time.UTC), "", "去天坛")
	s.add(None, time.Date(2026, 7, 3, 10, 0, 0, 0, time.UTC), "", "去海边")
	s.add(None, time.Date(2026, 9, 20, 10, 0, 0, 0, time.UTC), "", "国庆打算看京剧")
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string][]uint32{"国庆节去了哪里": {1, 0, 3}, "国庆节做了什么": {1, 0, 3}, "国庆节有什么事": {1, 0, 3}, "国庆节发生了什么事情": {1, 0, 3}, "国庆节干嘛了": {1, 0, 3}, "10月2号去哪了": {0}, "去年国庆去了哪里": {3}} {
		r := s.search(t, Query{Text: text, Session: None, Now: now})
		var shown []uint32
		for _, h := range r.Hits {
			if r.Relevance(h.Score) > 0.5 {
				shown = append(shown, h.Seq)
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("%s: %v are shown, want %v", text, shown, want)
		}
	}
}

// The time before or after a day is not the day, and a part of a day is not a word of the query.
func TestTimesBesideADay(t *testing.T) {
	s := newShelf()
	for _, day := range []int{29, 30, 31, 33, 38} { // from 29 September to 8 October
		s.add(None, time.Date(2026, 9, day, 20, 0, 0, 0, time.UTC), "", fmt.Sprint("国庆笔记", day))
	}
	s.add(None, time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), "", "早上的笔记")
	s.add(None, time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC), "", "吃火锅")
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string][]uint32{
		"国庆前一天做了什么": {1}, "国庆之前做了什么": {1, 0}, "国庆之后做了什么": {6, 5, 4}, "昨天晚上做了什么": {6}, "昨天早上做了什么": {5}, "10月1号和3号做了什么": {3, 2}, "before October 1": {1, 0},
		"上上周做了什么": nil, "周日晚上去了哪": {6},
	} {
		r := s.search(t, Query{Text: text, Session: None, Now: now})
		var shown []uint32
		for _, h := range r.Hits {
			if r.Relevance(h.Score) > 0.5 {
				shown = append(shown, h.Seq)
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("%s: %v are shown, want %v", text, shown, want)
		}
	}
}

func TestCanceled(t *testing.T) {
	s := newShelf()
	s.add(None, wednesday, "", "some words")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Search(ctx, s.index, s, &Query{Text: "words", Limit: 1, Session: None}); err == nil {
		t.Error("no error")
	}
}
