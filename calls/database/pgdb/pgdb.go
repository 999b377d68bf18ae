// Package pgdb keeps a store in a Postgres database that several machines share, as the journal and the memory
// store can. It has the parts that these share: pools of connections, migrations, repeating work that a lost
// connection has cut short, notice of changes, and errors that suggest a remedy. No other package imports the
// driver.
//
// # Opening
//
// [Open] takes the URL of a database and the migrations of the store: files NNN_name.sql in
// the form of goose, whose names and numbers only grow. The first connection compares the schema with them. If
// some are missing, they are run under a lock, so that programs which start together do not run them twice; a
// schema that is newer than the program is refused. The store's tables are in the schema that the URL's
// search_path names, usually public. Stores share a database, so tables have a prefix: journal_, memory_.
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
// The store calls it again after a lost connection, a restart of the server, a deadlock or a conflict, for up to
// [Options] Retry. So it must set its results rather than add to them, for example start an empty list on every
// call. A connection that is lost during the commit leaves open whether the change was made: [Change] Committed
// finds out.
//
// # Notice of changes
//
// [Store.Notify] notifies all programs that have the store open; [Store.Subscribe] waits for that. Notice may be
// lost, so a [Subscription] also wakes its reader from time to time: more often if notice does not arrive at all,
// for example behind PgBouncer with pooled transactions.
//
// Tests get a database from package pgdbtest.
package pgdb

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options describe a store; the package of the store sets them.
type Options struct {
	// Name is the users' name for the store, such as "memory store".
	Name string
	// URL is the database's: postgres://user:password@host:port/database?options. It may hold a password; no error
	// shows it.
	URL string
	// Migrations has the files NNN_name.sql in its root.
	Migrations fs.FS
	// VersionTable is the table with the version of the schema, such as "memory_version".
	VersionTable string
	// Channels are the channels that the store listens on: see [Store.Subscribe]. Their names are lower-case
	// identifiers, the same in all schemas of a database.
	Channels []string
	// Writers and Readers are how many connections write and read at most; 0 is 2 and 4.
	Writers, Readers int
	// Retry is for how long an operation is repeated that fails because the connection was
	// lost; 0 is 30 s, a negative one never repeats.
	Retry time.Duration
	// KeepError reports whether an error of a function is returned unchanged, because it is not about the database.
	// It may be nil.
	KeepError func(error) bool
	// Log gets a warning when the database cannot be reached for a while, and when it is back; nil gets none.
	Log *slog.Logger
}

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
	absence  absence

	closed    atomic.Bool
	closeOnce sync.Once
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

// Notify notifies the subscribers to a text on a channel, in all programs, that there is something to read. It
// does not wait, and notice may be lost. Call it after the commit: in the transaction it would make all that
// commit on the server wait for each other.
func (s *Store) Notify(channel, text string) { s.notices.add(notice{channel, text}) }

// Subscribe begins to wait for notice of a text on one of the channels of the store. Read earlier writes after
// calling Subscribe, or some can be missed.
func (s *Store) Subscribe(channel, text string) *Subscription {
	return s.notices.subscribe(notice{channel, text})
}

// Close ends all connections, after the work that runs on them. It may be called twice.
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

// describePlace returns the place of a database, without user and password.
func describePlace(c *pgx.ConnConfig) string {
	host := c.Host
	if c.Port != 0 && !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, fmt.Sprint(c.Port))
	}
	return host + "/" + c.Database
}
