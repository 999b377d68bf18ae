package pgdb

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Change is one change to the database.
type Change struct {
	// Do makes the change in a transaction; its error undoes the change. It may be called several times.
	Do func(*Conn) error
	// Committed reports whether the change was made. It is asked after the connection was
	// lost while the change was committed. Without it the change is then made again, which
	// must do no harm.
	Committed func(*Conn) (bool, error)
	// Single: Do runs one statement, which needs no transaction of its own: one round trip
	// instead of three.
	Single bool
}

// Write makes a change and returns when it is committed. When ctx ends before, it may have
// been made or not.
func (s *Store) Write(ctx context.Context, change Change) error {
	unknown := false // whether the change may have been committed
	err := s.retry(ctx, s.writers, func(conn *pgxpool.Conn) error {
		if unknown && change.Committed != nil {
			done, err := change.Committed(&Conn{conn})
			if done || err != nil {
				return err
			}
		}
		unknown = false
		if change.Single {
			err := change.Do(&Conn{conn})
			unknown = isLost(err)
			return err
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		if err := change.Do(&Conn{tx}); err != nil {
			rollBack(tx)
			return err
		}
		err = tx.Commit(ctx)
		unknown = isLost(err)
		return err
	})
	return s.Explain("writing to", err)
}

// rollBack undoes a transaction. If that fails, the connection is lost and the server does it.
func rollBack(tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// Read calls do with a connection outside of a transaction: every statement sees the changes committed before it
// begins.
func (s *Store) Read(ctx context.Context, do func(*Conn) error) error {
	return s.Explain("reading", s.retry(ctx, s.readers, func(conn *pgxpool.Conn) error { return do(&Conn{conn}) }))
}

// ReadSnapshot calls do in a transaction that only reads: all it sees belongs to one version
// of the database. It takes two round trips more than [Store.Read].
func (s *Store) ReadSnapshot(ctx context.Context, do func(*Conn) error) error {
	return s.Explain("reading", s.retry(ctx, s.readers, func(conn *pgxpool.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer rollBack(tx)
		return do(&Conn{tx})
	}))
}

// retry calls do with a connection, again and again while it fails for a reason that passes.
func (s *Store) retry(ctx context.Context, pool *pgxpool.Pool, do func(*pgxpool.Conn) error) error {
	deadline := time.Now().Add(s.options.Retry)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := attempt(ctx, pool, do)
		s.noteReached(ctx, err)
		passes := isLost(err) || isConflict(err)
		if !passes || ctx.Err() != nil || time.Now().Add(pause).After(deadline) {
			return ofContext(ctx, err)
		}
		if isReadOnly(err) {
			pool.Reset() // these connections are to a server that has become a replica
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// absenceTold is how long the database must be unreachable before a warning: a shorter time would report every
// restart of a connection.
const absenceTold = 2 * time.Second

// absence is since when the database of a [Store] cannot be reached. It is safe for concurrent use.
type absence struct {
	mu     sync.Mutex
	since  time.Time // guarded by mu; zero: it was reached last
	isTold bool      // guarded by mu
}

// note records whether the database was reached at a time, and reports whether to log that it is away, or back.
func (a *absence) note(isReached bool, now time.Time) (isAway, isBack bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if isReached {
		isBack = a.isTold
		a.since, a.isTold = time.Time{}, false
		return false, isBack
	}
	if a.since.IsZero() {
		a.since = now
	}
	isAway = !a.isTold && now.Sub(a.since) >= absenceTold
	a.isTold = a.isTold || isAway
	return isAway, false
}

// noteReached logs when the database has been away for a while, and when it is back.
func (s *Store) noteReached(ctx context.Context, err error) {
	if s.options.Log == nil || ctx.Err() != nil {
		return
	}
	isAway, isBack := s.absence.note(!isLost(err), time.Now())
	switch {
	case isAway:
		s.options.Log.Warn("the "+s.options.Name+" cannot be reached: it is asked again and again", "place", s.place, "error", shortenConnectError(err))
	case isBack:
		s.options.Log.Warn("the "+s.options.Name+" is back", "place", s.place)
	}
}

// ofContext returns ctx's error if that is why an operation failed.
func ofContext(ctx context.Context, err error) error {
	ended := ctx.Err()
	isCause := err != nil && ended != nil && (isLost(err) || errors.Is(err, ended))
	if isCause {
		return ended
	}
	return err
}

// CheckWritable returns an error if the database accepts no changes, for example because it is a standby or its
// disk is full: it makes a change that ends with its transaction.
func (s *Store) CheckWritable(ctx context.Context) error {
	return s.Write(ctx, Change{Do: func(c *Conn) error {
		if _, err := c.Exec(ctx, "CREATE TEMPORARY TABLE scheduler_writable ON COMMIT DROP AS SELECT repeat('x', 8192) AS page"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "SELECT pg_notify('scheduler_writable', '')")
		return err
	}})
}
