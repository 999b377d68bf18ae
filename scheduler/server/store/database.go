package store

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// database is where a [Store] keeps its tables: a file of one machine, or a Postgres database
// that several share. Both run the same statements, with ? for arguments. A change is one
// transaction; in Postgres others run beside it, so that of two changes one may wait for a row
// of the other and then sees what that has left.
type database interface {
	// Read and Write may call do several times: it begins with an empty result each time.
	Read(ctx context.Context, do func(conn) error) error
	Write(ctx context.Context, do func(conn) error) error
	// CheckWritable returns an error where nothing could be stored now.
	CheckWritable(ctx context.Context) error
	Close() error
}

// conn runs statements. It is valid during the call of the function that it is passed to.
type conn interface {
	Exec(query string, args ...any) error
	// ExecCount returns the number of rows that were changed.
	ExecCount(query string, args ...any) (int64, error)
	QueryRow(query string, args []any, dest ...any) (found bool, err error)
	QueryRows(query string, args []any, each func(scan func(...any) error) error) error
}

// fileDatabase is a SQLite file.
type fileDatabase struct{ *sqlitefile.Store }

// Read calls do with a connection that reads.
func (d fileDatabase) Read(ctx context.Context, do func(conn) error) error {
	return d.Store.Read(ctx, func(c *sqlitefile.Conn) error { return do(c) })
}

// Write makes a change.
func (d fileDatabase) Write(ctx context.Context, do func(conn) error) error {
	return d.Store.Write(ctx, func(c *sqlitefile.Conn) error { return do(c) })
}

// sharedDatabase is a Postgres database.
type sharedDatabase struct{ *pgdb.Store }

// Read calls do with a connection that reads, and again where the connection is lost.
func (d sharedDatabase) Read(ctx context.Context, do func(conn) error) error {
	return d.Store.Read(ctx, func(c *pgdb.Conn) error { return do(sharedConn{ctx, c}) })
}

// Write makes a change. It may call do several times.
func (d sharedDatabase) Write(ctx context.Context, do func(conn) error) error {
	return d.Store.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error { return do(sharedConn{ctx, c}) }})
}

// Close ends the connections.
func (d sharedDatabase) Close() error {
	d.Store.Close()
	return nil
}

// sharedConn is a connection to Postgres, for one call of a function.
type sharedConn struct {
	ctx  context.Context //nolint:containedctx // that of the call
	conn *pgdb.Conn
}

// Exec runs a statement.
func (c sharedConn) Exec(query string, args ...any) error {
	_, err := c.ExecCount(query, args...)
	return err
}

// ExecCount runs a statement and returns the number of rows it changed.
func (c sharedConn) ExecCount(query string, args ...any) (int64, error) {
	return c.conn.Exec(c.ctx, numberArguments(query), args...)
}

// QueryRow reads the first row of a query into dest. found is false if there is none.
func (c sharedConn) QueryRow(query string, args []any, dest ...any) (found bool, err error) {
	return c.conn.QueryRow(c.ctx, numberArguments(query), args, dest...)
}

// QueryRows calls each for every row of a query, until it returns an error.
func (c sharedConn) QueryRows(query string, args []any, each func(scan func(...any) error) error) error {
	return c.conn.QueryRows(c.ctx, numberArguments(query), args, each)
}

// numberArguments returns a statement with $1, $2 for each ?, as Postgres wants them. No
// statement has a ? within a text.
func numberArguments(query string) string {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

// isStorable reports whether both databases can keep a text: Postgres wants valid UTF-8 without
// zero bytes.
func isStorable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// storable returns a text for people with U+FFFD for what is not storable in it.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}
