package sqlite

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// indexer changes the index of one user inside a change. The caller saves the user's
// row.
type indexer struct {
	conn *sqlitefile.Conn
	user *user
}

// place is a row of table posting.
type place struct {
	term  string
	chunk int64
}

// addPostings appends postings, in the order of the table.
func (ix indexer) addPostings(lists map[place][]byte) error {
	for _, at := range sortedPlaces(lists) {
		err := ix.conn.Exec(`INSERT INTO posting(user, term, chunk, data) VALUES (?, ?, ?, ?)
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

// removePostings removes the postings of some memories.
func (ix indexer) removePostings(gone map[place]map[uint16]bool) error {
	for _, at := range sortedPlaces(gone) {
		var data []byte
		found, err := ix.conn.QueryRow("SELECT data FROM posting WHERE user = ? AND term = ? AND chunk = ?", []any{ix.user.id, at.term, at.chunk}, &data)
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
			err = ix.conn.Exec("UPDATE posting SET data = ? WHERE user = ? AND term = ? AND chunk = ?", left, ix.user.id, at.term, at.chunk)
		} else {
			err = ix.conn.Exec("DELETE FROM posting WHERE user = ? AND term = ? AND chunk = ?", ix.user.id, at.term, at.chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placesOf adds the places of a memory's postings to to.
func placesOf(seq int64, terms []rank.Frequency, to map[place]map[uint16]bool) {
	for _, f := range terms {
		at := place{f.Term, seq >> postingBits}
		if to[at] == nil {
			to[at] = map[uint16]bool{}
		}
		to[at][uint16(seq&(postingChunk-1))] = true
	}
}

// replaceDocument replaces the words of a memory. One that has not been folded has none
// in the index.
func (ix indexer) replaceDocument(seq int64, before, after *memory.BaseMemory, session int32) error {
	u := ix.user
	if seq >= u.folded {
		return nil
	}
	gone := map[place]map[uint16]bool{}
	placesOf(seq, rank.Analyze(before.Content, before.Speaker()).Terms, gone)
	if err := ix.removePostings(gone); err != nil {
		return err
	}
	doc, speaker := documentOf(after)
	doc.entry.Session = session
	if speaker != "" {
		var err error
		doc.entry.Speaker, err = u.speakerNumber(ix.conn, speaker)
		if err != nil {
			return err
		}
	}
	lists := map[place][]byte{}
	for _, f := range doc.terms {
		lists[place{f.Term, seq >> postingBits}] = appendPosting(nil, rank.MakePosting(uint32(seq), f.N))
	}
	if err := ix.addPostings(lists); err != nil {
		return err
	}
	return ix.setEntries(map[int64]rank.Entry{seq: doc.entry})
}

// setEntries overwrites existing entries.
func (ix indexer) setEntries(entries map[int64]rank.Entry) error {
	byChunk := map[int64][]int64{}
	for seq := range entries {
		byChunk[seq>>entryBits] = append(byChunk[seq>>entryBits], seq)
	}
	for _, chunk := range slices.Sorted(maps.Keys(byChunk)) {
		var data []byte
		if _, err := ix.conn.QueryRow("SELECT data FROM entry WHERE user = ? AND chunk = ?", []any{ix.user.id, chunk}, &data); err != nil {
			return err
		}
		data = bytes.Clone(data)
		for _, seq := range byChunk[chunk] {
			at := int(seq&(entryChunk-1)) * entrySize
			if at+entrySize > len(data) {
				return errIndex
			}
			copy(data[at:], appendEntry(nil, entries[seq]))
		}
		if err := ix.conn.Exec("UPDATE entry SET data = ? WHERE user = ? AND chunk = ?", data, ix.user.id, chunk); err != nil {
			return err
		}
	}
	return nil
}
