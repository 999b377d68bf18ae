package pgdb_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
)

// insertOnce inserts a row and finds out whether it has, if the connection is lost.
func insertOnce(ctx context.Context, s *pgdb.Store, id int64, single bool) error {
	return s.Write(ctx, pgdb.Change{Do: insertion(ctx, id), Single: single, Committed: func(c *pgdb.Conn) (done bool, err error) {
		_, err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM thing WHERE id = $1)", []any{id}, &done)
		return done, err
	}})
}

// A server that crashes again and again under writers loses no change that was confirmed, and
// makes none twice: a second time would be a duplicate key.
func TestServerCrashes(t *testing.T) {
	server := pgdbtest.NewServer(t)
	s := open(t, optionsOf(server.NewURL(t)))
	var next, confirmed atomic.Int64
	done := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	const writers, crashes = 4, 3
	for i := range writers {
		go func() {
			for ctx.Err() == nil {
				if err := insertOnce(t.Context(), s, next.Add(1), i%2 == 0); err != nil {
					done <- err
					return
				}
				confirmed.Add(1)
			}
			done <- nil
		}()
	}
	for range crashes {
		for from := confirmed.Load(); confirmed.Load() < from+50; {
			select {
			case err := <-done:
				t.Fatal(err)
			default:
			}
		}
		server.Stop(t, "immediate")
		server.Start(t)
	}
	stop()
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := count(t, s); int64(n) != confirmed.Load() || confirmed.Load() != next.Load() {
		t.Errorf("%d rows, %d confirmed of %d", n, confirmed.Load(), next.Load())
	}
}

// awayLog is closed when the log says that the database cannot be reached.
type awayLog struct {
	told chan struct{}
	once sync.Once
}

func (l *awayLog) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("cannot be reached")) {
		l.once.Do(func() { close(l.told) })
	}
	return len(b), nil
}

// A program that begins while the server is away says so, and waits for it like a running one.
func TestOpenWaits(t *testing.T) {
	server := pgdbtest.NewServer(t)
	log := &awayLog{told: make(chan struct{})}
	o := optionsOf(server.NewURL(t))
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	server.Stop(t, "immediate")
	opened := make(chan error)
	go func() {
		s, err := pgdb.Open(t.Context(), o)
		if err == nil {
			s.Close()
		}
		opened <- err
	}()
	select {
	case <-log.told:
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	}
	select {
	case <-time.After(2 * time.Second):
	case err := <-opened:
		t.Fatalf("it did not wait long: %v", err)
	}
	server.Start(t)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A commit whose answer is lost is found out: the server ends the connection after it, before
// the client has read that.
func TestConnectionLostAfterCommit(t *testing.T) {
	url := pgdbtest.NewURL(t)
	s := open(t, optionsOf(url))
	ctx := t.Context()
	attempts := 0
	err := s.Write(ctx, pgdb.Change{
		Single: true,
		Do: func(c *pgdb.Conn) error {
			attempts++
			// The row is committed on its own; then the statement fails with its connection.
			pgdbtest.Exec(t, url, "INSERT INTO thing VALUES (1) ON CONFLICT DO NOTHING")
			_, err := c.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		},
		Committed: func(c *pgdb.Conn) (done bool, err error) {
			_, err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM thing WHERE id = 1)", nil, &done)
			return done, err
		},
	})
	if err != nil || attempts != 1 || count(t, s) != 1 {
		t.Errorf("%d attempts, %d rows: %v", attempts, count(t, s), err)
	}
}

// The changes of a transaction that lost its connection are undone, and made again.
func TestConnectionLostInTransaction(t *testing.T) {
	s := open(t, optionsOf(pgdbtest.NewURL(t)))
	ctx := t.Context()
	attempts := 0
	err := s.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
		attempts++
		if err := insertion(ctx, int64(attempts))(c); err != nil || attempts > 1 {
			return err
		}
		_, err := c.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		return err
	}})
	if err != nil || attempts != 2 || count(t, s) != 1 {
		t.Errorf("%d attempts, %d rows: %v", attempts, count(t, s), err)
	}
}

// Two transactions that lock each other out are both made.
func TestDeadlock(t *testing.T) {
	s := open(t, optionsOf(pgdbtest.NewURL(t)))
	ctx := t.Context()
	insert(t, s, 1, 2)
	meet := make(chan struct{})
	errs := make(chan error)
	for _, order := range [][2]int64{{1, 2}, {2, 1}} {
		go func() {
			first := true
			errs <- s.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
				for i, id := range order {
					if _, err := c.Exec(ctx, "UPDATE thing SET name = name || 'x' WHERE id = $1", id); err != nil {
						return err
					}
					if i > 0 || !first {
						continue
					}
					first = false
					select {
					case meet <- struct{}{}:
					case <-meet:
					}
				}
				return nil
			}})
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var sum int
	err := s.Read(ctx, func(c *pgdb.Conn) error {
		_, err := c.QueryRow(ctx, "SELECT sum(length(name)) FROM thing", nil, &sum)
		return err
	})
	if err != nil || sum != 4 {
		t.Errorf("%d changes, want 4: %v", sum, err)
	}
}
