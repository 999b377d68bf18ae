// Package pgdb keeps a store in a Postgres database that several machines share, as the
// journal and the memory store can. It has what these have in common: pools of
// connections, migrations, repeating what a lost connection has cut short, notice of
// changes, and errors that say what to do. No other package imports the driver.
//
// # Opening
//
// [Open] takes the URL of a database and the migrations of the store: files NNN_name.sql in
// the form of goose, whose names and numbers only grow. The first connection compares the
// schema with them. Where some are missing they are run under a lock, so that programs which
// start together do not run them twice; a schema that is newer than the program is refused.
// The store's tables are in the schema that the search_path of the URL names, usually
// public. Stores share a database, so tables have a prefix: journal_, memory_.
//
// # Reading and writing
//
// A function that is passed to [Store.Read], [Store.ReadSnapshot] or [Store.Write] gets a
// [Conn] and runs its statements there:
//
//	err := store.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
//		_, err := c.Exec(ctx, "INSERT INTO memory_user(id) VALUES ($1)", id)
//		return err
//	}})
//
// The store calls it again after a lost connection, a restart of the server, a deadlock or a
// conflict, for up to [Options] Retry. So it must set what it returns rather than add to it.
// A connection that is lost during the commit leaves open whether the change was made:
// [Change] Committed finds out.
//
// # Notice of changes
//
// [Store.Notify] tells all programs that have the store open; [Store.Subscribe] waits for that.
// Notice may be lost, so a [Subscription] also wakes its reader from time to time: more often
// where notice does not arrive at all, as behind PgBouncer with pooled transactions.
//
// Tests get a database from package pgdbtest.
package pgdb

import (
	"cmp"
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Options describe a store; the package of the store sets them.
type Options struct {
	// Name is what users call the store, such as "memory store".
	Name string
	// URL is that of the database: postgres://user:password@host:port/database?options. It
	// may hold a password; no error shows it.
	URL string
	// Migrations has the files NNN_name.sql in its root.
	Migrations fs.FS
	// VersionTable is the table with the version of the schema, such as "memory_version".
	VersionTable string
	// Channels are those that the store listens on: see [Store.Subscribe]. Their names are
	// lower-case identifiers, the same in all schemas of a database.
	Channels []string
	// Writers and Readers are how many connections write and read at most; 0 is 2 and 4.
	Writers, Readers int
	// Retry is for how long an operation is repeated that fails because the connection was
	// lost; 0 is 30 s, a negative one never repeats.
	Retry time.Duration
	// KeepError reports whether an error of a function is returned as it is, because it
	// is not about the database. It may be nil.
	KeepError func(error) bool
}

// The pools of a store.
const (
	defaultWriters = 2
	defaultReaders = 4
	defaultRetry   = 30 * time.Second
	// connectTimeout bounds one attempt to connect, where the URL does not.
	connectTimeout = 10 * time.Second
	// openRetry is for how long opening is repeated: a server that starts is worth waiting
	// for, a wrong URL is not.
	openRetry = 3 * time.Second
)

// Store is an open database. A store's package creates one with [Open] and closes it with its
// own Close. It is safe for concurrent use.
type Store struct {
	options  Options
	place    string // host and database, for errors
	database string
	schema   string
	writers  *pgxpool.Pool
	readers  *pgxpool.Pool
	notices  *notices

	closed    atomic.Bool
	closeOnce sync.Once
}

// Open connects to the database of a store and brings its schema up to date.
func Open(ctx context.Context, options Options) (*Store, error) {
	options.Retry = cmp.Or(options.Retry, defaultRetry)
	s := &Store{options: options, place: unknownPlace}
	if err := s.open(ctx); err != nil {
		err = s.Explain("opening", err)
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	o := &s.options
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return wording.Errorf("%w: %w", errBadURL, err)
	}
	s.place, s.database = describePlace(config), config.Database
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "scheduler"
	}
	config.RuntimeParams["timezone"] = "UTC"
	s.writers, err = newPool(ctx, config, cmp.Or(o.Writers, defaultWriters))
	if err != nil {
		return err
	}
	s.readers, err = newPool(ctx, config, cmp.Or(o.Readers, defaultReaders))
	if err != nil {
		return err
	}
	s.notices = newNotices(s, config)
	return s.migrate(ctx, config)
}

// newPool returns a pool that connects when it is used.
func newPool(ctx context.Context, connection *pgx.ConnConfig, size int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = connection.Copy()
	config.MaxConns = int32(size) //nolint:gosec // a handful
	config.MinConns = 0
	config.PingTimeout = connectTimeout
	return pgxpool.NewWithConfig(ctx, config)
}

// PlaceOf returns the host and database of a URL, without user and password, for messages.
func PlaceOf(url string) string {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return unknownPlace
	}
	return describePlace(config)
}

// unknownPlace is the place of a URL that is not valid.
const unknownPlace = "the database"

// Schema returns the schema that the tables are in.
func (s *Store) Schema() string { return s.schema }

// Place returns the host and database of the store, without user and password.
func (s *Store) Place() string { return s.place }

// Close ends all connections, after what runs on them. It may be called twice.
func (s *Store) Close() {
	s.closeOnce.Do(func() {
		s.closed.Store(true)
		if s.notices != nil {
			s.notices.close()
		}
		for _, pool := range []*pgxpool.Pool{s.writers, s.readers} {
			if pool != nil {
				pool.Close()
			}
		}
	})
}

// ErrClosed is the error of a store that was closed.
var ErrClosed = wording.Errorf("the store is closed")
