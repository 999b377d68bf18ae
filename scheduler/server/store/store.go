// Package store keeps the server's data besides the journal: tokens, sessions, the keys of requests that must not
// be carried out twice (for example a start with an idempotency key), conversations that wait, fires of schedules,
// notifications, the audit, and the records of the processes that carry runs out. It is the file serve.db of the
// state directory, which several processes share, or tables of a Postgres database, which several machines share.
package store

import (
	"context"
	"crypto/rand"
	"embed"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// FileName is the name of the database in the state directory.
const FileName = "serve.db"

// layout is the schema of the file. Its tables have the names that they have in Postgres, in which other stores
// have their tables beside them.
var layout = sqlitefile.Layout{
	ApplicationID: 0x73636873, // schs
	Migrations: []string{`
CREATE TABLE token (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, user TEXT NOT NULL, scopes TEXT NOT NULL,
	created INTEGER NOT NULL, expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE session (
	hash BLOB PRIMARY KEY, token TEXT NOT NULL, expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
	principal TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, run TEXT NOT NULL,
	status INTEGER NOT NULL, response BLOB NOT NULL, created INTEGER NOT NULL,
	PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_created ON request (created);
CREATE TABLE conversation (
	key BLOB PRIMARY KEY, run TEXT NOT NULL, created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
	id INTEGER PRIMARY KEY, at INTEGER NOT NULL, token TEXT NOT NULL, user TEXT NOT NULL, address TEXT NOT NULL,
	method TEXT NOT NULL, route TEXT NOT NULL, run TEXT NOT NULL, status INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit (at);`, `
CREATE TABLE secret (
	name TEXT PRIMARY KEY, value BLOB NOT NULL
) STRICT, WITHOUT ROWID;`, `
CREATE TABLE schedule (
	id TEXT PRIMARY KEY, paused INTEGER NOT NULL, seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fire (
	schedule TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, run TEXT NOT NULL,
	state TEXT NOT NULL, reason TEXT NOT NULL, touched INTEGER NOT NULL,
	PRIMARY KEY (schedule, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fire_at ON fire (schedule, at);
CREATE INDEX fire_open ON fire (state, at) WHERE state IN ('queued', 'starting', 'started');`, `
CREATE TABLE outbox (
	id TEXT PRIMARY KEY, url TEXT NOT NULL, body BLOB NOT NULL, tries INTEGER NOT NULL, next INTEGER NOT NULL,
	created INTEGER NOT NULL, done INTEGER NOT NULL, problem TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (next) WHERE done = 0;
CREATE TABLE notified (id INTEGER PRIMARY KEY, until INTEGER NOT NULL) STRICT;`, `
ALTER TABLE token RENAME TO serve_token;
ALTER TABLE session RENAME TO serve_session;
ALTER TABLE request RENAME TO serve_request;
ALTER TABLE conversation RENAME TO serve_conversation;
ALTER TABLE audit RENAME TO serve_audit;
ALTER TABLE secret RENAME TO serve_secret;
ALTER TABLE schedule RENAME TO serve_schedule;
ALTER TABLE fire RENAME TO serve_fire;
ALTER TABLE outbox RENAME TO serve_outbox;
ALTER TABLE notified RENAME TO serve_notified;`, `
DELETE FROM serve_outbox;
ALTER TABLE serve_outbox RENAME COLUMN url TO target;`, `
ALTER TABLE serve_request ADD COLUMN claims TEXT NOT NULL DEFAULT 'earlier,';`, `
CREATE TABLE serve_worker (
	id TEXT PRIMARY KEY, beat INTEGER NOT NULL, record BLOB NOT NULL
) STRICT, WITHOUT ROWID;`},
}

// Store is an open file or database. The program opens one with [Open] or [OpenShared] and
// closes it at its end. It is safe for concurrent use.
type Store struct {
	db    database.Store
	clock func() time.Time
}

// Open opens the file of a state directory, or makes it. A nil clock is the machine's.
func Open(ctx context.Context, dir string, clock func() time.Time) (*Store, error) {
	if clock == nil {
		clock = time.Now
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	db, err := sqlitefile.Open(ctx, sqlitefile.Options{
		Name: "store of the server", File: filepath.Join(dir, FileName), Layout: &layout,
		BusyTimeout: 10 * time.Second, Pragmas: []string{"synchronous(FULL)"},
		DamagedHint: "stop all servers and move " + FileName + " away: tokens have to be created again, runs are not in it",
	})
	if err != nil {
		return nil, err
	}
	return &Store{db: database.NewFile(db), clock: clock}, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// OpenShared opens the store in a Postgres database, and makes its tables if they are missing. A nil clock is the
// machine's: all machines' clocks should agree to some seconds.
func OpenShared(ctx context.Context, url string, clock func() time.Time) (*Store, error) {
	if clock == nil {
		clock = time.Now
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := pgdb.Open(ctx, pgdb.Options{Name: "store of the server", URL: url, Migrations: files, VersionTable: "serve_version"})
	if err != nil {
		return nil, err
	}
	return &Store{db: database.Shared{Store: db}, clock: clock}, nil
}

// write makes a change. It may call do several times.
func (s *Store) write(ctx context.Context, do func(database.Conn) error) error {
	return s.db.Write(ctx, database.Change{Do: do})
}

// exec runs a statement whose number of changed rows is of no interest.
func exec(c database.Conn, query string, args ...any) error {
	_, err := c.Exec(query, args...)
	return err
}

// isStorable reports whether both databases can keep a text: Postgres wants valid UTF-8 without
// zero bytes.
func isStorable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// storable returns a text for people with U+FFFD for each character that is not storable.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// Close closes the file, or ends the connections.
func (s *Store) Close() error { return s.db.Close() }

// Ping returns an error if the store cannot be read.
func (s *Store) Ping(ctx context.Context) error {
	return s.db.Read(ctx, func(c database.Conn) error {
		var n int
		_, err := c.QueryRow("SELECT count(*) FROM serve_token WHERE id = ''", nil, &n)
		return err
	})
}

// CheckWritable returns an error if nothing could be stored now, for example because the disk is full.
func (s *Store) CheckWritable(ctx context.Context) error { return s.db.CheckWritable(ctx) }

// secretBytes is how long secrets of the server are.
const secretBytes = 32

// Secret returns the random bytes of a name, which all servers of the store share. They are
// made when they are first asked for.
func (s *Store) Secret(ctx context.Context, name string) (secret []byte, err error) {
	fresh := make([]byte, secretBytes)
	_, _ = rand.Read(fresh) // it never fails
	err = s.write(ctx, func(c database.Conn) error {
		if err := exec(c, "INSERT INTO serve_secret(name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, fresh); err != nil {
			return err
		}
		_, err := c.QueryRow("SELECT value FROM serve_secret WHERE name = $1", []any{name}, &secret)
		return err
	})
	return secret, err
}

// How long rows are kept.
const (
	keepRequests      = 24 * time.Hour
	keepConversations = 30 * 24 * time.Hour
	keepAudit         = 90 * 24 * time.Hour
	keepFires         = 30 * 24 * time.Hour
	keepMessages      = 7 * 24 * time.Hour
)

// Prune deletes old entries.
func (s *Store) Prune(ctx context.Context) error {
	now := s.clock()
	return s.write(ctx, func(c database.Conn) error {
		for _, one := range []struct {
			query string
			until time.Time
		}{
			{"DELETE FROM serve_session WHERE expires < $1", now},
			{"DELETE FROM serve_request WHERE created < $1", now.Add(-keepRequests)},
			{"DELETE FROM serve_conversation WHERE created < $1", now.Add(-keepConversations)},
			{"DELETE FROM serve_audit WHERE at < $1", now.Add(-keepAudit)},
			{"DELETE FROM serve_outbox WHERE created < $1", now.Add(-keepMessages)},
			{"DELETE FROM serve_fire WHERE state IN ('over', 'skipped', 'failed') AND at < $1", now.Add(-keepFires)},
		} {
			if err := exec(c, one.query, one.until.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
}
