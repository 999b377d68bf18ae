package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value"
)

// indexer changes the index of one user, whose row is locked. The caller saves that row.
type indexer struct {
	conn *pgdb.Conn
	user *user
}

// placesAtOnce bounds the chunks of postings in one statement.
const placesAtOnce = 10_000

// placeArgs returns places as two arrays.
func placeArgs(places []packed.Place) (terms []string, chunks []int64) {
	terms, chunks = make([]string, len(places)), make([]int64, len(places))
	for i, at := range places {
		terms[i], chunks[i] = keyOf(at.Term), at.Chunk
	}
	return terms, chunks
}

// addPostings appends postings, in the order of the table.
func (ix indexer) addPostings(ctx context.Context, lists packed.Lists) error {
	for part := range slices.Chunk(packed.SortedPlaces(lists), placesAtOnce) {
		terms, chunks := placeArgs(part)
		data := make([][]byte, len(part))
		for i, at := range part {
			data[i] = lists[at]
		}
		_, err := ix.conn.Exec(ctx, `INSERT INTO memory_posting(owner, term, chunk, data)
			SELECT $1, term, chunk, data FROM unnest($2::text[], $3::bigint[], $4::bytea[]) p(term, chunk, data)
			ON CONFLICT (owner, term, chunk) DO UPDATE SET data = memory_posting.data || excluded.data`, ix.user.id, terms, chunks, data)
		if err != nil {
			return err
		}
	}
	return nil
}

// removePostings removes the postings of some memories.
func (ix indexer) removePostings(ctx context.Context, gone packed.Removed) error {
	for part := range slices.Chunk(packed.SortedPlaces(gone), placesAtOnce) {
		if err := ix.removeFrom(ctx, part, gone); err != nil {
			return err
		}
	}
	return nil
}

func (ix indexer) removeFrom(ctx context.Context, places []packed.Place, gone packed.Removed) error {
	terms, chunks := placeArgs(places)
	var emptyTerms, leftTerms []string
	var emptyChunks, leftChunks []int64
	var left [][]byte
	err := ix.conn.QueryRows(ctx, `SELECT i, data FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY w(term, chunk, i)
		JOIN memory_posting p ON p.owner = $1 AND p.term = w.term AND p.chunk = w.chunk`, []any{ix.user.id, terms, chunks}, func(scan func(...any) error) error {
		var i int64
		var data []byte
		if err := scan(&i, &data); err != nil {
			return err
		}
		i--
		data = packed.RemovePostings(data, gone[places[i]])
		if len(data) == 0 {
			emptyTerms, emptyChunks = append(emptyTerms, terms[i]), append(emptyChunks, chunks[i])
			return nil
		}
		leftTerms, leftChunks, left = append(leftTerms, terms[i]), append(leftChunks, chunks[i]), append(left, data)
		return nil
	})
	if err != nil {
		return err
	}
	return ix.conn.Pipeline(ctx,
		pgdb.Statement{Query: `UPDATE memory_posting p SET data = w.data FROM unnest($2::text[], $3::bigint[], $4::bytea[]) w(term, chunk, data)
			WHERE p.owner = $1 AND p.term = w.term AND p.chunk = w.chunk`, Args: []any{ix.user.id, leftTerms, leftChunks, left}},
		pgdb.Statement{Query: `DELETE FROM memory_posting p USING unnest($2::text[], $3::bigint[]) w(term, chunk)
			WHERE p.owner = $1 AND p.term = w.term AND p.chunk = w.chunk`, Args: []any{ix.user.id, emptyTerms, emptyChunks}},
	)
}

// replaceDocument replaces the words of a memory. One that has not been folded has none
// in the index.
func (ix indexer) replaceDocument(ctx context.Context, seq int64, before, after *memory.BaseMemory, session int32) error {
	u := ix.user
	if seq >= u.folded {
		return nil
	}
	gone := packed.Removed{}
	gone.AddDocument(seq, before)
	if err := ix.removePostings(ctx, gone); err != nil {
		return err
	}
	doc, speaker := packed.DocumentOf(after)
	doc.Entry.Session = session
	if speaker != "" {
		var err error
		doc.Entry.Speaker, err = u.speakerNumber(ctx, ix.conn, speaker)
		if err != nil {
			return err
		}
	}
	lists := packed.Lists{}
	lists.AddDocument(seq, doc.Terms)
	if err := ix.addPostings(ctx, lists); err != nil {
		return err
	}
	return ix.setEntries(ctx, map[int64]rank.Entry{seq: doc.Entry})
}

// setEntries overwrites existing entries.
func (ix indexer) setEntries(ctx context.Context, entries map[int64]rank.Entry) error {
	byChunk := map[int64][]int64{}
	for seq := range entries {
		byChunk[seq>>packed.EntryBits] = append(byChunk[seq>>packed.EntryBits], seq)
	}
	chunks := slices.Sorted(maps.Keys(byChunk))
	var data [][]byte
	err := ix.conn.QueryRows(ctx, "SELECT chunk, data FROM memory_entry WHERE owner = $1 AND chunk = ANY($2) ORDER BY chunk", []any{ix.user.id, chunks}, func(scan func(...any) error) error {
		var chunk int64
		var b []byte
		if err := scan(&chunk, &b); err != nil {
			return err
		}
		for _, seq := range byChunk[chunk] {
			if !packed.SetEntry(b, seq, entries[seq]) {
				return errIndex
			}
		}
		data = append(data, b)
		return nil
	})
	if err != nil {
		return err
	}
	if len(data) != len(chunks) {
		return errIndex
	}
	_, err = ix.conn.Exec(ctx, `UPDATE memory_entry e SET data = w.data FROM unnest($2::bigint[], $3::bytea[]) w(chunk, data)
		WHERE e.owner = $1 AND e.chunk = w.chunk`, ix.user.id, chunks, data)
	return err
}

// fold puts the words of the memories below a number into the postings.
func (ix indexer) fold(ctx context.Context, until int64) error {
	u := ix.user
	for u.folded < until {
		docs, err := readDocuments(ctx, ix.conn, u.rid(u.folded), min(packed.FoldedAtOnce, until-u.folded), func(name string) (int32, error) {
			return u.speakerNumber(ctx, ix.conn, name)
		})
		if err != nil {
			return err
		}
		if err := ix.appendDocuments(ctx, docs); err != nil {
			return err
		}
	}
	return nil
}

// appendDocuments appends documents to the postings.
func (ix indexer) appendDocuments(ctx context.Context, docs []packed.Document) error {
	u := ix.user
	lists, entries := packed.Pack(u.folded, docs)
	chunks := slices.Sorted(maps.Keys(entries))
	data := make([][]byte, len(chunks))
	for i, chunk := range chunks {
		data[i] = entries[chunk]
	}
	_, err := ix.conn.Exec(ctx, `INSERT INTO memory_entry(owner, chunk, data) SELECT $1, chunk, data FROM unnest($2::bigint[], $3::bytea[]) e(chunk, data)
		ON CONFLICT (owner, chunk) DO UPDATE SET data = memory_entry.data || excluded.data`, u.id, chunks, data)
	if err != nil {
		return err
	}
	u.folded += int64(len(docs))
	u.changed = true
	return ix.addPostings(ctx, lists)
}

// readDocuments reads the n memories from a rid on, or the first of them if together they
// have too many words; see [packed.Reader].
func readDocuments(ctx context.Context, c *pgdb.Conn, first, n int64, speaker func(name string) (int32, error)) ([]packed.Document, error) {
	docs := packed.NewDocuments(n)
	err := c.QueryRows(ctx, "SELECT rid, session, time, content, other FROM memory WHERE rid >= $1 AND rid < $2 ORDER BY rid", []any{first, first + n}, func(scan func(...any) error) error {
		var rid int64
		var session int32
		var m memory.BaseMemory
		err := scan(&rid, &session, packed.ScanTime{To: &m.Timestamp}, scanText{&m.Content}, scanJSON(func(v value.Value) error { m.Context.Other = v; return nil }))
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
