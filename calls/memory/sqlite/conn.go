package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// conn is a connection whose statements stay prepared. One goroutine at a time uses
// it.
type conn struct {
	sql   *sql.Conn
	stmts map[string]*sql.Stmt
	// known are the users to whom the last changes have brought memories.
	known known
}

// The driver starts a goroutine per statement for a context that can end, so
// statements run without one; what takes long looks at its context in between.
var background = context.Background()

func (c *conn) prepare(query string) (*sql.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.sql.PrepareContext(background, query)
	if err == nil {
		c.stmts[query] = stmt
	}
	return stmt, err
}

func (c *conn) exec(query string, args ...any) error {
	_, err := c.change(query, args...)
	return err
}

// change runs a statement and says how many rows it changed.
func (c *conn) change(query string, args ...any) (int64, error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // prepared once and kept for the life of the connection
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// wait says how long a locked file is waited for. SQLite takes it when it prepares the
// statement, so that is done each time.
func (c *conn) wait(busy time.Duration) error {
	_, err := c.sql.ExecContext(background, fmt.Sprintf("PRAGMA busy_timeout = %d", busy.Milliseconds()))
	return err
}

// row reads one row; found is false where there is none.
func (c *conn) row(query string, args []any, dest ...any) (found bool, err error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // prepared once and kept for the life of the connection
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(background, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// rows calls each for every row.
func (c *conn) rows(query string, args []any, each func(scan func(...any) error) error) (err error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // prepared once and kept for the life of the connection
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(background, args...)
	if err != nil {
		return err
	}
	defer func() {
		if end := rows.Close(); err == nil {
			err = end
		}
	}()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.sql.Close())...)
}

// pool is the connections that read.
type pool struct {
	db *sql.DB

	mu     sync.Mutex
	free   []*conn
	closed bool
	slots  chan struct{}
}

func newPool(db *sql.DB, n int) *pool {
	db.SetMaxOpenConns(n)
	return &pool{db: db, slots: make(chan struct{}, n)}
}

// read calls f with a connection in a transaction: what f reads belongs together.
func (p *pool) read(ctx context.Context, f func(*conn) error) (err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.slots }()
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.give(c)
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if end := c.exec("ROLLBACK"); err == nil {
			err = end
		}
	}()
	return f(c)
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c, nil
	}
	c, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{sql: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (p *pool) give(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, c)
}

// close waits for the readers and ends all connections.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for range cap(p.slots) {
		<-p.slots // who comes now is told that it is closed
	}
	var errs []error
	for _, c := range p.free {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}
