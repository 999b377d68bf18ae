package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// maxIndexed bounds the indexes in the heap, in bytes: a million memories and more.
const maxIndexed = 100 << 20

// What an entry and a word of the tail take of that, about.
const (
	// entryCost and wordCost are about what an entry and a word of the tail take of that.
	entryCost = 56
	wordCost  = 16
)

// userIndex is what this process knows of one user's memories: everything but their
// words, and the words of the tail. Reads bring it up to date. It is guarded by its mu.
type userIndex struct {
	user int64

	mu sync.RWMutex
	indexState
	index *rank.Index
	tail  []tailWord
}

// tailWord is a word of a memory in the tail. Most users have a tail, so it is small:
// of the word it has a hash long enough that no two words collide.
type tailWord struct {
	word    uint64
	posting rank.Posting
}

var wordSeed = maphash.MakeSeed()

// heapSize returns what the index takes of maxIndexed.
func (sh *userIndex) heapSize() int64 { return sh.n*entryCost + int64(cap(sh.tail))*wordCost }

// roomToGrow bounds the spare entries, so that the next memory does not copy all.
const roomToGrow = 1024

// indexState is how much of a user's memories an index has.
type indexState struct{ n, folded, extras, generation int64 }

// isOlderThan reports whether s is older than o. Within a generation everything only
// grows.
func (s indexState) isOlderThan(o indexState) bool {
	if s.generation != o.generation {
		return s.generation < o.generation
	}
	return s.n < o.n || s.folded < o.folded || s.extras < o.extras
}

// withUser calls f with the memories of a user, unless there is no such user.
func (s *Store) withUser(ctx context.Context, name string, f func(*view) error) error {
	for again := true; again; {
		again = false
		err := s.db.Read(ctx, func(c *sqlitefile.Conn) error {
			sh, seen, err := s.findIndex(c, name)
			if sh == nil {
				return err
			}
			if err := sh.catchUp(ctx, c, seen); err != nil {
				return err
			}
			sh.mu.RLock()
			defer sh.mu.RUnlock()
			if sh.indexState != seen {
				again = true // another reader knows more by now: look again
				return nil
			}
			return f(&view{sh, c})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findIndex returns the index of a user and the state of the file; nil if there is no
// such user.
func (s *Store) findIndex(c *sqlitefile.Conn, name string) (sh *userIndex, seen indexState, err error) {
	var id int64
	var analysis int
	found, err := c.QueryRow("SELECT id, "+nextNumber+", folded, extras, generation, analysis FROM user WHERE name = ?", []any{name},
		&id, &seen.n, &seen.folded, &seen.extras, &seen.generation, &analysis)
	if !found {
		return nil, seen, err
	}
	if err := checkAnalysis(analysis); err != nil {
		return nil, seen, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh = s.indexes[id]
	if sh == nil {
		s.evictIndexes(seen.n * entryCost)
		sh = &userIndex{user: id}
		s.indexes[id] = sh
	}
	return sh, seen, nil
}

// evictIndexes drops indexes until there is room for so many bytes, but none that is in
// use.
func (s *Store) evictIndexes(room int64) {
	for id, sh := range s.indexes {
		if !sh.mu.TryRLock() {
			continue
		}
		if cost := sh.heapSize(); room+cost > s.maxIndexed {
			delete(s.indexes, id)
		} else {
			room += cost
		}
		sh.mu.RUnlock()
	}
}

// catchUp brings the index to the state of the file, unless it is newer.
func (sh *userIndex) catchUp(ctx context.Context, c *sqlitefile.Conn, seen indexState) error {
	sh.mu.RLock()
	known := sh.indexState == seen || seen.isOlderThan(sh.indexState)
	sh.mu.RUnlock()
	if known {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.isOlderThan(seen) {
		return nil
	}
	if err := sh.readChanges(ctx, c, seen); err != nil {
		sh.index, sh.indexState = nil, indexState{} // half of it may be there
		return err
	}
	sh.indexState = seen
	return nil
}

func (sh *userIndex) readChanges(ctx context.Context, c *sqlitefile.Conn, seen indexState) error {
	if sh.index == nil || sh.generation != seen.generation {
		return sh.reload(ctx, c, seen)
	}
	if sh.folded != seen.folded {
		sh.dropTail(seen.folded)
		sh.folded = seen.folded
	}
	if err := sh.readNew(c, seen); err != nil {
		return err
	}
	if sh.extras == seen.extras {
		return nil
	}
	return sh.readExtras(c, sh.extras)
}

// readNew reads the memories that were saved since the last read.
func (sh *userIndex) readNew(c *sqlitefile.Conn, seen indexState) error {
	if sh.n == seen.n {
		return nil
	}
	if err := sh.readSpeakers(c); err != nil {
		return err
	}
	if sh.n < seen.folded { // they went into the postings meanwhile
		entries, err := readEntries(c, sh.user, sh.n, seen.folded)
		if err != nil {
			return err
		}
		for _, e := range entries {
			sh.index.Append(e)
		}
		sh.n = seen.folded
	}
	return sh.readTail(c, sh.n, seen.n)
}

// dropTail drops the words of memories below a number: they are in the postings.
func (sh *userIndex) dropTail(folded int64) {
	sh.tail = slices.DeleteFunc(sh.tail, func(w tailWord) bool { return int64(w.posting.Seq()) < folded })
	if len(sh.tail) == 0 {
		sh.tail = nil
	}
}

// reload reads everything.
func (sh *userIndex) reload(ctx context.Context, c *sqlitefile.Conn, seen indexState) error {
	entries, err := readEntries(c, sh.user, 0, seen.folded)
	if err != nil {
		return err
	}
	if int64(len(entries)) != seen.folded {
		return errIndex
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	sh.index, sh.tail = rank.NewIndex(entries), nil
	if err := sh.readSpeakers(c); err != nil {
		return err
	}
	if err := sh.readTail(c, seen.folded, seen.n); err != nil {
		return err
	}
	return sh.readExtras(c, 0)
}

// readEntries reads the entries from a number on. until is how many there are.
func readEntries(c *sqlitefile.Conn, user, from, until int64) (entries []rank.Entry, err error) {
	first := from >> entryBits
	n := max(until-first<<entryBits, 0)
	entries = make([]rank.Entry, 0, n+min(n/8+8, roomToGrow))
	err = c.QueryRows("SELECT data FROM entry WHERE user = ? AND chunk >= ? ORDER BY chunk", []any{user, first}, func(scan func(...any) error) error {
		var b sql.RawBytes
		if err := scan(&b); err != nil {
			return err
		}
		for ; len(b) >= entrySize; b = b[entrySize:] {
			entries = append(entries, readEntry(b))
		}
		return nil
	})
	return entries[min(int(from-first<<entryBits), len(entries)):], err
}

func (sh *userIndex) readSpeakers(c *sqlitefile.Conn) error {
	return c.QueryRows("SELECT name FROM speaker WHERE user = ? AND number >= ? ORDER BY number", []any{sh.user, len(sh.index.Speakers)}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		sh.index.Speakers = append(sh.index.Speakers, name)
		return err
	})
}

// readTail reads memories that are not in the postings.
func (sh *userIndex) readTail(c *sqlitefile.Conn, from, until int64) error {
	if until-from > 2*maxTail {
		return errIndex // rowids that no user has
	}
	u := user{id: sh.user}
	for from < until {
		docs, err := readDocuments(c, u.rid(from), until-from, sh.speakerNumber)
		if err != nil {
			return err
		}
		words := 0
		for i := range docs {
			words += len(docs[i].terms)
		}
		sh.tail = slices.Grow(sh.tail, words)
		for i := range docs {
			sh.index.Append(docs[i].entry)
			for _, f := range docs[i].terms {
				sh.tail = append(sh.tail, tailWord{maphash.String(wordSeed, f.Term), rank.MakePosting(uint32(from)+uint32(i), f.N)})
			}
		}
		from += int64(len(docs))
	}
	return nil
}

// speakerNumber returns the number of a speaker; of a new one, the number that folding
// will give it.
func (sh *userIndex) speakerNumber(name string) (int32, error) {
	number := slices.Index(sh.index.Speakers, name)
	if number < 0 {
		number = len(sh.index.Speakers)
		sh.index.Speakers = append(sh.index.Speakers, name)
	}
	return int32(number), nil
}

// readExtras reads the snapshots from a number on.
func (sh *userIndex) readExtras(c *sqlitefile.Conn, from int64) error {
	type extra struct {
		number int64
		rank.Extra
	}
	var found []extra
	refs := func(query string, key int64) (list []uint32, err error) {
		err = c.QueryRows(query, []any{key}, func(scan func(...any) error) error {
			var rid int64
			err := scan(&rid)
			list = append(list, uint32(rid))
			return err
		})
		return list, err
	}
	read := func(query, refsQuery string, kind memory.Kind, weight float64, text func(value.Value) (string, error)) error {
		var keys []int64
		start := len(found)
		err := c.QueryRows(query, []any{sh.user, from}, func(scan func(...any) error) error {
			x := extra{Extra: rank.Extra{Weight: weight}}
			var key int64
			var body value.Value
			if err := scan(&key, &x.number, scanID{kind, &x.ID}, scanJSON{func(v value.Value) { body = v }}); err != nil {
				return err
			}
			t, err := text(body)
			x.Len = int32(rank.Analyze(t, "").Len)
			keys = append(keys, key)
			found = append(found, x)
			return err
		})
		for i, key := range keys {
			if err != nil {
				return err
			}
			found[start+i].Refs, err = refs(refsQuery, key)
		}
		return err
	}
	err := read("SELECT key, number, id, body FROM snapshot WHERE user = ? AND number >= ?", "SELECT rid FROM snapshot_ref WHERE snapshot = ?",
		memory.SnapshotID, memory.SnapshotWeight, func(v value.Value) (string, error) {
			var x memory.MemorySnapshot
			err := x.DecodeValue(v)
			return x.Text(), err
		})
	if err != nil {
		return err
	}
	err = read("SELECT key, number, id, body FROM meta WHERE user = ? AND number >= ?",
		"SELECT rid FROM meta_ref JOIN snapshot_ref USING (snapshot) WHERE meta = ?", memory.MetaID, memory.MetaWeight, func(v value.Value) (string, error) {
			var x memory.MetaSnapshot
			err := x.DecodeValue(v)
			return x.Text(), err
		})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b extra) int { return cmp.Compare(a.number, b.number) })
	for _, x := range found {
		for int64(len(sh.index.Extras)) < x.number {
			sh.index.AddExtra(rank.Extra{}) // one that was deleted
		}
		sh.index.AddExtra(x.Extra)
	}
	return nil
}
