package sqlite

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// The tail of a user are the newest memories, whose words are not in the postings yet:
// who searches takes them from the memories themselves. So a save writes nothing but
// the memory, and the words of some hundred go into the index together.
//
// foldAt is how many memories are folded in the change that brings them, and from how
// many on the tail is folded while no change is made; maxTail how many are in it at most.
// One text of more than longText bytes is enough: to read it takes as long. maxText bytes
// are folded in the change that brings them.
const (
	foldAt   = 256
	maxTail  = 4 * foldAt
	longText = 4 << 10
	maxText  = 4 << 20
)

// foldedAtOnce is how many memories have their words in memory while they are folded, and
// wordsAtOnce how many words there may be, but for those of the last memory.
const (
	// foldedAtOnce bounds the memories whose words are in the heap during a fold, and
	// wordsAtOnce their words, apart from those of the last memory.
	foldedAtOnce = 4096
	wordsAtOnce  = 1 << 17
)

// fold puts the words of the memories below a number into the postings.
func (ix indexer) fold(until int64) error {
	u := ix.user
	for u.folded < until {
		docs, err := readDocuments(ix.conn, u.rid(u.folded), min(foldedAtOnce, until-u.folded), func(name string) (int32, error) {
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
func (ix indexer) appendDocuments(docs []document) error {
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

// document is a memory in the index: its entry and its terms.
type document struct {
	entry rank.Entry
	terms []rank.Frequency
}

// documentOf returns a memory as a document, without the numbers of its session and
// speaker.
func documentOf(m *memory.BaseMemory) (d document, speaker string) {
	doc := rank.Analyze(m.Content, m.Speaker())
	return document{
		entry: rank.Entry{Time: m.Timestamp.UnixMilli(), Session: rank.None, Speaker: rank.None, Len: int32(doc.Len),
			Timed: doc.MentionsTime, Question: doc.Question, Utterance: m.Role() != ""},
		terms: doc.Terms,
	}, doc.Speaker
}

// readDocuments reads the n memories from a rowid on, or the first of them if together
// they have too many words. Deleted memories keep their numbers. speaker returns the
// number of a name; it is called in the order of the memories, so that all readers
// number new names alike.
func readDocuments(c *sqlitefile.Conn, first, n int64, speaker func(name string) (int32, error)) ([]document, error) {
	docs := make([]document, n)
	for i := range docs {
		docs[i].entry = rank.Entry{Session: rank.None, Speaker: rank.None, Deleted: true}
	}
	speakers := make([]string, n)
	words := 0
	err := c.QueryRows("SELECT rid, session, time, content, other FROM memory WHERE rid >= ? AND rid < ? ORDER BY rid", []any{first, first + n}, func(scan func(...any) error) error {
		var rid int64
		var session int32
		var m memory.BaseMemory
		if err := scan(&rid, &session, scanTime{&m.Timestamp}, &m.Content, scanJSON{func(v value.Value) { m.Context.Other = v }}); err != nil {
			return err
		}
		i := rid - first
		docs[i], speakers[i] = documentOf(&m)
		docs[i].entry.Session = session
		words += len(docs[i].terms)
		if words >= wordsAtOnce {
			docs = docs[:i+1]
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	for i, name := range speakers[:len(docs)] {
		if err == nil && name != "" {
			docs[i].entry.Speaker, err = speaker(name)
		}
	}
	return docs, err
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
