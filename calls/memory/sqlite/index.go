package sqlite

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// indexer changes the index of one user inside a change. The caller saves the user's
// row.
type indexer struct {
	conn *sqlitefile.Conn
	user *user
}

// addPostings appends postings, in the order of the table.
func (ix indexer) addPostings(lists packed.Lists) error {
	for _, at := range packed.SortedPlaces(lists) {
		err := ix.conn.Exec(`INSERT INTO posting(user, term, chunk, data) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`, ix.user.id, at.Term, at.Chunk, lists[at])
		if err != nil {
			return err
		}
	}
	return nil
}

// removePostings removes the postings of some memories.
func (ix indexer) removePostings(gone packed.Removed) error {
	for _, at := range packed.SortedPlaces(gone) {
		var data []byte
		found, err := ix.conn.QueryRow("SELECT data FROM posting WHERE user = ? AND term = ? AND chunk = ?", []any{ix.user.id, at.Term, at.Chunk}, &data)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		left := packed.RemovePostings(data, gone[at])
		if len(left) > 0 {
			err = ix.conn.Exec("UPDATE posting SET data = ? WHERE user = ? AND term = ? AND chunk = ?", left, ix.user.id, at.Term, at.Chunk)
		} else {
			err = ix.conn.Exec("DELETE FROM posting WHERE user = ? AND term = ? AND chunk = ?", ix.user.id, at.Term, at.Chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceDocument replaces the words of a memory. One that has not been folded has none
// in the index.
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
	for _, chunk := range slices.Sorted(maps.Keys(byChunk)) {
		var data []byte
		if _, err := ix.conn.QueryRow("SELECT data FROM entry WHERE user = ? AND chunk = ?", []any{ix.user.id, chunk}, &data); err != nil {
			return err
		}
		data = bytes.Clone(data)
		for _, seq := range byChunk[chunk] {
			if !packed.SetEntry(data, seq, entries[seq]) {
				return errIndex
			}
		}
		if err := ix.conn.Exec("UPDATE entry SET data = ? WHERE user = ? AND chunk = ?", data, ix.user.id, chunk); err != nil {
			return err
		}
	}
	return nil
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
		if err := ix.appendDocuments(docs); err != nil {
			return err
		}
	}
	return nil
}

// appendDocuments appends documents to the postings.
func (ix indexer) appendDocuments(docs []packed.Document) error {
	u := ix.user
	lists, entries := packed.Pack(u.folded, docs)
	for _, chunk := range slices.Sorted(maps.Keys(entries)) {
		err := ix.conn.Exec(`INSERT INTO entry(user, chunk, data) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`, u.id, chunk, entries[chunk])
		if err != nil {
			return err
		}
	}
	u.folded += int64(len(docs))
	u.changed = true
	return ix.addPostings(lists)
}

// readDocuments reads the n memories from a rowid on, or the first of them if together
// they have too many words; see [packed.Reader].
func readDocuments(c *sqlitefile.Conn, first, n int64, speaker func(name string) (int32, error)) ([]packed.Document, error) {
	docs := packed.NewDocuments(n)
	err := c.QueryRows("SELECT rid, session, time, content, other FROM memory WHERE rid >= ? AND rid < ? ORDER BY rid", []any{first, first + n}, func(scan func(...any) error) error {
		var rid int64
		var session int32
		var m memory.BaseMemory
		if err := scan(&rid, &session, packed.ScanTime{To: &m.Timestamp}, &m.Content, packed.ScanJSON{Use: func(v value.Value) { m.Context.Other = v }}); err != nil {
			return err
		}
		doc, speaker := packed.DocumentOf(&m)
		if !docs.Set(rid-first, session, doc, speaker) {
			return packed.ErrStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, packed.ErrStop) {
		return nil, err
	}
	return docs.Number(speaker)
}
