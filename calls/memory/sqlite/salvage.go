package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// Damaged is a damaged store, of which what can be read is listed. Nothing in the
// file is changed.
type Damaged struct {
	file string
	db   *sql.DB
	conn *conn
	// Lost counts the places that could not be read, Found the memories that were found
	// all the same, in pages to which no way leads, and FoundSnapshots the snapshots and
	// meta snapshots.
	Lost, Found, FoundSnapshots int

	probes   int            // that are left for the table that is read
	seen     map[int64]bool // memories that were given
	users    map[int64]string
	sessions map[[2]int64]string
	named    bool // what names can be read was read
	searched bool // and the file looked through for others
}

var _ memory.Lister = (*Damaged)(nil)

// OpenDamaged opens the store in a directory to save what can be read, with
// archive.Export for one. A file whose very beginning is gone cannot be opened.
func OpenDamaged(ctx context.Context, dir string) (*Damaged, error) {
	d := &Damaged{file: filepath.Join(dir, FileName), users: map[int64]string{}, sessions: map[[2]int64]string{}, seen: map[int64]bool{}}
	if _, err := os.Stat(d.file); err != nil {
		return nil, explain(d.file, "opening", err)
	}
	var err error
	// With a schema that could be written, SQLite also reads a file whose end is gone.
	if d.db, err = sqlitefile.Look(d.file, time.Minute, "writable_schema(1)", "query_only(1)"); err != nil {
		return nil, explain(d.file, "opening", err)
	}
	c, err := d.db.Conn(ctx)
	if err == nil {
		d.conn = &conn{sql: c, stmts: map[string]*sql.Stmt{}}
		_, err = d.conn.row("SELECT count(*) FROM sqlite_schema", nil, new(int))
	}
	if err == nil {
		return d, nil
	}
	_ = d.db.Close() // the error that led here says more
	d.db, d.conn = nil, nil
	if d.hasLeaves(ctx) {
		return d, nil
	}
	if code := sqlitefile.CodeOf(err); code == sqlitefile.Corrupt || code == sqlitefile.NotADB {
		return nil, calls.Errorf(calls.Internal, "opening the memory store %s: %w", d.file, err).
			WithHint("its beginning is damaged, so nothing of it can be read: move it away, and import an export or the mirror")
	}
	return nil, explain(d.file, "opening", err)
}

// Close lets go of the file.
func (d *Damaged) Close() error {
	if d.conn == nil {
		return nil
	}
	return errors.Join(d.conn.close(), d.db.Close())
}

// How often damaged parts of a table are tried, those of memories less: what is left is
// found by looking through the file.
const (
	probes         = 1 << 16
	probesMemories = 1 << 12
)

// scan reads the rows of keys lo to hi. Where reading fails it goes on in halves of
// what is left, so that only what is damaged is lost.
func (d *Damaged) scan(ctx context.Context, query string, lo, hi int64, row func(scan func(...any) error) (key int64, err error)) error {
	if d.conn == nil { // the beginning of the file is gone
		d.Lost = max(d.Lost, 1)
		return nil
	}
	last := lo - 1
	stop := false
	err := d.conn.rows(query, []any{lo, hi}, func(scan func(...any) error) error {
		key, err := row(scan)
		last = max(last, key)
		if errors.Is(err, errStop) {
			stop = true
		}
		return err
	})
	switch {
	case stop:
		return errStop
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	d.Lost++
	d.probes--
	if lo = last + 1; lo >= hi || d.probes < 0 {
		return nil
	}
	middle := lo + (hi-lo)/2
	if err := d.scan(ctx, query, lo, middle, row); err != nil {
		return err
	}
	return d.scan(ctx, query, middle+1, hi, row)
}

// names reads what can be read of the users and sessions.
func (d *Damaged) names(ctx context.Context) error {
	if d.named {
		return nil
	}
	d.named = true
	d.probes = probes
	err := d.scan(ctx, "SELECT id, name FROM user WHERE id BETWEEN ? AND ? ORDER BY id", 1, math.MaxInt32, func(scan func(...any) error) (int64, error) {
		var id int64
		var name string
		err := scan(&id, &name)
		if err == nil {
			d.users[id] = name
		}
		return id, err
	})
	if err != nil {
		return err
	}
	for id := range d.users {
		err := d.scan(ctx, fmt.Sprintf("SELECT number, name FROM session WHERE user = %d AND number BETWEEN ? AND ? ORDER BY number", id), -1, rank.MaxEntries, func(scan func(...any) error) (int64, error) {
			var number int64
			var name string
			err := scan(&number, &name)
			if err == nil {
				d.sessions[[2]int64{id, number}] = name
			}
			return number, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nameOf is the name of a user, or one that says that it could not be read.
func (d *Damaged) nameOf(user int64) string {
	if name, ok := d.users[user]; ok {
		return name
	}
	return fmt.Sprintf("salvaged-%d", user)
}

// sessionOf is the same for a session.
func (d *Damaged) sessionOf(user, number int64) string {
	if name, ok := d.sessions[[2]int64{user, number}]; ok || number < 0 {
		return name
	}
	return fmt.Sprintf("salvaged-%d", number)
}

// Memories gives the memories that can be read; of the selection, only users count.
func (d *Damaged) Memories(ctx context.Context, which memory.Selection) iter.Seq2[memory.BaseMemory, error] {
	return func(yield func(memory.BaseMemory, error) bool) {
		err := d.memories(ctx, which, yield)
		if err == nil { // also where all was read: a damaged log is taken for none
			err = d.leftovers(ctx, which, yield)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(memory.BaseMemory{}, err)
		}
	}
}

func (d *Damaged) memories(ctx context.Context, which memory.Selection, yield func(memory.BaseMemory, error) bool) error {
	if err := which.Users.Check(); err != nil {
		return err
	}
	if err := d.names(ctx); err != nil {
		return err
	}
	d.probes = probesMemories
	row := func(scan func(...any) error) (rid int64, err error) {
		var m memory.BaseMemory
		var session int64
		dest := memoryColumns(&m)
		err = scan(append([]any{&rid, &session}, dest[0], dest[3], dest[4], dest[5], dest[6])...)
		if err != nil {
			return rid, err
		}
		m.Context.UserID = d.nameOf(rid >> 32)
		m.Context.SessionID = d.sessionOf(rid>>32, session)
		d.seen[rid] = true
		if which.Users.Has(m.Context.UserID) && !yield(m, nil) {
			return rid, errStop
		}
		return rid, nil
	}
	const query = "SELECT rid, session, id, time, content, other, extra FROM memory WHERE rid BETWEEN ? AND ? ORDER BY rid"
	if len(d.users) == 0 { // the users cannot be read
		return d.scan(ctx, query, 1, math.MaxInt32<<32, row)
	}
	for id := range d.users {
		u := user{id: id}
		if err := d.scan(ctx, query, u.rid(0), u.rid(rank.MaxEntries-1), row); err != nil {
			return err
		}
	}
	return nil
}

// Snapshots gives the snapshots that can be read.
func (d *Damaged) Snapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MemorySnapshot], error] {
	return salvaged(ctx, d, "snapshot", memory.SnapshotID, which, func(v value.Value) (x memory.MemorySnapshot, err error) {
		err = x.DecodeValue(v)
		return x, err
	})
}

// MetaSnapshots gives the meta snapshots that can be read.
func (d *Damaged) MetaSnapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MetaSnapshot], error] {
	return salvaged(ctx, d, "meta", memory.MetaID, which, func(v value.Value) (x memory.MetaSnapshot, err error) {
		err = x.DecodeValue(v)
		return x, err
	})
}

// maxSalvaged bounds the keys of snapshots that are looked for.
const maxSalvaged = 1 << 24

func salvaged[T any](ctx context.Context, d *Damaged, table string, kind memory.Kind, which memory.Selection, decode func(value.Value) (T, error)) iter.Seq2[memory.Owned[T], error] {
	return func(yield func(memory.Owned[T], error) bool) {
		err := which.Users.Check()
		if err == nil {
			err = d.names(ctx)
		}
		seen := map[string]bool{}
		give := func(user int64, id string, x T) error {
			seen[id] = true
			if name := d.nameOf(user); which.Users.Has(name) && !yield(memory.Owned[T]{User: name, Snapshot: x}, nil) {
				return errStop
			}
			return nil
		}
		if d.probes = probes; err == nil {
			err = d.scan(ctx, "SELECT key, id, user, body FROM "+table+" WHERE key BETWEEN ? AND ? ORDER BY key", 1, maxSalvaged, func(scan func(...any) error) (int64, error) {
				var key, user int64
				var id string
				var x T
				var bad error
				if err := scan(&key, scanID{kind, &id}, &user, scanJSON{func(v value.Value) { x, bad = decode(v) }}); err != nil || bad != nil {
					return key, errors.Join(err, bad)
				}
				return key, give(user, id, x)
			})
		}
		if err == nil {
			err = d.rescueExtras(ctx, kind, func(user int64, id string, body value.Value) error {
				if x, bad := decode(body); bad == nil && !seen[id] {
					if which.Users.Has(d.nameOf(user)) {
						d.FoundSnapshots++
					}
					return give(user, id, x)
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(memory.Owned[T]{}, err)
		}
	}
}

// History gives nothing: old versions are not salvaged.
func (d *Damaged) History(context.Context, string) ([]memory.BaseMemory, error) { return nil, nil }
