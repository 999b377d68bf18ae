// Package sqlitefile opens the SQLite files that several processes share: the
// journal and the memory store. It is the door to the SQLite driver: who opens files
// with it needs no other import.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite" // registers the driver
)

// Form is what the file of a store looks like.
type Form struct {
	// ApplicationID marks the files of the store.
	ApplicationID int
	// Migrations lead from one form of the file to the next; the form is their number.
	// What was released is never changed, only added to.
	Migrations []string
	// GiveBack lets the store give freed pages back to the disk.
	GiveBack bool
}

// Primary result codes of SQLite that stores explain.
const (
	Perm     = 3
	Busy     = 5
	Locked   = 6
	ReadOnly = 8
	IOErr    = 10
	Corrupt  = 11
	Full     = 13
	CantOpen = 14
	NotADB   = 26
)

// CodeOf is the primary result code; 0 where SQLite did not say.
func CodeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// ErrForeign says that a file is a database of another program.
var ErrForeign = errors.New("it is a database of another program")

// NewerError says that a later version of the program wrote a file.
type NewerError struct {
	// Has is the form of the file, Known the latest that this program knows.
	Has, Known int
}

// Error says both.
func (e *NewerError) Error() string {
	return fmt.Sprintf("it has the form %d, this program knows those up to %d", e.Has, e.Known)
}

// NoWALError says that a file cannot keep a write-ahead log where it is.
type NoWALError struct {
	// Mode is the journal mode that it stays in.
	Mode string
}

// Error names the mode.
func (e *NoWALError) Error() string {
	return fmt.Sprintf("it cannot keep a write-ahead log, its journal mode stays %q", e.Mode)
}

// Connect makes connections to a file with these pragmas, name(value).
func Connect(file string, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	return connect(file, busy, pragmas)
}

// connect is Connect with further settings of the file, names and values.
func connect(file string, busy time.Duration, pragmas []string, more ...string) (*sql.DB, error) {
	path := filepath.ToSlash(file)
	if filepath.VolumeName(file) != "" {
		path = "/" + path
	}
	settings := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}}
	for _, p := range pragmas {
		settings.Add("_pragma", p)
	}
	for i := 0; i < len(more); i += 2 {
		settings.Set(more[i], more[i+1])
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String())
}

// Open gives the one connection that writes, to a file in this form with a
// write-ahead log: a new file in a new directory, both for nobody but the user, or an
// old one that is brought up to date. Errors are [ErrForeign], [*NewerError],
// [*NoWALError], or those of SQLite and the file system.
func (f *Form) Open(ctx context.Context, file string, busy time.Duration, pragmas ...string) (*sql.DB, *sql.Conn, error) {
	if err := private(file); err != nil {
		return nil, nil, err
	}
	db, err := Connect(file, busy, pragmas...)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := f.first(ctx, db, busy)
	if err != nil {
		_ = db.Close() // the error that led here says more
		return nil, nil, err
	}
	return db, conn, nil
}

// private makes the file where there is none: SQLite would let others read it.
func private(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// first gives a connection to a file in order. When several processes make the same
// file, SQLite tells some that it is locked without waiting.
func (f *Form) first(ctx context.Context, db *sql.DB, busy time.Duration) (*sql.Conn, error) {
	deadline := time.Now().Add(busy)
	for {
		conn, err := db.Conn(ctx)
		if err == nil {
			if err = f.prepare(ctx, conn); err == nil {
				return conn, nil
			}
			_ = conn.Close() // the error that led here says more
		}
		if code := CodeOf(err); code != Busy && code != Locked || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// prepare makes a store of a new file and brings an old one up to date.
func (f *Form) prepare(ctx context.Context, conn *sql.Conn) error {
	form, err := f.look(ctx, conn)
	if err != nil {
		return err
	}
	if form == 0 && f.GiveBack { // it has to be said before the first table
		if _, err := conn.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return &NoWALError{mode}
	}
	if form == len(f.Migrations) {
		return nil
	}
	return f.migrate(ctx, conn)
}

// migrate takes the missing steps, all or none; another process may be faster.
func (f *Form) migrate(ctx context.Context, conn *sql.Conn) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // err says what happened
		}
	}()
	form, err := f.formOf(ctx, conn)
	if err != nil {
		return err
	}
	for _, step := range f.Migrations[form:] {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	for name, number := range map[string]int{"application_id": f.ApplicationID, "user_version": len(f.Migrations)} {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %d", name, number)); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// look is formOf in a transaction of its own.
func (f *Form) look(ctx context.Context, conn *sql.Conn) (form int, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer func() {
		if _, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
			err = end
		}
	}()
	return f.formOf(ctx, conn)
}

// formOf is the form of the file; 0 is an empty one. It needs a transaction, for
// others may change the file between its questions.
func (f *Form) formOf(ctx context.Context, conn *sql.Conn) (int, error) {
	var application, form, tables int
	for query, target := range map[string]*int{
		"PRAGMA application_id": &application, "PRAGMA user_version": &form, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := conn.QueryRowContext(ctx, query).Scan(target); err != nil {
			return 0, err
		}
	}
	switch {
	case application == 0 && form == 0 && tables == 0:
		return 0, nil
	case application != f.ApplicationID || form <= 0:
		return 0, ErrForeign
	case form > len(f.Migrations):
		return 0, &NewerError{form, len(f.Migrations)}
	}
	return form, nil
}
