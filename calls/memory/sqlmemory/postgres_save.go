package sqlmemory

import (
	"context"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// saveRows saves all or none. The batch begins and ends the transaction itself, to save round
// trips.
func (d *sharedDialect) saveRows(ctx context.Context, rows []packed.Row, now time.Time) ([]memory.Saved, error) {
	var b *batch
	var toFold []string
	err := d.repeat(ctx, pgdb.Change{
		Single: true,
		Do: func(c *pgdb.Conn) (err error) {
			b = newBatch(d.conn(ctx, c), now, rows)
			toFold, err = d.saveBatch(ctx, c, b)
			if err != nil {
				rollBack(ctx, c)
			}
			return err
		},
		Committed: func(c *pgdb.Conn) (bool, error) { return b.wasCommitted(ctx, c) },
	})
	if err != nil {
		return nil, err
	}
	for _, name := range toFold {
		d.requestFold(name)
	}
	return b.saved, nil
}

// wasCommitted reports whether the memories that were new are there: the whole change is.
func (b *batch) wasCommitted(ctx context.Context, c *pgdb.Conn) (bool, error) {
	if len(b.inserts) == 0 {
		return false, nil // saving versions again changes nothing
	}
	return c.QueryRow(ctx, "SELECT 1 FROM memory WHERE id = $1", []any{b.inserts[0].row.UUID[:]}, new(int))
}

// saveBatch saves the rows in a transaction. It returns the users whose words are to be packed
// later.
func (d *sharedDialect) saveBatch(ctx context.Context, c *pgdb.Conn, b *batch) (toFold []string, err error) {
	if err := d.load(b); err != nil {
		return nil, err
	}
	if err := b.saveAll(); err != nil {
		return nil, err
	}
	return b.foldLater(), d.store(ctx, c, b)
}

// load begins the transaction, locks the users and reads the values that the rows need, in one round
// trip.
func (d *sharedDialect) load(b *batch) error {
	var names, sessionUsers, sessions []string
	var ids [][]byte
	var hashes []int64
	known := map[[2]string]bool{}
	for i := range b.rows {
		r := &b.rows[i]
		scope := [2]string{r.Context.UserID, r.Context.SessionID}
		if !known[scope] {
			known[scope] = true
			names = append(names, scope[0])
			sessionUsers, sessions = append(sessionUsers, d.encode(scope[0])), append(sessions, d.encode(scope[1]))
		}
		if r.Given {
			ids = append(ids, r.UUID[:])
		} else {
			hashes = append(hashes, r.Hash)
		}
	}
	statements := append([]database.Statement{{Query: beginChange}}, d.lockStatements(b.c, true, names, b.users)...)
	statements = append(statements, database.Statement{
		Query: `SELECT u.name, s.name, s.number, s.waits FROM unnest($1::text[], $2::text[]) w(owner, name)
			JOIN memory_user u ON u.name = w.owner JOIN memory_session s ON s.owner = u.id AND s.name = w.name`,
		Args: []any{sessionUsers, sessions}, Each: func(scan func(...any) error) error {
			var owner, name string
			in := &session{}
			err := scan(b.c.scanText(&owner), b.c.scanText(&name), &in.number, &in.waits)
			if u := b.users[owner]; u != nil {
				u.sessions[name] = in
			}
			return err
		},
	})
	if len(ids) > 0 {
		statements = append(statements, database.Statement{Query: selectMemory + " WHERE m.id = ANY($1)", Any: ids, Each: b.addStored})
	}
	if len(hashes) > 0 {
		statements = append(statements, database.Statement{Query: selectMemory + " WHERE m.hash = ANY($1) ORDER BY m.rid", Any: hashes, Each: b.addDuplicate})
	}
	if err := b.c.Pipeline(statements...); err != nil {
		return err
	}
	return checkUsers(b.users, true, names)
}

// copyFrom is the number of new memories from which they are sent by COPY, which needs more round trips and less
// time for each memory.
const copyFrom = 200

// store writes the rows of the batch and commits, for a few memories in one round trip.
func (d *sharedDialect) store(ctx context.Context, c *pgdb.Conn, b *batch) error {
	var statements []database.Statement
	if len(b.inserts) >= copyFrom {
		if err := b.copyMemories(ctx, c); err != nil {
			return err
		}
	} else if len(b.inserts) > 0 {
		statements = append(statements, b.insertMemories())
	}
	if rids := b.waitingRows(); len(rids) > 0 {
		statements = append(statements, database.Statement{Query: "INSERT INTO memory_unembedded(rid) SELECT unnest($1::bigint[])", Args: []any{rids}})
	}
	statements = append(statements, b.statements()...)
	var busy []*user // whose words are packed, or whose row changes
	for _, name := range b.userNames() {
		if u := b.users[name]; u.changed || u.mustFold() {
			busy = append(busy, u)
		}
	}
	if len(busy) == 0 {
		return b.c.Pipeline(append(statements, database.Statement{Query: commitChange})...)
	}
	if len(statements) > 0 {
		if err := b.c.Pipeline(statements...); err != nil {
			return err
		}
	}
	for _, u := range busy {
		if err := u.saveGrown(b.c); err != nil {
			return err
		}
	}
	_, err := b.c.Exec(commitChange)
	return err
}

var memoryFields = []string{"rid", "id", "session", "time", "saved", "content", "other", "extra", "hash"}

// copyMemories inserts the new memories by COPY.
func (b *batch) copyMemories(ctx context.Context, c *pgdb.Conn) error {
	saved := b.now.UnixMilli()
	_, err := c.CopyFrom(ctx, "memory", memoryFields, iter.Seq2[[]any, error](func(yield func([]any, error) bool) {
		for _, x := range b.inserts {
			r := x.row
			row := []any{x.rid, r.UUID[:], x.session, r.Timestamp.UnixMilli(), saved, b.c.d.encode(r.Content), b.c.encodeJSON(r.Other), b.c.encodeJSON(r.Extra), r.Hash}
			if !yield(row, ctx.Err()) {
				return
			}
		}
	}))
	return err
}

// insertMemories returns the statement that inserts the new memories.
func (b *batch) insertMemories() database.Statement {
	n := len(b.inserts)
	rids, ids, sessions, times := make([]int64, n), make([][]byte, n), make([]int32, n), make([]int64, n)
	contents, others, extras, hashes := make([]string, n), make([]*string, n), make([]*string, n), make([]int64, n)
	for i, x := range b.inserts {
		r := x.row
		rids[i], ids[i], sessions[i], times[i] = x.rid, r.UUID[:], x.session, r.Timestamp.UnixMilli()
		contents[i], others[i], extras[i], hashes[i] = b.c.d.encode(r.Content), b.c.encodeJSON(r.Other), b.c.encodeJSON(r.Extra), r.Hash
	}
	return database.Statement{
		Query: `INSERT INTO memory(rid, id, session, time, saved, content, other, extra, hash)
			SELECT rid, id, session, time, $9::bigint, content, other, extra, hash
			FROM unnest($1::bigint[], $2::bytea[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[])
			m(rid, id, session, time, content, other, extra, hash)`,
		Args: []any{rids, ids, sessions, times, contents, others, extras, hashes, b.now.UnixMilli()},
	}
}
