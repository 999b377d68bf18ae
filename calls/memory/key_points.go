package memory

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// A key point speaks of a memory that has so many of its words, or such a part of the words of
// the shorter of both.
const (
	sharedWords = 3
	sharedPart  = 0.3
)

// keyPoint is the words of a key point that answers a query, and the memories that its snapshot
// is of.
type keyPoint struct {
	words []string
	refs  []uint32
}

// wordsOf returns the terms of a text but for single characters, which most Chinese texts share:
// of 咖啡, the pair counts.
func wordsOf(doc *rank.Document) (words []string) {
	for _, f := range doc.Terms {
		if utf8.RuneCountInString(f.Term) > 1 {
			words = append(words, f.Term)
		}
	}
	return words
}

// findSpokenOf returns the [rank.Query.SpokenOf] of a search. For each snapshot, by its id, it finds the memories
// that the key points answering the query are about. A snapshot sums up many memories, and a memory that shares no
// words with the key point is not wanted, for example a greeting in the session whose key point is a promotion.
func findSpokenOf(index UserIndex) func(context.Context, *rank.Analysis, []rank.Extra) (map[string][]uint32, error) {
	return func(ctx context.Context, a *rank.Analysis, snapshots []rank.Extra) (map[string][]uint32, error) {
		points, err := loadKeyPoints(ctx, index, a, snapshots)
		if err != nil || len(points) == 0 {
			return nil, err
		}
		if fetcher, ok := index.(rank.Fetcher); ok {
			if err := fetcher.Fetch(ctx, termsOf(points)); err != nil {
				return nil, err
			}
		}
		spoken := make(map[string][]uint32, len(points))
		for id, list := range points {
			for _, point := range list {
				found, err := point.memories(ctx, index)
				if err != nil {
					return nil, err
				}
				spoken[id] = append(spoken[id], found...)
			}
			slices.Sort(spoken[id])
			spoken[id] = slices.Compact(spoken[id])
		}
		return spoken, nil
	}
}

// loadKeyPoints returns the key points that have telling words of the query, by the ids of their
// snapshots.
func loadKeyPoints(ctx context.Context, index UserIndex, a *rank.Analysis, snapshots []rank.Extra) (map[string][]keyPoint, error) {
	var ids []string
	for _, s := range snapshots {
		if strings.HasPrefix(s.ID, string(SnapshotID)) {
			ids = append(ids, s.ID)
		}
	}
	texts, err := index.KeyPoints(ctx, ids)
	if err != nil {
		return nil, err
	}
	points := map[string][]keyPoint{}
	for _, s := range snapshots {
		for _, text := range texts[s.ID] {
			doc := rank.Analyze(text, "")
			if a.MatchMemory(&doc, text, time.Time{}).Telling {
				points[s.ID] = append(points[s.ID], keyPoint{wordsOf(&doc), s.Refs})
			}
		}
	}
	return points, nil
}

// termsOf returns the terms of key points, each once.
func termsOf(points map[string][]keyPoint) (terms []string) {
	for _, list := range points {
		for _, point := range list {
			terms = append(terms, point.words...)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// memories returns the memories that the key point speaks of, by their words.
func (k *keyPoint) memories(ctx context.Context, index UserIndex) (found []uint32, err error) {
	shared := make(map[uint32]int, len(k.refs))
	for _, n := range k.refs {
		shared[n] = 0
	}
	var postings []rank.Posting
	for _, word := range k.words {
		postings, err = index.Postings(ctx, word, postings[:0])
		if err != nil {
			return nil, err
		}
		for _, p := range postings {
			if n, isRef := shared[p.Seq()]; isRef {
				shared[p.Seq()] = n + 1
			}
		}
	}
	ix := index.Index()
	for n, count := range shared {
		if int(n) >= ix.Len() {
			continue // saved after the index was read
		}
		shorter := min(len(k.words), int(ix.Entry(n).Len))
		if count >= sharedWords || count > 0 && float64(count) >= sharedPart*float64(shorter) {
			found = append(found, n)
		}
	}
	return found, nil
}
