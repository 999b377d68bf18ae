package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// pool holds the connections that read. It is safe for concurrent use.
type pool struct {
	db    *sql.DB
	slots chan struct{} // one element per reader

	mu     sync.Mutex // guards the fields below
	idle   []*Conn
	closed bool
}

func newPool(db *sql.DB, n int) *pool {
	db.SetMaxOpenConns(n)
	return &pool{db: db, slots: make(chan struct{}, n)}
}

// readTransaction calls do with a connection in a transaction, so that all it reads is of one
// version of the file.
func (p *pool) readTransaction(ctx context.Context, do func(*Conn) error) (err error) {
	return p.withConn(ctx, func(c *Conn) (err error) {
		if err := c.Exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			if end := c.Exec("ROLLBACK"); err == nil {
				err = end
			}
		}()
		return do(c)
	})
}

// checkpoint empties the write-ahead log.
func (p *pool) checkpoint(ctx context.Context) error {
	return p.withConn(ctx, func(c *Conn) error { return c.Exec("PRAGMA wal_checkpoint(TRUNCATE)") })
}

// withConn calls do with a connection.
func (p *pool) withConn(ctx context.Context, do func(*Conn) error) error {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.slots }()
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	return do(c)
}

func (p *pool) acquire(ctx context.Context) (*Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, nil
	}
	c, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

func (p *pool) release(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// close waits for the readers and closes all connections.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for range cap(p.slots) {
		<-p.slots // later readers get ErrClosed
	}
	var errs []error
	for _, c := range p.idle {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}
