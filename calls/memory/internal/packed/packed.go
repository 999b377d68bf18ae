// Package packed is shared by the memory stores: the format of postings and entries in blobs, a process's copy of
// a user's index, and the codec of rows.
//
// A user's memories have numbers from 0; new ones are the tail. The words of the tail are read from the memories
// themselves, until the store folds them: it packs the words of some hundred memories into chunks of postings, and
// their entries into chunks of entries, at once. So a save writes little, and a search reads a few rows for each
// term: for example a search for a word in 100,000 memories reads its chunks, and the memories of the tail.
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
	// FoldAt is the number of new memories from which the change itself folds them; once the tail has so many, it
	// is folded in the background.
	FoldAt = 256
	// MaxTail is the maximum number of memories in the tail.
	MaxTail = 4 * FoldAt
	// LongText is the number of bytes from which a text is folded in the background: reading it takes as long as
	// reading many.
	LongText = 4 << 10
	// MaxText bytes are folded in the change that brings them.
	MaxText = 4 << 20
	// FoldedAtOnce bounds the memories whose words are in the heap during a fold.
	FoldedAtOnce = 4096
	// WordsAtOnce bounds their words, not counting the last memory's.
	WordsAtOnce = 1 << 17
)

// Growth is one change's additions to the memories of a user.
type Growth struct {
	memories, bytes int
	isLong          bool // one of them is
}

// Add adds a memory with a text.
func (g *Growth) Add(text string) {
	g.memories++
	g.bytes += len(text)
	g.isLong = g.isLong || len(text) > LongText
}

// MustFold reports whether the change itself folds the tail; tail is the number of memories in it after the
// change.
func (g Growth) MustFold(tail int64) bool {
	return g.memories >= FoldAt || tail >= MaxTail || g.bytes >= MaxText
}

// FoldsLater reports whether the tail that the change leaves is folded in the background.
func (g Growth) FoldsLater(tail int64) bool {
	return tail >= FoldAt || g.isLong && tail > 0
}

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

// Place identifies a chunk of postings: its term and its number. Chunks of snapshots have negative numbers.
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

// Pack returns the chunks of postings of documents, and the chunks of their entries by number; first is the number
// of the first document.
func Pack(first int64, docs []Document) (lists Lists, entries map[int64][]byte) {
	lists, entries = Lists{}, map[int64][]byte{}
	for i := range docs {
		seq := first + int64(i)
		chunk := seq >> EntryBits
		entries[chunk] = AppendEntry(entries[chunk], docs[i].Entry)
		lists.AddDocument(seq, docs[i].Terms)
	}
	return lists, entries
}

// Removed are postings to be removed: by their place, the lower bits of the numbers.
type Removed map[Place]map[uint16]bool

// AddDocument adds the postings of a memory by its number.
func (r Removed) AddDocument(seq int64, m *memory.BaseMemory) {
	for _, f := range rank.Analyze(m.Content, m.Speaker()).Terms {
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
		x, err := DecodeSnapshot(body)
		return x.Text(), err
	}
	x, err := DecodeMeta(body)
	return x.Text(), err
}

// DecodeSnapshot reads the body of a snapshot.
func DecodeSnapshot(body value.Value) (x memory.MemorySnapshot, err error) {
	err = x.DecodeValue(body)
	return x, err
}

// DecodeMeta reads the body of a meta snapshot.
func DecodeMeta(body value.Value) (x memory.MetaSnapshot, err error) {
	err = x.DecodeValue(body)
	return x, err
}
