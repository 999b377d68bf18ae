package sqlmemory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value/wording"
)

// FileName is the name of the file in its directory.
const FileName = "memory.db"

// FileOptions are how [OpenFile] opens a store. The zero value is right for programs.
type FileOptions struct {
	// Clock dates new memories; nil is the machine's.
	Clock func() time.Time
	// BusyTimeout is how long other processes that write are waited for; 0 is a minute,
	// because imports take some time.
	BusyTimeout time.Duration
	// MaxPages bounds the size of the file, in pages of 4 KiB; 0 means no bound.
	MaxPages int
	// Log gets a message when memories of an older version are reindexed, which takes some
	// time; nil discards it.
	Log *slog.Logger
	// Facts are which memories state facts.
	Facts FactOptions
}

// OpenFile opens the store in a directory. It creates a missing directory and store with
// access for the current user only. A store that cannot be written is refused.
func OpenFile(ctx context.Context, dir string, options FileOptions) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, wording.Errorf("opening the memory store: %w", err)
	}
	return openFile(ctx, dir, options, "synchronous(FULL)", "")
}

// OpenTemporary creates an empty store in a temporary directory, which Close removes: for runs
// that keep nothing, and for tests. It does not survive a crash.
func OpenTemporary(ctx context.Context, options FileOptions) (*Store, error) {
	dir, err := os.MkdirTemp("", "scheduler-memory-")
	if err != nil {
		return nil, wording.Errorf("creating a temporary memory store: %w", err)
	}
	s, err := openFile(ctx, dir, options, "synchronous(OFF)", dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// damagedHint is the remedy for a damaged file.
const damagedHint = "the file is damaged: move it away, and import an export or the mirror; what else can be saved, sqlite3 FILE .recover tells"

// errFileIndex means that the index contradicts itself or the memories.
var errFileIndex = wording.Errorf("%w: its index is wrong", sqlitefile.ErrDamaged)

// writeCache is the page cache of the writing connection, in KiB: new words are written
// to many places.
const writeCache = 16 << 10

func openFile(ctx context.Context, dir string, options FileOptions, synchronous, temporary string) (*Store, error) {
	// secure_delete overwrites deleted rows, also in pages that become free.
	pragmas := []string{synchronous, "secure_delete(ON)", fmt.Sprintf("cache_size(-%d)", writeCache)}
	if options.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", options.MaxPages))
	}
	d := &fileDialect{temporary: temporary, factVersion: options.Facts.newVersion(), toFold: map[string]bool{}}
	db, err := sqlitefile.Open(ctx, sqlitefile.Options{
		Name: storeName, File: filepath.Join(dir, FileName), Layout: &layout, DamagedHint: damagedHint,
		BusyTimeout: cmp.Or(options.BusyTimeout, time.Minute), Pragmas: pragmas,
		Idle: d.tidyUp, RolledBack: d.users.forget,
	})
	if err != nil {
		return nil, err
	}
	d.file = database.NewFile(db, "memory_old", "version", "memory_", "", "owner", "user",
		"greatest(", "max(", "least(", "min(", " FOR UPDATE SKIP LOCKED", "")
	s, err := newStore(ctx, d, options.Clock, options.Log, options.Facts)
	if err != nil {
		_ = s.Close() // err says more
		return nil, err
	}
	return s, nil
}

// File returns the path of the database, "" if it is not a file.
func (s *Store) File() string {
	if d, ok := s.db.(*fileDialect); ok {
		return d.file.File()
	}
	return ""
}

// fileDialect is a SQLite file. Its tables have no prefix and name the user of a row user; texts are stored
// unchanged.
type fileDialect struct {
	plainText
	file database.File
	// users is the writer's memory of users; only its goroutine uses it.
	users     userCache
	temporary string // a directory that Close removes, or ""
	// factVersion is the version of the facts of new users.
	factVersion int
	closeOnce   sync.Once
	closeErr    error

	mu          sync.Mutex      // guards the fields below
	toFold      map[string]bool // users with many memories that are not in the postings
	mustWipeLog bool            // something was deleted
	retryWipe   *time.Timer     // for a log that could not be emptied, else nil
}

// plainText is the codec of texts that are stored unchanged.
type plainText struct{}

func (plainText) encode(text string) string                   { return text }
func (plainText) decode(text string) (string, error)          { return text, nil }
func (plainText) keyOf(text string) string                    { return text }
func (plainText) checkName(string, string) error              { return nil }
func (d *fileDialect) place() (kind, name string)             { return "file", d.file.File() }
func (*fileDialect) indexError() error                        { return errFileIndex }
func (*fileDialect) checkIntegrity(c conn) error              { return sqlitefile.CheckIntegrity(c) }
func (*fileDialect) lockOwners([][]byte) []database.Statement { return nil }
func (*fileDialect) lockModels() []database.Statement         { return nil }
func (d *fileDialect) Explain(doing string, err error) error  { return d.file.Explain(doing, err) }

func (*fileDialect) sizeQuery() string {
	return "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
}

// Close makes the changes that still wait and closes the file. It may be called twice.
func (d *fileDialect) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		if d.retryWipe != nil {
			d.retryWipe.Stop()
			d.file.RequestIdle() // the last time
		}
		d.mu.Unlock()
		d.closeErr = d.file.Close()
		if d.temporary != "" {
			d.closeErr = errors.Join(d.closeErr, os.RemoveAll(d.temporary))
		}
	})
	return d.closeErr
}

func (d *fileDialect) conn(c *sqlitefile.Conn) conn { return conn{d.file.Conn(c), d} }

// read calls do in a transaction.
func (d *fileDialect) read(ctx context.Context, do func(conn) error) error {
	return d.file.Store.Read(ctx, func(c *sqlitefile.Conn) error { return do(d.conn(c)) })
}

func (d *fileDialect) readSnapshot(ctx context.Context, do func(conn) error) error {
	return d.read(ctx, do)
}

// change makes a change other than saveRows, which the cache of users does not know of.
func (d *fileDialect) change(ctx context.Context, do func(conn) error) error {
	return d.file.Store.Write(ctx, func(c *sqlitefile.Conn) error {
		d.users.forget()
		return do(d.conn(c))
	})
}

// lockUsers reads users: the writer is alone anyway.
func (d *fileDialect) lockUsers(c conn, create bool, names []string) (map[string]*user, error) {
	users := make(map[string]*user, len(names))
	for _, name := range names {
		u, err := d.findUser(c, name)
		if u == nil && err == nil && create {
			_, err = c.Exec("INSERT INTO user(name, analysis, facts) VALUES ($1, $2, $3)", name, rank.AnalysisVersion, d.factVersion)
			if err == nil {
				u, err = d.findUser(c, name)
			}
		}
		if err != nil {
			return nil, err
		}
		if u != nil {
			users[name] = u
		}
	}
	return users, nil
}

// findUser returns a user, or nil.
func (*fileDialect) findUser(c conn, name string) (u *user, err error) {
	err = c.QueryRows(selectUsers, []any{name}, func(scan func(...any) error) (err error) {
		u, err = scanUser(c, scan)
		return err
	})
	return u, err
}

// readIndex calls do in a transaction.
func (d *fileDialect) readIndex(ctx context.Context, s *Store, name string, _ bool, do func(userView) error) error {
	for again := true; again; {
		err := d.read(ctx, func(c conn) error {
			id, seen, err := findIndex(c, name)
			again = false
			if id == 0 || err != nil {
				return err
			}
			again, err = s.indexes.Use(ctx, id, seen, reader{c, id}, func(ix *packed.Index) error {
				return do(fileView{&view{known: ix, user: id, conn: c}})
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fileView reads the postings of one term after the other.
type fileView struct{ *view }

// Postings is part of [rank.Source], like the method below.
func (v fileView) Postings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	to, err := v.readLists(ctx, "SELECT chunk, data FROM posting WHERE user = ? AND term = ? AND chunk >= 0", term, to)
	return v.known.TailPostings(term, to), err
}

// ExtraPostings appends the postings of a term in the snapshots.
func (v fileView) ExtraPostings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	return v.readLists(ctx, "SELECT -1 - chunk, data FROM posting WHERE user = ? AND term = ? AND chunk < 0", term, to)
}

func (v fileView) readLists(ctx context.Context, query, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := ctx.Err(); err != nil {
		return to, err
	}
	err := v.conn.QueryRows(query, []any{v.user, term}, func(scan func(...any) error) error {
		var chunk uint32
		var b borrowed
		err := scan(&chunk, &b)
		to = packed.ReadPostings(b, chunk, to)
		return err
	})
	return to, err
}
