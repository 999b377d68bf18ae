package sqlite

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

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
	lists := packed.Lists{}
	entries := map[int64][]byte{}
	for i := range docs {
		seq := u.folded + int64(i)
		chunk := seq >> packed.EntryBits
		entries[chunk] = packed.AppendEntry(entries[chunk], docs[i].Entry)
		lists.AddDocument(seq, docs[i].Terms)
	}
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

// foldWait is how long other processes that write are waited for before a fold.
const foldWait = time.Second

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
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	return docs.Number(speaker)
}

// requestFold has the new memories of a user folded when no change waits.
func (s *Store) requestFold(u *user) {
	s.mu.Lock()
	s.toFold[u.name] = true
	s.mu.Unlock()
	s.db.RequestIdle()
}

// tidyUp folds the memories of the users in toFold and wipes what was deleted out of the
// log. It runs on the goroutine that writes.
func (s *Store) tidyUp(c *sqlitefile.Conn) error {
	s.mu.Lock()
	users := slices.Sorted(maps.Keys(s.toFold))
	clear(s.toFold)
	mustWipeLog := s.mustWipeLog
	s.mustWipeLog = false
	s.mu.Unlock()
	if mustWipeLog {
		if err := s.wipeLog(c); err != nil {
			return err
		}
	}
	s.users.forget()
	for _, name := range users {
		err := c.Transact(foldWait, func() error {
			u, err := findUser(c, name)
			if u == nil || err != nil {
				return err // deleted meanwhile
			}
			if err := (indexer{c, u}).fold(u.n); err != nil {
				return err
			}
			return u.save(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
