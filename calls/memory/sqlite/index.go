package sqlite

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// indexer changes the index of one user. The user's row is stored by the caller.
type indexer struct {
	conn *conn
	user *user
}

// foldTail puts the tail below a number into the postings.
func (ix indexer) foldTail(until int64) error {
	u := ix.user
	if u.folded >= until {
		return nil
	}
	var docs []document
	err := ix.conn.rows("SELECT doc FROM tail WHERE rid >= ? AND rid < ? ORDER BY rid", []any{u.rid(u.folded), u.rid(until)}, func(scan func(...any) error) error {
		var b []byte
		if err := scan(&b); err != nil {
			return err
		}
		d, err := readDocument(b)
		docs = append(docs, d)
		return err
	})
	if err != nil {
		return err
	}
	if int64(len(docs)) != until-u.folded {
		return errBlob
	}
	if err := ix.conn.exec("DELETE FROM tail WHERE rid >= ? AND rid < ?", u.rid(u.folded), u.rid(until)); err != nil {
		return err
	}
	return ix.fold(docs)
}

// place of a posting: a row of table posting.
type place struct {
	term  string
	chunk int64
}

// fold puts documents behind those that are in the postings.
func (ix indexer) fold(docs []document) error {
	u := ix.user
	lists := map[place][]byte{}
	entries := map[int64][]byte{}
	for i := range docs {
		seq := u.folded + int64(i)
		chunk := seq >> entryBits
		entries[chunk] = appendEntry(entries[chunk], docs[i].entry)
		for _, f := range docs[i].terms {
			at := place{f.Term, seq >> postingBits}
			lists[at] = appendPosting(lists[at], rank.MakePosting(uint32(seq), f.N))
		}
	}
	for _, chunk := range slices.Sorted(maps.Keys(entries)) {
		err := ix.conn.exec(`INSERT INTO entry(user, chunk, data) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`, u.id, chunk, entries[chunk])
		if err != nil {
			return err
		}
	}
	u.folded += int64(len(docs))
	u.changed = true
	return ix.add(lists)
}

// add appends postings, in the order of the table.
func (ix indexer) add(lists map[place][]byte) error {
	for _, at := range sortedPlaces(lists) {
		err := ix.conn.exec(`INSERT INTO posting(user, term, chunk, data) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`, ix.user.id, at.term, at.chunk, lists[at])
		if err != nil {
			return err
		}
	}
	return nil
}

func sortedPlaces[V any](lists map[place]V) []place {
	return slices.SortedFunc(maps.Keys(lists), func(a, b place) int {
		if a.term != b.term {
			if a.term < b.term {
				return -1
			}
			return 1
		}
		return int(a.chunk - b.chunk)
	})
}

// remove takes the postings of some numbers out of the lists.
func (ix indexer) remove(gone map[place]map[uint16]bool) error {
	for _, at := range sortedPlaces(gone) {
		var data []byte
		found, err := ix.conn.row("SELECT data FROM posting WHERE user = ? AND term = ? AND chunk = ?", []any{ix.user.id, at.term, at.chunk}, &data)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		left := data[:0]
		for i := 0; i+1 < len(data); i += 2 {
			if p := binary.LittleEndian.Uint16(data[i:]); !gone[at][p>>4] {
				left = append(left, data[i], data[i+1])
			}
		}
		if len(left) > 0 {
			err = ix.conn.exec("UPDATE posting SET data = ? WHERE user = ? AND term = ? AND chunk = ?", left, ix.user.id, at.term, at.chunk)
		} else {
			err = ix.conn.exec("DELETE FROM posting WHERE user = ? AND term = ? AND chunk = ?", ix.user.id, at.term, at.chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placesOf is where the postings of a memory are.
func placesOf(seq int64, terms []rank.Frequency, to map[place]map[uint16]bool) {
	for _, f := range terms {
		at := place{f.Term, seq >> postingBits}
		if to[at] == nil {
			to[at] = map[uint16]bool{}
		}
		to[at][uint16(seq&(postingChunk-1))] = true
	}
}

// replace puts another document at a number.
func (ix indexer) replace(seq int64, before []rank.Frequency, doc *document) error {
	u := ix.user
	if seq >= u.folded {
		return ix.conn.exec("UPDATE tail SET doc = ? WHERE rid = ?", doc.append(nil), u.rid(seq))
	}
	gone := map[place]map[uint16]bool{}
	placesOf(seq, before, gone)
	if err := ix.remove(gone); err != nil {
		return err
	}
	lists := map[place][]byte{}
	for _, f := range doc.terms {
		lists[place{f.Term, seq >> postingBits}] = appendPosting(nil, rank.MakePosting(uint32(seq), f.N))
	}
	if err := ix.add(lists); err != nil {
		return err
	}
	return ix.setEntries(map[int64]rank.Entry{seq: doc.entry})
}

// setEntries writes entries that were there over.
func (ix indexer) setEntries(entries map[int64]rank.Entry) error {
	byChunk := map[int64][]int64{}
	for seq := range entries {
		byChunk[seq>>entryBits] = append(byChunk[seq>>entryBits], seq)
	}
	for _, chunk := range slices.Sorted(maps.Keys(byChunk)) {
		var data []byte
		if _, err := ix.conn.row("SELECT data FROM entry WHERE user = ? AND chunk = ?", []any{ix.user.id, chunk}, &data); err != nil {
			return err
		}
		data = bytes.Clone(data)
		for _, seq := range byChunk[chunk] {
			at := int(seq&(entryChunk-1)) * entrySize
			if at+entrySize > len(data) {
				return errBlob
			}
			copy(data[at:], appendEntry(nil, entries[seq]))
		}
		if err := ix.conn.exec("UPDATE entry SET data = ? WHERE user = ? AND chunk = ?", data, ix.user.id, chunk); err != nil {
			return err
		}
	}
	return nil
}

// tidy folds the long tails, and wipes what was deleted out of the log; the writer
// calls it when it was asked to.
func (s *Store) tidy(c *conn) error {
	s.mu.Lock()
	users := slices.Sorted(maps.Keys(s.toFold))
	clear(s.toFold)
	scrub := s.scrub
	s.scrub = false
	s.mu.Unlock()
	if scrub {
		if _, err := c.row("PRAGMA wal_checkpoint(TRUNCATE)", nil, new(int), new(int), new(int)); err != nil {
			return err
		}
	}
	for _, id := range users {
		err := transact(c, func() error {
			u := &user{id: id}
			found, err := c.row("SELECT n, folded, extras, generation FROM user WHERE id = ?", []any{id}, &u.n, &u.folded, &u.extras, &u.generation)
			if !found || u.n-u.folded < foldAt {
				return err
			}
			if err := (indexer{c, u}).foldTail(u.n); err != nil {
				return err
			}
			return u.store(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
