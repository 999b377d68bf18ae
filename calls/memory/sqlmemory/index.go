package sqlmemory

import (
	"errors"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// indexer changes the index of one user inside a change. The caller saves the user's row.
type indexer struct {
	conn conn
	user *user
}

// addPostings appends postings.
func (ix indexer) addPostings(lists packed.Lists) error {
	return ix.conn.d.addPostings(ix.conn, ix.user.id, lists)
}

// removePostings removes the postings of some memories.
func (ix indexer) removePostings(gone packed.Removed) error {
	return ix.conn.d.removePostings(ix.conn, ix.user.id, gone)
}

// replaceDocument replaces the words of a memory. The words of a memory that has not been folded are not in the
// index.
func (ix indexer) replaceDocument(seq int64, before, after *memory.BaseMemory, session int32) error {
	u := ix.user
	if seq >= u.folded {
		return nil
	}
	gone := packed.Removed{}
	gone.AddDocument(seq, before)
	if err := ix.removePostings(gone); err != nil {
		return err
	}
	doc, speaker := packed.DocumentOf(after)
	doc.Entry.Session = session
	if speaker != "" {
		var err error
		doc.Entry.Speaker, err = u.speakerNumber(ix.conn, speaker)
		if err != nil {
			return err
		}
	}
	lists := packed.Lists{}
	lists.AddDocument(seq, doc.Terms)
	if err := ix.addPostings(lists); err != nil {
		return err
	}
	return ix.setEntries(map[int64]rank.Entry{seq: doc.Entry})
}

// setEntries overwrites existing entries.
func (ix indexer) setEntries(entries map[int64]rank.Entry) error {
	byChunk := map[int64][]int64{}
	for seq := range entries {
		byChunk[seq>>packed.EntryBits] = append(byChunk[seq>>packed.EntryBits], seq)
	}
	data, err := ix.conn.d.loadEntries(ix.conn, ix.user.id, slices.Sorted(maps.Keys(byChunk)))
	if err != nil {
		return err
	}
	for chunk, seqs := range byChunk {
		for _, seq := range seqs {
			if !packed.SetEntry(data[chunk], seq, entries[seq]) {
				return ix.conn.d.indexError()
			}
		}
	}
	return ix.conn.d.storeEntries(ix.conn, ix.user.id, data)
}

// fold puts the words of the memories below a number into the postings.
func (ix indexer) fold(until int64) error {
	u := ix.user
	for u.folded < until {
		docs, err := readDocuments(ix.conn, u.rid(u.folded), min(packed.FoldedAtOnce, until-u.folded), func(name string) (int32, error) {
			return u.speakerNumber(ix.conn, name)
		})
		if err != nil {
			return err
		}
		lists, entries := packed.Pack(u.folded, docs)
		if err := ix.conn.d.appendEntries(ix.conn, u.id, entries); err != nil {
			return err
		}
		u.folded += int64(len(docs))
		u.changed = true
		if err := ix.addPostings(lists); err != nil {
			return err
		}
	}
	return nil
}

// foldUser folds the memories of a user, if there is one.
func foldUser(c conn, name string) error {
	u, err := lockUser(c, name, false)
	if u == nil || err != nil {
		return err
	}
	if err := (indexer{c, u}).fold(u.n); err != nil {
		return err
	}
	return u.save(c)
}

// readDocuments reads the n memories from a rid on, or the first of them if together they have too many words; see
// [packed.Reader].
func readDocuments(c conn, first, n int64, speaker func(name string) (int32, error)) ([]packed.Document, error) {
	docs := packed.NewDocuments(n)
	err := c.QueryRows("SELECT rid, session, time, content, other FROM memory WHERE rid >= $1 AND rid < $2 ORDER BY rid", []any{first, first + n}, func(scan func(...any) error) error {
		var rid int64
		var session int32
		var m memory.BaseMemory
		err := scan(&rid, &session, packed.ScanTime{To: &m.Timestamp}, c.scanText(&m.Content), c.scanJSON(func(v value.Value) error { m.Context.Other = v; return nil }))
		if err != nil {
			return err
		}
		doc, name := packed.DocumentOf(&m)
		if !docs.Set(rid-first, session, doc, name) {
			return packed.ErrStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, packed.ErrStop) {
		return nil, err
	}
	return docs.Number(speaker)
}
