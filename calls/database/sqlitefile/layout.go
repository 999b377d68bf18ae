package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Layout describes the file of a store. It is a constant of the store's package.
type Layout struct {
	// ApplicationID marks the files of the store.
	ApplicationID int
	// Migrations lead from one version of the schema to the next; the version is their
	// number. A released migration is never changed.
	Migrations []string
	// AutoVacuum lets freed pages be given back to the disk (PRAGMA incremental_vacuum).
	AutoVacuum bool
}

// Connect returns connections to a file with these pragmas, each as name(value).
func Connect(file string, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	return connectWith(file, busy, pragmas)
}

// connectWith is Connect with further URI parameters, each a name and a value.
func connectWith(file string, busy time.Duration, pragmas []string, more ...string) (*sql.DB, error) {
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

// Open returns the connection that writes, to a file with this layout and a write-ahead
// log. It creates a missing directory and file with access for the current user only, and
// migrates an older file. Errors are [ErrForeign], [*NewerError], [*NoWALError], [*LostLogError], [ErrDamaged] for
// an empty file, [calls.ErrNotRegular], or errors of SQLite and the file system.
func (l *Layout) Open(ctx context.Context, file string, busy time.Duration, pragmas ...string) (*sql.DB, *sql.Conn, error) {
	if err := checkRegular(file); err != nil {
		return nil, nil, err
	}
	if err := checkLog(file); err != nil {
		return nil, nil, err
	}
	if err := checkEmpty(file); err != nil {
		return nil, nil, err
	}
	if err := createFile(file); err != nil {
		return nil, nil, err
	}
	db, err := Connect(file, busy, pragmas...)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := l.connectPrepared(ctx, db, busy)
	if err != nil {
		_ = db.Close() // the error that led here says more
		return nil, nil, err
	}
	if err := os.Remove(file + creationSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(err, conn.Close(), db.Close())
	}
	return db, conn, nil
}

// Exists reports whether there is a file, or only its log.
func Exists(file string) bool {
	for _, path := range []string{file, file + "-wal"} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// checkRegular returns an error if the file, or one that SQLite keeps beside it, is a pipe, a device or a
// directory: SQLite would wait for a pipe without an end.
func checkRegular(file string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := calls.CheckRegular(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkEmpty returns [ErrDamaged] if an empty file was not left by a process that was creating it: for example a
// full disk or a broken copy has emptied it. A new database in its place would hide that.
func checkEmpty(file string) error {
	for n := 1; ; n++ {
		isLost := sizeOf(file) == 0 && sizeOf(file+creationSuffix) < 0
		if !isLost {
			return nil
		}
		if n == logChecks { // until then another process may have been about to end the creation
			return wording.Errorf("%w: it is empty", ErrDamaged)
		}
		time.Sleep(logPause)
	}
}

// createFile creates a missing file, because SQLite would let other users read it.
func createFile(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if sizeOf(file) <= 0 {
		if err := createIfMissing(file + creationSuffix); err != nil {
			return err
		}
	}
	return createIfMissing(file)
}

// createIfMissing creates a missing file that only the current user may read.
func createIfMissing(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// connectPrepared returns a connection to a file that has the layout. When several
// processes create the same file, SQLite reports it as locked to some without waiting.
func (l *Layout) connectPrepared(ctx context.Context, db *sql.DB, busy time.Duration) (*sql.Conn, error) {
	deadline := time.Now().Add(busy)
	for {
		conn, err := db.Conn(ctx)
		if err == nil {
			err = l.createOrMigrate(ctx, conn)
			if err == nil {
				return conn, nil
			}
			_ = conn.Close() // the error that led here says more
		}
		if !isLocked(err) || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// createOrMigrate creates the schema of a new file and migrates an older one.
func (l *Layout) createOrMigrate(ctx context.Context, conn *sql.Conn) error {
	version, err := l.readVersion(ctx, conn)
	if err != nil {
		return err
	}
	if version == 0 && l.AutoVacuum { // possible only before the first table
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
	if version == len(l.Migrations) {
		return nil
	}
	return l.migrate(ctx, conn)
}

// migrate runs the missing migrations, all or none. Another process may have done it
// meanwhile.
func (l *Layout) migrate(ctx context.Context, conn *sql.Conn) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // err has the cause
		}
	}()
	version, err := l.versionInTransaction(ctx, conn)
	if err != nil {
		return err
	}
	for _, migration := range l.Migrations[version:] {
		if _, err := conn.ExecContext(ctx, migration); err != nil {
			return err
		}
	}
	for name, number := range map[string]int{"application_id": l.ApplicationID, "user_version": len(l.Migrations)} {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %d", name, number)); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// readVersion returns the schema version of the file; 0 is an empty file.
func (l *Layout) readVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer func() {
		if _, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
			err = end
		}
	}()
	return l.versionInTransaction(ctx, conn)
}

// versionInTransaction is readVersion in a transaction that has begun: other processes
// could change the file between its queries.
func (l *Layout) versionInTransaction(ctx context.Context, conn *sql.Conn) (int, error) {
	var application, version, tables int
	for query, target := range map[string]*int{
		"PRAGMA application_id": &application, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := conn.QueryRowContext(ctx, query).Scan(target); err != nil {
			return 0, err
		}
	}
	switch {
	case application == 0 && version == 0 && tables == 0:
		return 0, nil
	case application != l.ApplicationID || version <= 0:
		return 0, ErrForeign
	case version > len(l.Migrations):
		return 0, &NewerError{version, len(l.Migrations)}
	}
	return version, nil
}
