// Package database runs one text of SQL on either database of a store: [File] is a SQLite file
// of one machine, [Shared] a Postgres database that several machines share.
//
// A statement is written once. It numbers its arguments ($1, $2) and gives tables the names that
// they have in Postgres, for example journal_run. Statements that differ, such as a bulk insert,
// belong in one small file per database of the store's package.
package database

import (
	"context"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Store is an open database. Its package opens it and closes it at the end of the program. It is
// safe for concurrent use.
type Store interface {
	// Read calls do with a connection that reads. It may call do several times, so do begins with
	// an empty result each time.
	Read(ctx context.Context, do func(Conn) error) error
	// Write makes a change and returns when it is committed.
	Write(ctx context.Context, change Change) error
	// Explain adds the place and the remedy to an error; doing is a gerund.
	Explain(doing string, err error) error
	// CheckWritable returns an error if nothing could be stored now.
	CheckWritable(ctx context.Context) error
	Close() error
}

// Change is one change to a database.
type Change struct {
	// Do makes the change; its error undoes it. It may be called several times.
	Do func(Conn) error
	// Committed and Single are as in [pgdb.Change]. A file needs neither: it makes every change in a transaction,
	// exactly once.
	Committed func(Conn) (bool, error)
	Single    bool
}

// Conn runs statements. It is valid during the call of the function that it is passed to.
type Conn interface {
	// Exec runs a statement and returns the number of rows that it changed.
	Exec(query string, args ...any) (changed int64, err error)
	// Pipeline runs statements in order. Postgres gets them in one round trip, and outside of a
	// transaction makes all of them or none. The first error ends it.
	Pipeline(statements ...Statement) error
	// QueryRow reads the first row of a query into dest. found is false if there is none.
	QueryRow(query string, args []any, dest ...any) (found bool, err error)
	// QueryRows calls each for every row of a query, until it returns an error.
	QueryRows(query string, args []any, each func(scan func(...any) error) error) error
}

// Statement is one of several that [Conn] Pipeline runs.
type Statement struct {
	Query string
	// Any is a list for $1 of a query that has it in "= ANY($1)", for example []int64{1, 2}; nil if
	// the query has none. A file has no arrays: it runs the statement once for each element, so the
	// elements must be distinct and need nothing of each other.
	Any any
	// Args are the arguments, behind Any if there is one.
	Args []any
	// Each is called for every row; nil if none is wanted.
	Each func(scan func(...any) error) error
	// Changed gets the number of rows that were changed; it may be nil, and is for a statement
	// without Each.
	Changed *int64
}

// File is a SQLite file. [NewFile] makes it.
type File struct {
	*sqlitefile.Store
	names *names
}

var _ Store = File{}

// NewFile returns the file of a store. The pairs are names in the common text, each followed by its name in the
// file, for example "journal_", "": the tables of a file need no prefix.
func NewFile(store *sqlitefile.Store, pairs ...string) File {
	return File{store, &names{replacer: strings.NewReplacer(append(pairs, "= ANY($1)", "= $1")...)}}
}

// names turns the common text of a statement into a file's text. It is safe for concurrent use.
type names struct {
	replacer *strings.Replacer
	texts    sync.Map // of statements that were turned before
}

// translate returns the statement of the file.
func (n *names) translate(query string) string {
	if text, ok := n.texts.Load(query); ok {
		return text.(string) // nothing else is stored
	}
	text := n.replacer.Replace(query)
	n.texts.Store(query, text)
	return text
}

// Conn returns a connection of the file as one that takes the common text.
func (f File) Conn(c *sqlitefile.Conn) Conn { return fileConn{c, f.names} }

// Read calls do in a transaction that only reads.
func (f File) Read(ctx context.Context, do func(Conn) error) error {
	return f.Store.Read(ctx, func(c *sqlitefile.Conn) error { return do(f.Conn(c)) })
}

// Write makes a change in a transaction. A change that still waits when ctx ends is not made.
func (f File) Write(ctx context.Context, change Change) error {
	return f.Store.Write(ctx, func(c *sqlitefile.Conn) error { return change.Do(f.Conn(c)) })
}

// fileConn is a connection to a file.
type fileConn struct {
	conn *sqlitefile.Conn
	*names
}

// Exec runs a statement.
func (c fileConn) Exec(query string, args ...any) (int64, error) {
	return c.conn.ExecCount(c.translate(query), args...)
}

// Pipeline runs statements in order.
func (c fileConn) Pipeline(statements ...Statement) error {
	for i := range statements {
		if err := c.runEach(&statements[i]); err != nil {
			return err
		}
	}
	return nil
}

// runEach runs a statement, for each element of its list if it has one.
func (c fileConn) runEach(s *Statement) error {
	switch list := s.Any.(type) {
	case nil:
		return c.run(s, s.Args)
	case []int64:
		return runList(c, s, list)
	case []string:
		return runList(c, s, list)
	case [][]byte:
		return runList(c, s, list)
	}
	return wording.Errorf("a list is %T", s.Any)
}

func runList[T any](c fileConn, s *Statement, list []T) error {
	args := append([]any{nil}, s.Args...)
	for _, element := range list {
		args[0] = element
		if err := c.run(s, args); err != nil {
			return err
		}
	}
	return nil
}

func (c fileConn) run(s *Statement, args []any) error {
	if s.Each != nil {
		return c.QueryRows(s.Query, args, s.Each)
	}
	n, err := c.Exec(s.Query, args...)
	if s.Changed != nil {
		*s.Changed += n
	}
	return err
}

// QueryRow reads the first row of a query.
func (c fileConn) QueryRow(query string, args []any, dest ...any) (bool, error) {
	return c.conn.QueryRow(c.translate(query), args, dest...)
}

// QueryRows calls each for every row of a query.
func (c fileConn) QueryRows(query string, args []any, each func(scan func(...any) error) error) error {
	return c.conn.QueryRows(c.translate(query), args, each)
}

// Shared is a Postgres database.
type Shared struct{ *pgdb.Store }

var _ Store = Shared{}

// Conn returns a connection to Postgres as one that takes the common text, for statements until
// ctx ends.
func (Shared) Conn(ctx context.Context, c *pgdb.Conn) Conn { return sharedConn{ctx, c} }

// Read calls do outside of a transaction, and again after a lost connection.
func (s Shared) Read(ctx context.Context, do func(Conn) error) error {
	return s.Store.Read(ctx, func(c *pgdb.Conn) error { return do(s.Conn(ctx, c)) })
}

// Write makes a change as [pgdb.Store] Write does.
func (s Shared) Write(ctx context.Context, change Change) error {
	one := pgdb.Change{Single: change.Single, Do: func(c *pgdb.Conn) error { return change.Do(s.Conn(ctx, c)) }}
	if change.Committed != nil {
		one.Committed = func(c *pgdb.Conn) (bool, error) { return change.Committed(s.Conn(ctx, c)) }
	}
	return s.Store.Write(ctx, one)
}

// Close ends the connections.
func (s Shared) Close() error {
	s.Store.Close()
	return nil
}

// sharedConn is a connection to Postgres, for one call of a function.
type sharedConn struct {
	ctx  context.Context //nolint:containedctx // of the call
	conn *pgdb.Conn
}

// Exec runs a statement.
func (c sharedConn) Exec(query string, args ...any) (int64, error) {
	return c.conn.Exec(c.ctx, query, args...)
}

// Pipeline runs statements in one round trip.
func (c sharedConn) Pipeline(statements ...Statement) error {
	all := make([]pgdb.Statement, len(statements))
	for i, s := range statements {
		all[i] = pgdb.Statement{Query: s.Query, Args: s.Args, Each: s.Each, Changed: s.Changed}
		if s.Any != nil {
			all[i].Args = append([]any{s.Any}, s.Args...)
		}
	}
	return c.conn.Pipeline(c.ctx, all...)
}

// QueryRow reads the first row of a query.
func (c sharedConn) QueryRow(query string, args []any, dest ...any) (bool, error) {
	return c.conn.QueryRow(c.ctx, query, args, dest...)
}

// QueryRows calls each for every row of a query.
func (c sharedConn) QueryRows(query string, args []any, each func(scan func(...any) error) error) error {
	return c.conn.QueryRows(c.ctx, query, args, each)
}
