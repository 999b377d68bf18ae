package pgdb

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Conn is a connection, in a transaction or not, as the function that uses it asked for. It is
// valid during the call of the function that it is passed to, on that goroutine only.
//
// Arguments are numbers, texts, []byte, bool, time.Time, nil, slices of these for arrays, and
// pointers to these for values that may be NULL. JSON columns take and give []byte.
type Conn struct {
	querier
}

// querier has the methods that the driver's connections and transactions share.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Exec runs a statement and returns the number of rows that it changed.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.querier.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// QueryRow reads the first row of a query into dest. found is false if there is none.
func (c *Conn) QueryRow(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if rows.Next() {
		found = true
		if err := rows.Scan(dest...); err != nil {
			return false, err
		}
	}
	rows.Close()
	return found && rows.Err() == nil, rows.Err()
}

// QueryRows calls each for every row of a query, until it returns an error.
func (c *Conn) QueryRows(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return readRows(rows, each)
}

func readRows(rows pgx.Rows, each func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Statement is one of several that [Conn.Pipeline] sends together.
type Statement struct {
	Query string
	Args  []any
	// Each is called for every row; nil if none is wanted.
	Each func(scan func(...any) error) error
	// Changed gets the number of rows that were changed, added; nil if it is not wanted. It is for a
	// statement without Each.
	Changed *int64
}

// Pipeline runs statements in order, in one round trip. Outside of a transaction they are
// one of their own. The first error ends it.
func (c *Conn) Pipeline(ctx context.Context, statements ...Statement) (err error) {
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.Query, s.Args...)
	}
	results := c.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, s := range statements {
		if s.Each == nil {
			tag, err := results.Exec()
			if err != nil {
				return err
			}
			if s.Changed != nil {
				*s.Changed += tag.RowsAffected()
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if err := readRows(rows, s.Each); err != nil {
			return err
		}
	}
	return nil
}

// CopyFrom inserts many rows by COPY, and returns how many.
func (c *Conn) CopyFrom(ctx context.Context, table string, columns []string, rows iter.Seq2[[]any, error]) (int64, error) {
	next, stop := iter.Pull2(rows)
	defer stop()
	return c.querier.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		row, err, ok := next()
		if !ok {
			return nil, nil
		}
		return row, err
	}))
}

func attempt(ctx context.Context, pool *pgxpool.Pool, do func(*pgxpool.Conn) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return do(conn)
}

// The pause between two attempts.
const (
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// ErrClosed is the error of a store that was closed.
var ErrClosed = wording.Errorf("the store is closed")
