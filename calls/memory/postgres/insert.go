package postgres

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/pgdb"
)

// copyFrom is the number of new memories from which on they are sent by COPY, which takes
// more round trips and less time for each.
const copyFrom = 200

// store writes what the batch has collected and commits, for a few memories in one round trip.
func (b *batch) store(ctx context.Context) error {
	var statements []pgdb.Statement
	if len(b.inserts) >= copyFrom {
		if err := b.copyMemories(ctx); err != nil {
			return err
		}
	} else if len(b.inserts) > 0 {
		statements = append(statements, b.insertMemories())
	}
	if b.embeds && len(b.inserts) > 0 {
		rids := make([]int64, len(b.inserts))
		for i := range b.inserts {
			rids[i] = b.inserts[i].rid
		}
		statements = append(statements, pgdb.Statement{Query: "INSERT INTO memory_unembedded(rid) SELECT unnest($1::bigint[])", Args: []any{rids}})
	}
	statements = append(statements, b.updateSessions()...)
	statements = append(statements, b.later...)
	var busy []*savingUser // whose words are packed, or whose row changes
	for _, name := range slices.Sorted(maps.Keys(b.users)) {
		if u := b.users[name]; u.changed || u.mustFold() {
			busy = append(busy, u)
		}
		b.noteFold(b.users[name])
	}
	if len(busy) == 0 {
		return b.conn.Pipeline(ctx, append(statements, pgdb.Statement{Query: commitChange})...)
	}
	if len(statements) > 0 {
		if err := b.conn.Pipeline(ctx, statements...); err != nil {
			return err
		}
	}
	for _, u := range busy {
		if u.mustFold() {
			if err := (indexer{b.conn, u.user}).fold(ctx, u.n); err != nil {
				return err
			}
		}
		if err := u.save(ctx, b.conn); err != nil {
			return err
		}
	}
	_, err := b.conn.Exec(ctx, commitChange)
	return err
}

// mustFold reports whether the words of the new memories are packed in the change itself.
func (u *savingUser) mustFold() bool {
	return u.growth.MustFold(u.n - u.folded)
}

// noteFold remembers a user whose words are to be packed in the background.
func (b *batch) noteFold(u *savingUser) {
	if u.growth.FoldsLater(u.n-u.folded) && !u.mustFold() {
		b.toFold = append(b.toFold, u.name)
	}
}

var memoryFields = []string{"rid", "id", "session", "time", "saved", "content", "other", "extra", "hash"}

// copyMemories inserts the new memories by COPY.
func (b *batch) copyMemories(ctx context.Context) error {
	saved := b.now.UnixMilli()
	_, err := b.conn.CopyFrom(ctx, "memory", memoryFields, iter.Seq2[[]any, error](func(yield func([]any, error) bool) {
		for _, x := range b.inserts {
			r := x.row
			row := []any{x.rid, r.UUID[:], x.session, r.Timestamp.UnixMilli(), saved, encodeText(r.Content), encodeJSON(r.Other), encodeJSON(r.Extra), r.Hash}
			if !yield(row, ctx.Err()) {
				return
			}
		}
	}))
	return err
}

// insertMemories returns the statement that inserts the new memories.
func (b *batch) insertMemories() pgdb.Statement {
	n := len(b.inserts)
	rids, ids, sessions, times := make([]int64, n), make([][]byte, n), make([]int32, n), make([]int64, n)
	contents, others, extras, hashes := make([]string, n), make([]*string, n), make([]*string, n), make([]int64, n)
	for i, x := range b.inserts {
		r := x.row
		rids[i], ids[i], sessions[i], times[i] = x.rid, r.UUID[:], x.session, r.Timestamp.UnixMilli()
		contents[i], others[i], extras[i], hashes[i] = encodeText(r.Content), encodeJSON(r.Other), encodeJSON(r.Extra), r.Hash
	}
	return pgdb.Statement{
		Query: `INSERT INTO memory(rid, id, session, time, saved, content, other, extra, hash)
			SELECT rid, id, session, time, $9::bigint, content, other, extra, hash
			FROM unnest($1::bigint[], $2::bytea[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[])
			m(rid, id, session, time, content, other, extra, hash)`,
		Args: []any{rids, ids, sessions, times, contents, others, extras, hashes, b.now.UnixMilli()},
	}
}

// updateSessions returns the statements that create new sessions and count the new memories
// of all.
func (b *batch) updateSessions() (statements []pgdb.Statement) {
	now := b.now.UnixMilli()
	for _, userName := range slices.Sorted(maps.Keys(b.users)) {
		u := b.users[userName]
		for _, name := range slices.Sorted(maps.Keys(u.sessions)) {
			in := u.sessions[name]
			if in.isNew {
				fresh := max(0, in.fresh)
				statements = append(statements, pgdb.Statement{
					Query: "INSERT INTO memory_session(owner, number, name, fresh, waits, last, after) VALUES ($1, $2, $3, $4, $5, $6, $7)",
					Args:  []any{u.id, in.number, encodeText(name), fresh, fresh > 0, now, in.after},
				})
			} else if in.fresh != 0 {
				statements = append(statements, pgdb.Statement{
					Query: "UPDATE memory_session SET fresh = greatest(0, fresh + $1), last = $2, waits = true WHERE owner = $3 AND number = $4",
					Args:  []any{in.fresh, now, u.id, in.number},
				})
			}
		}
	}
	return statements
}
