// Package packed is what the memory stores share: how postings and entries lie in blobs,
// what a process knows of a user's memories, and the codec of rows.
//
// A user's memories have numbers from 0; new ones are the tail. The words of the tail are
// read from the memories themselves, until the store folds them: it packs the words of
// some hundred memories into chunks of postings, and their entries into chunks of entries,
// at once. So a save writes little, and a search reads a few rows for each term.
package packed

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// When the tail is folded: see the package comment.
const (
	// FoldAt memories are folded in the change that brings them; once so many are in the
	// tail, it is folded in the background.
	FoldAt = 256
	// MaxTail is the maximum number of memories in the tail.
	MaxTail = 4 * FoldAt
	// LongText is the number of bytes of a text from which on it is folded in the
	// background: reading it takes as long as reading many.
	LongText = 4 << 10
	// MaxText bytes are folded in the change that brings them.
	MaxText = 4 << 20
	// FoldedAtOnce bounds the memories whose words are in the heap during a fold.
	FoldedAtOnce = 4096
	// WordsAtOnce bounds their words, apart from those of the last memory.
	WordsAtOnce = 1 << 17
)

// Document is a memory in the index: its entry and its terms.
type Document struct {
	Entry rank.Entry
	Terms []rank.Frequency
}

// DocumentOf returns a memory as a document, without the numbers of its session and
// speaker.
func DocumentOf(m *memory.BaseMemory) (d Document, speaker string) {
	doc := rank.Analyze(m.Content, m.Speaker())
	return Document{
		Entry: rank.Entry{Time: m.Timestamp.UnixMilli(), Session: rank.None, Speaker: rank.None, Len: int32(doc.Len),
			Timed: doc.MentionsTime, Question: doc.Question, Utterance: m.Role() != ""},
		Terms: doc.Terms,
	}, doc.Speaker
}

// Deleted is the entry of a memory that does not exist any more.
var Deleted = rank.Entry{Session: rank.None, Speaker: rank.None, Deleted: true}

// Place is where a chunk of postings is: its term and its number. Chunks of snapshots have
// negative numbers.
type Place struct {
	Term  string
	Chunk int64
}

// Lists are chunks of postings by their place.
type Lists map[Place][]byte

// AddDocument adds the postings of the memory with a number.
func (l Lists) AddDocument(seq int64, terms []rank.Frequency) {
	for _, f := range terms {
		at := Place{f.Term, seq >> PostingBits}
		l[at] = AppendPosting(l[at], rank.MakePosting(uint32(seq), f.N))
	}
}

// AddExtra adds the postings of the snapshot with a number.
func (l Lists) AddExtra(number int64, text string) {
	for _, f := range rank.Analyze(text, "").Terms {
		at := Place{f.Term, -1 - number>>PostingBits}
		l[at] = AppendPosting(l[at], rank.MakePosting(uint32(number), f.N))
	}
}

// Removed are postings to be removed: by their place, the lower bits of the numbers.
type Removed map[Place]map[uint16]bool

// AddDocument adds the postings of the memory with a number.
func (r Removed) AddDocument(seq int64, terms []rank.Frequency) {
	for _, f := range terms {
		r.add(Place{f.Term, seq >> PostingBits}, seq)
	}
}

// AddExtra adds the postings of the snapshot with a number.
func (r Removed) AddExtra(number int64, text string) {
	for _, f := range rank.Analyze(text, "").Terms {
		r.add(Place{f.Term, -1 - number>>PostingBits}, number)
	}
}

func (r Removed) add(at Place, number int64) {
	if r[at] == nil {
		r[at] = map[uint16]bool{}
	}
	r[at][uint16(number&(PostingChunk-1))] = true
}

// SortedPlaces returns the keys of a map in the order of the table.
func SortedPlaces[V any](lists map[Place]V) []Place {
	places := make([]Place, 0, len(lists))
	for at := range lists {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b Place) int {
		if a.Term != b.Term {
			return strings.Compare(a.Term, b.Term)
		}
		return int(a.Chunk - b.Chunk)
	})
	return places
}

// TextOf returns the text of a snapshot or a meta snapshot by its body.
func TextOf(kind memory.Kind, body value.Value) (string, error) {
	if kind == memory.SnapshotID {
		var x memory.MemorySnapshot
		err := x.DecodeValue(body)
		return x.Text(), err
	}
	var x memory.MetaSnapshot
	err := x.DecodeValue(body)
	return x.Text(), err
}
