// Package sqlite keeps memories in one SQLite file that several processes share.
//
// A memory, its words and the snapshot that it makes due are one commit, which is
// on the disk when saving returns. Words are found through posting lists of our own,
// per user: blobs of (memory, frequency), to which new memories are added some
// hundred at a time; until then their words lie beside them.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// FileName is the name of the database in its directory.
const FileName = "memory.db"

// Options are how a store is opened; the zero value is right for programs.
type Options struct {
	// Clock dates what is saved; nil is the machine's.
	Clock func() time.Time
	// BusyTimeout is how long a locked file is waited for; 0 is a minute, for imports
	// of other processes take some time.
	BusyTimeout time.Duration
	// MaxPages bounds the size of the file, in pages of 4 KiB; 0 does not.
	MaxPages int
}

// Store is a memory store in a file.
type Store struct {
	file   string
	clock  func() time.Time
	writer *writer
	write  *sql.DB
	read   *pool

	mu      sync.Mutex
	shelves map[int64]*shelf // by user
	toFold  map[int64]bool   // users whose tail is long
	scrub   bool             // something was deleted
	once    sync.Once
	closing error
}

var _ memory.Store = (*Store)(nil)

// Open opens the store in a directory, or makes both: the directory for nobody but
// the user.
func Open(ctx context.Context, dir string, options Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the memory store: %w", err)
	}
	s := &Store{file: filepath.Join(dir, FileName), clock: options.Clock, shelves: map[int64]*shelf{}, toFold: map[int64]bool{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	if err := s.open(ctx, options); err != nil {
		return nil, explain(s.file, "opening", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, options Options) error {
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	// SQLite would let others read it.
	f, err := os.OpenFile(s.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	busy := cmp.Or(options.BusyTimeout, time.Minute)
	pragmas := []string{"synchronous(FULL)", "secure_delete(FAST)"}
	if options.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", options.MaxPages))
	}
	if s.write, err = connect(s.file, busy, pragmas...); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	c, err := s.first(ctx, busy)
	if err != nil {
		_ = s.write.Close() // the error that led here says more
		return err
	}
	db, err := connect(s.file, busy, "query_only(1)")
	if err != nil {
		return errors.Join(err, c.Close(), s.write.Close())
	}
	s.read = newPool(db, max(4, runtime.GOMAXPROCS(0)))
	s.writer = newWriter(&conn{sql: c, stmts: map[string]*sql.Stmt{}}, s.tidy)
	return nil
}

// first gives the connection that writes, to a file in order. When several processes
// make the same file, SQLite tells some that it is locked without waiting.
func (s *Store) first(ctx context.Context, busy time.Duration) (*sql.Conn, error) {
	deadline := time.Now().Add(busy)
	for {
		c, err := s.write.Conn(ctx)
		if err == nil {
			if err = prepare(ctx, c, s.file); err == nil {
				return c, nil
			}
			_ = c.Close() // the error that led here says more
		}
		if code := codeOf(err); code != codeBusy && code != codeLocked || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connect makes connections to the file with these settings.
func connect(file string, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	path := filepath.ToSlash(file)
	if filepath.VolumeName(file) != "" {
		path = "/" + path
	}
	settings := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}}
	for _, p := range pragmas {
		settings.Add("_pragma", p)
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String())
}

// File is the path of the database.
func (s *Store) File() string { return s.file }

// Close finishes what is being written and closes the file.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.closing = explain(s.file, "closing", errors.Join(s.writer.close(), s.read.close(), s.write.Close()))
	})
	return s.closing
}

// Check looks for damage: of the file, and memories that their words would not find.
// It reads the whole file.
func (s *Store) Check(ctx context.Context) error {
	err := s.read.read(ctx, func(c *conn) error {
		var problem string
		if _, err := c.row("PRAGMA integrity_check(1)", nil, &problem); err != nil {
			return err
		}
		if problem != "ok" {
			return fmt.Errorf("damage was found: %s", problem)
		}
		var id int64
		found, err := c.row(`SELECT rid FROM memory JOIN user ON user.id = rid >> 32
			WHERE (rid & 0xffffffff) >= folded AND rid NOT IN (SELECT rid FROM tail) LIMIT 1`, nil, &id)
		if found {
			return fmt.Errorf("the memory %d has no words in the index", id)
		}
		return err
	})
	return explain(s.file, "checking", err)
}

// change is a write whose errors say which file they are about.
func (s *Store) change(ctx context.Context, do func(*conn) error) error {
	return explain(s.file, "writing to", s.writer.write(ctx, do))
}

// look is a read whose errors say which file they are about.
func (s *Store) look(ctx context.Context, f func(*conn) error) error {
	return explain(s.file, "reading", s.read.read(ctx, f))
}
