package sqlmemory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// Damaged lists what can still be read of a damaged store. [OpenDamaged] creates it for
// one export; it changes nothing in the file. It must not be used by several goroutines
// at once.
type Damaged struct {
	file string
	conn *sqlitefile.Salvage
	// Lost counts the unreadable places found so far.
	Lost int

	probes   int // attempts left for the table that is being read
	users    map[int64]string
	sessions map[[2]int64]string // by user and number
	named    bool                // users and sessions have been read
}

var _ memory.Lister = (*Damaged)(nil)

// OpenDamaged opens the damaged store in a directory, for archive.Export. It fails if
// the beginning of the file is destroyed, because SQLite then cannot find the tables.
func OpenDamaged(ctx context.Context, dir string) (*Damaged, error) {
	d := &Damaged{file: filepath.Join(dir, FileName), users: map[int64]string{}, sessions: map[[2]int64]string{}}
	if _, err := os.Stat(d.file); err != nil {
		return nil, explainUnreadable(d.file, err)
	}
	var err error
	d.conn, err = sqlitefile.OpenSalvage(ctx, d.file)
	if err != nil {
		return nil, explainUnreadable(d.file, err)
	}
	return d, nil
}

// explainUnreadable returns the error of a file of which nothing can be salvaged.
func explainUnreadable(file string, err error) error {
	return sqlitefile.Explain(storeName, file, "opening",
		"the beginning of the file is destroyed, so nothing of it can be read: move it away, and import an export or the mirror", err)
}

// Close closes the file.
func (d *Damaged) Close() error { return d.conn.Close() }

// maxProbes bounds the attempts to read around the damaged places of a table.
const maxProbes = 1 << 16

// scanRange reads the rows with keys lo to hi. Where reading fails, it continues with
// both halves of the remaining range, so that only the damaged rows are lost.
func (d *Damaged) scanRange(ctx context.Context, query string, lo, hi int64, row func(scan func(...any) error) (key int64, err error)) error {
	last := lo - 1
	stopped := false
	err := d.conn.QueryRows(query, []any{lo, hi}, func(scan func(...any) error) error {
		key, err := row(scan)
		last = max(last, key)
		stopped = errors.Is(err, packed.ErrStop)
		return err
	})
	switch {
	case stopped:
		return packed.ErrStop
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	d.Lost++
	d.probes--
	lo = last + 1
	if lo >= hi || d.probes < 0 {
		return nil
	}
	middle := lo + (hi-lo)/2
	if err := d.scanRange(ctx, query, lo, middle, row); err != nil {
		return err
	}
	return d.scanRange(ctx, query, middle+1, hi, row)
}

// readNames reads the names of users and sessions, as far as possible.
func (d *Damaged) readNames(ctx context.Context) error {
	if d.named {
		return nil
	}
	d.named = true
	d.probes = maxProbes
	err := d.scanRange(ctx, "SELECT id, name FROM user WHERE id BETWEEN ? AND ? ORDER BY id", 1, math.MaxInt32, func(scan func(...any) error) (int64, error) {
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
		err := d.scanRange(ctx, fmt.Sprintf("SELECT number, name FROM session WHERE user = %d AND number BETWEEN ? AND ? ORDER BY number", id), -1, rank.MaxEntries, func(scan func(...any) error) (int64, error) {
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

// userName returns the name of a user, or salvaged-ID if it could not be read.
func (d *Damaged) userName(user int64) string {
	if name, ok := d.users[user]; ok {
		return name
	}
	return fmt.Sprintf("salvaged-%d", user)
}

// sessionName returns the name of a session, or salvaged-NUMBER if it could not be read.
func (d *Damaged) sessionName(user, number int64) string {
	if name, ok := d.sessions[[2]int64{user, number}]; ok || number < 0 {
		return name
	}
	return fmt.Sprintf("salvaged-%d", number)
}

// Memories lists the memories that can be read; of the selection, only the users count.
func (d *Damaged) Memories(ctx context.Context, which memory.Selection) iter.Seq2[memory.BaseMemory, error] {
	return func(yield func(memory.BaseMemory, error) bool) {
		if err := d.scanMemories(ctx, which, yield); err != nil && !errors.Is(err, packed.ErrStop) {
			yield(memory.BaseMemory{}, err)
		}
	}
}

func (d *Damaged) scanMemories(ctx context.Context, which memory.Selection, yield func(memory.BaseMemory, error) bool) error {
	if err := which.Users.Check(); err != nil {
		return err
	}
	if err := d.readNames(ctx); err != nil {
		return err
	}
	d.probes = maxProbes
	row := func(scan func(...any) error) (rid int64, err error) {
		var m memory.BaseMemory
		var session int64
		dest := packed.Columns(&m)
		err = scan(append([]any{&rid, &session}, dest[0], dest[3], dest[4], dest[5], dest[6])...)
		if err != nil {
			return rid, err
		}
		m.Context.UserID = d.userName(rid >> 32)
		m.Context.SessionID = d.sessionName(rid>>32, session)
		if which.Users.Has(m.Context.UserID) && !yield(m, nil) {
			return rid, packed.ErrStop
		}
		return rid, nil
	}
	const query = "SELECT rid, session, id, time, content, other, extra FROM memory WHERE rid BETWEEN ? AND ? ORDER BY rid"
	if len(d.users) == 0 { // they cannot be read
		return d.scanRange(ctx, query, 1, math.MaxInt32<<32, row)
	}
	for id := range d.users {
		u := user{id: id}
		if err := d.scanRange(ctx, query, u.rid(0), u.rid(rank.MaxEntries-1), row); err != nil {
			return err
		}
	}
	return nil
}

// Snapshots lists the snapshots that can be read.
func (d *Damaged) Snapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MemorySnapshot], error] {
	return scanSnapshots(ctx, d, "snapshot", memory.SnapshotID, which, func(v value.Value) (x memory.MemorySnapshot, err error) {
		err = x.DecodeValue(v)
		return x, err
	})
}

// MetaSnapshots lists the meta snapshots that can be read.
func (d *Damaged) MetaSnapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MetaSnapshot], error] {
	return scanSnapshots(ctx, d, "meta", memory.MetaID, which, func(v value.Value) (x memory.MetaSnapshot, err error) {
		err = x.DecodeValue(v)
		return x, err
	})
}

// maxSnapshotKey bounds the keys that scanSnapshots looks for.
const maxSnapshotKey = 1 << 24

// scanSnapshots lists the readable rows of table snapshot or meta.
func scanSnapshots[T any](ctx context.Context, d *Damaged, table string, kind memory.Kind, which memory.Selection, decode func(value.Value) (T, error)) iter.Seq2[memory.Owned[T], error] {
	return func(yield func(memory.Owned[T], error) bool) {
		err := which.Users.Check()
		if err == nil {
			err = d.readNames(ctx)
		}
		if err == nil {
			d.probes = maxProbes
			err = d.scanRange(ctx, "SELECT key, id, user, body FROM "+table+" WHERE key BETWEEN ? AND ? ORDER BY key", 1, maxSnapshotKey, func(scan func(...any) error) (int64, error) {
				var key, user int64
				var id string
				var x T
				var bad error
				if err := scan(&key, packed.ScanID{Kind: kind, To: &id}, &user, packed.ScanJSON{Use: func(v value.Value) { x, bad = decode(v) }}); err != nil || bad != nil {
					return key, errors.Join(err, bad)
				}
				if name := d.userName(user); which.Users.Has(name) && !yield(memory.Owned[T]{User: name, Snapshot: x}, nil) {
					return key, packed.ErrStop
				}
				return key, nil
			})
		}
		if err != nil && !errors.Is(err, packed.ErrStop) {
			yield(memory.Owned[T]{}, err)
		}
	}
}
