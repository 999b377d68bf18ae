package packed

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// Reader reads the index of one user. A store makes one for each read; it sees the state of one moment.
type Reader interface {
	// Entries returns the entries with numbers from from on, below until.
	Entries(ctx context.Context, from, until int64) ([]rank.Entry, error)
	// Speakers returns the names with numbers from from on, in their order.
	Speakers(ctx context.Context, from int) ([]string, error)
	// Documents returns the n memories from a number on, or the first of them if together they have too many
	// words. speaker returns the number of a name; it is called in the order of the memories, so that all readers
	// number new names alike.
	Documents(ctx context.Context, from, n int64, speaker func(name string) (int32, error)) ([]Document, error)
	// Extras returns the snapshots with numbers from from on.
	Extras(ctx context.Context, from int64) ([]Extra, error)
}

// Extra is a snapshot or a meta snapshot in the index, with its number.
type Extra struct {
	rank.Extra
	Number int64
}

// State says how many of a user's memories there are, or how many of them an index has.
type State struct {
	// N is the number of memories so far, deleted ones included; the memories below Folded are in the postings.
	N, Folded int64
	// Extras is the number of snapshots and meta snapshots so far.
	Extras int64
	// Generation grows when something that was there is changed.
	Generation int64
}

// isOlderThan reports whether s is older than o. Within a generation everything only
// grows.
func (s State) isOlderThan(o State) bool {
	if s.Generation != o.Generation {
		return s.Generation < o.Generation
	}
	return s.N < o.N || s.Folded < o.Folded || s.Extras < o.Extras
}

// The shares of an index in the common limit.
const (
	// EntryCost and WordCost are the approximate sizes of an entry and of a word of the tail, in bytes.
	EntryCost = 56
	WordCost  = 16
)

// maxIndexed bounds the indexes in the heap, in bytes: a million memories and more.
const maxIndexed = 100 << 20

// Indexes are the indexes that a process has in its heap, by user. A store creates them
// with [NewIndexes]; they are safe for concurrent use.
type Indexes struct {
	wrong error

	mu     sync.Mutex // guards the fields below
	limit  int64
	byUser map[int64]*Index
}

// NewIndexes returns an empty collection. wrong is the error for an index that contradicts
// itself or the memories.
func NewIndexes(wrong error) *Indexes {
	return &Indexes{wrong: wrong, limit: maxIndexed, byUser: map[int64]*Index{}}
}

// SetLimit sets how many bytes of all indexes stay in the heap.
func (x *Indexes) SetLimit(bytes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.limit = bytes
}

// Len returns the number of indexes in the heap.
func (x *Indexes) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.byUser)
}

// Use brings the index of a user to the state that its reader sees and calls do with it.
// again is true if the index is newer than that: then do was not called, and the caller
// reads again.
func (x *Indexes) Use(ctx context.Context, user int64, seen State, from Reader, do func(*Index) error) (again bool, err error) {
	ix := x.find(user, seen.N)
	if err := ix.catchUp(ctx, seen, from); err != nil {
		return false, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if ix.State != seen {
		return true, nil
	}
	return false, do(ix)
}

// Drop drops the index of a user.
func (x *Indexes) Drop(user int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byUser, user)
}

// find returns the index of a user with n memories.
func (x *Indexes) find(user, n int64) *Index {
	x.mu.Lock()
	defer x.mu.Unlock()
	ix := x.byUser[user]
	if ix == nil {
		x.evictLocked(n * EntryCost)
		ix = &Index{wrong: x.wrong}
		x.byUser[user] = ix
	}
	return ix
}

// evictLocked drops indexes that are not in use until a new one of room bytes fits.
func (x *Indexes) evictLocked(room int64) {
	for id, ix := range x.byUser {
		if !ix.mu.TryRLock() {
			continue
		}
		if cost := ix.heapSize(); room+cost > x.limit {
			delete(x.byUser, id)
		} else {
			room += cost
		}
		ix.mu.RUnlock()
	}
}

// Index is a process's copy of the index of one user's memories: everything but their words, and the words of the
// tail. [Indexes.Use] hands it out; it must not be kept longer.
type Index struct {
	wrong error

	mu sync.RWMutex // guards the fields below
	State
	*rank.Index
	tail []tailWord
}

// tailWord is a word of a memory in the tail. Most users have a tail, so it is small:
// of the word it has a hash long enough that no two words collide.
type tailWord struct {
	word    uint64
	posting rank.Posting
}

var wordSeed = maphash.MakeSeed()

// heapSize returns the share of the index in the limit.
func (x *Index) heapSize() int64 { return x.N*EntryCost + int64(cap(x.tail))*WordCost }

// TailPostings appends the postings of a term in the tail.
func (x *Index) TailPostings(term string, to []rank.Posting) []rank.Posting {
	word := maphash.String(wordSeed, term)
	for _, w := range x.tail {
		if w.word == word {
			to = append(to, w.posting)
		}
	}
	return to
}

// catchUp brings the index to the state that a reader sees, unless it is newer.
func (x *Index) catchUp(ctx context.Context, seen State, from Reader) error {
	x.mu.RLock()
	known := x.State == seen || seen.isOlderThan(x.State)
	x.mu.RUnlock()
	if known {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.isOlderThan(seen) {
		return nil
	}
	if err := x.readChanges(ctx, seen, from); err != nil {
		x.Index, x.State = nil, State{} // it may be incomplete
		return err
	}
	x.State = seen
	return nil
}

func (x *Index) readChanges(ctx context.Context, seen State, from Reader) error {
	if x.Index == nil || x.Generation != seen.Generation {
		return x.reload(ctx, seen, from)
	}
	if x.Folded != seen.Folded {
		x.dropTail(seen.Folded)
		x.Folded = seen.Folded
	}
	if err := x.readNew(ctx, seen, from); err != nil {
		return err
	}
	if x.State.Extras == seen.Extras {
		return nil
	}
	return x.readExtras(ctx, x.State.Extras, from)
}

// readNew reads the memories that were saved since the last read.
func (x *Index) readNew(ctx context.Context, seen State, from Reader) error {
	if x.N == seen.N {
		return nil
	}
	if err := x.readSpeakers(ctx, from); err != nil {
		return err
	}
	if x.N < seen.Folded { // they went into the postings meanwhile
		entries, err := from.Entries(ctx, x.N, seen.Folded)
		if err != nil {
			return err
		}
		for _, e := range entries {
			x.Append(e)
		}
		x.N = seen.Folded
	}
	return x.readTail(ctx, x.N, seen.N, from)
}

// dropTail drops the words of memories below a number: they are in the postings.
func (x *Index) dropTail(folded int64) {
	x.tail = slices.DeleteFunc(x.tail, func(w tailWord) bool { return int64(w.posting.Seq()) < folded })
	if len(x.tail) == 0 {
		x.tail = nil
	}
}

// reload reads everything.
func (x *Index) reload(ctx context.Context, seen State, from Reader) error {
	entries, err := from.Entries(ctx, 0, seen.Folded)
	if err != nil {
		return err
	}
	if int64(len(entries)) != seen.Folded {
		return x.wrong
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	x.Index, x.tail = rank.NewIndex(entries), nil
	if err := x.readSpeakers(ctx, from); err != nil {
		return err
	}
	if err := x.readTail(ctx, seen.Folded, seen.N, from); err != nil {
		return err
	}
	return x.readExtras(ctx, 0, from)
}

func (x *Index) readSpeakers(ctx context.Context, from Reader) error {
	names, err := from.Speakers(ctx, len(x.Speakers))
	x.Speakers = append(x.Speakers, names...)
	return err
}

// readTail reads memories that are not in the postings.
func (x *Index) readTail(ctx context.Context, first, until int64, from Reader) error {
	if until-first > 2*MaxTail {
		return x.wrong // rowids that no user has
	}
	for first < until {
		docs, err := from.Documents(ctx, first, until-first, x.speakerNumber)
		if err != nil {
			return err
		}
		words := 0
		for i := range docs {
			words += len(docs[i].Terms)
		}
		x.tail = slices.Grow(x.tail, words)
		for i := range docs {
			x.Append(docs[i].Entry)
			for _, f := range docs[i].Terms {
				x.tail = append(x.tail, tailWord{maphash.String(wordSeed, f.Term), rank.MakePosting(uint32(first)+uint32(i), f.N)})
			}
		}
		first += int64(len(docs))
	}
	return nil
}

// speakerNumber returns the number of a speaker; of a new one, the number that folding
// will give it.
func (x *Index) speakerNumber(name string) (int32, error) {
	number := slices.Index(x.Speakers, name)
	if number < 0 {
		number = len(x.Speakers)
		x.Speakers = append(x.Speakers, name)
	}
	return int32(number), nil
}

// readExtras reads the snapshots from a number on.
func (x *Index) readExtras(ctx context.Context, first int64, from Reader) error {
	found, err := from.Extras(ctx, first)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b Extra) int { return cmp.Compare(a.Number, b.Number) })
	for _, e := range found {
		for int64(len(x.Index.Extras)) < e.Number {
			x.AddExtra(rank.Extra{}) // a deleted one
		}
		x.AddExtra(e.Extra)
	}
	return nil
}

// Documents collects memories for [Reader.Documents]. [NewDocuments] creates it for one
// call.
type Documents struct {
	docs     []Document
	speakers []string
	words    int
}

// NewDocuments returns room for n memories; the ones that are not added are deleted memories, which keep their
// numbers.
func NewDocuments(n int64) *Documents {
	d := &Documents{docs: make([]Document, n), speakers: make([]string, n)}
	for i := range d.docs {
		d.docs[i].Entry = Deleted
	}
	return d
}

// Set sets the i-th memory, its words included. It returns false once there are enough
// words: then the documents end with that memory.
func (d *Documents) Set(i int64, session int32, doc Document, speaker string) (more bool) {
	d.docs[i], d.speakers[i] = doc, speaker
	d.docs[i].Entry.Session = session
	d.words += len(doc.Terms)
	if d.words >= WordsAtOnce {
		d.docs = d.docs[:i+1]
		return false
	}
	return true
}

// Number returns the documents with the numbers of their speakers.
func (d *Documents) Number(speaker func(name string) (int32, error)) ([]Document, error) {
	for i, name := range d.speakers[:len(d.docs)] {
		if name == "" {
			continue
		}
		var err error
		d.docs[i].Entry.Speaker, err = speaker(name)
		if err != nil {
			return nil, err
		}
	}
	return d.docs, nil
}

// NewEntries returns room for the entries from a number on, below until, and for some more,
// so that the next memory does not copy all.
func NewEntries(from, until int64) []rank.Entry {
	n := max(until-from>>EntryBits<<EntryBits, 0)
	return make([]rank.Entry, 0, n+min(n/8+8, roomToGrow))
}

// roomToGrow bounds the spare entries.
const roomToGrow = 1024

// AppendEntries appends the entries of a chunk.
func AppendEntries(to []rank.Entry, chunk []byte) []rank.Entry {
	for ; len(chunk) >= EntrySize; chunk = chunk[EntrySize:] {
		to = append(to, ReadEntry(chunk))
	}
	return to
}

// CutEntries drops the entries before the number from; entries are the entries of whole chunks.
func CutEntries(entries []rank.Entry, from int64) []rank.Entry {
	return entries[min(int(from&(EntryChunk-1)), len(entries)):]
}
