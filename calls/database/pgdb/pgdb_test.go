package pgdb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
)

const channel = "pgdb_test"

var first = fstest.MapFS{"001_first.sql": {Data: []byte(`-- +goose Up
CREATE TABLE thing(id bigint PRIMARY KEY, name text NOT NULL DEFAULT '');
`)}}

var second = fstest.MapFS{"001_first.sql": first["001_first.sql"], "002_second.sql": {Data: []byte(`-- +goose Up
ALTER TABLE thing ADD COLUMN size bigint NOT NULL DEFAULT 7;
`)}}

func optionsOf(url string) pgdb.Options {
	return pgdb.Options{Name: "test store", URL: url, Migrations: first, VersionTable: "thing_version", Channels: []string{channel}}
}

func open(t *testing.T, o pgdb.Options) *pgdb.Store {
	t.Helper()
	s, err := pgdb.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func insert(t *testing.T, s *pgdb.Store, ids ...int64) {
	t.Helper()
	if err := s.Write(t.Context(), pgdb.Change{Do: insertion(t.Context(), ids...)}); err != nil {
		t.Fatal(err)
	}
}

func insertion(ctx context.Context, ids ...int64) func(*pgdb.Conn) error {
	return func(c *pgdb.Conn) error {
		n, err := c.Exec(ctx, "INSERT INTO thing SELECT unnest($1::bigint[])", ids)
		if err == nil && n != int64(len(ids)) {
			err = fmt.Errorf("%d rows were inserted, want %d", n, len(ids))
		}
		return err
	}
}

func count(t *testing.T, s *pgdb.Store) (n int) {
	t.Helper()
	err := s.Read(t.Context(), func(c *pgdb.Conn) error {
		_, err := c.QueryRow(t.Context(), "SELECT count(*) FROM thing", nil, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMigrations(t *testing.T) {
	url := pgdbtest.NewURL(t)
	old := open(t, optionsOf(url))
	insert(t, old, 1)
	newer := optionsOf(url)
	newer.Migrations = second
	s := open(t, newer)
	var size int
	err := s.Read(t.Context(), func(c *pgdb.Conn) error {
		found, err := c.QueryRow(t.Context(), "SELECT size FROM thing WHERE id = 1", nil, &size)
		if !found {
			t.Error("the row is gone")
		}
		return err
	})
	if err != nil || size != 7 {
		t.Errorf("the new column is %d, %v", size, err)
	}
	if !strings.HasPrefix(s.Schema(), "test_") {
		t.Errorf("the tables are in %q", s.Schema())
	}
	_, err = pgdb.Open(t.Context(), optionsOf(url))
	var tooNew *pgdb.NewerError
	if !errors.As(err, &tooNew) || tooNew.Has != 2 || tooNew.Known != 1 || calls.HintOf(err) == "" {
		t.Errorf("a schema that is newer: %v", err)
	}
}

// Programs that start together run a migration once.
func TestTwoMigratorsAtOnce(t *testing.T) {
	url := pgdbtest.NewURL(t)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			s, err := pgdb.Open(t.Context(), optionsOf(url))
			if err == nil {
				s.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := pgdbtest.QueryInt(t, url, "SELECT count(*) FROM thing_version WHERE version_id = 1"); n != 1 {
		t.Errorf("the migration was run %d times", n)
	}
}

func TestErrors(t *testing.T) {
	url := pgdbtest.NewURL(t)
	for name, test := range map[string]struct{ url, want string }{
		"no URL":      {"postgres://u:hunter2@host:port/db", "is not valid"},
		"no server":   {"postgres://u:hunter2@127.0.0.1:1/db", "127.0.0.1:1/db"},
		"no database": {strings.Replace(url, "///postgres", "///elsewhere", 1), "elsewhere"},
		"no schema":   {strings.Replace(url, "search_path=", "search_path=x", 1), "the schema does not exist"},
	} {
		o := optionsOf(test.url)
		o.Retry = -1
		_, err := pgdb.Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), test.want) || calls.HintOf(err) == "" {
			t.Errorf("%s: %v (%s)", name, err, calls.HintOf(err))
		}
		if err != nil && strings.Contains(err.Error()+calls.HintOf(err), "hunter2") {
			t.Errorf("%s: the password is shown: %v", name, err)
		}
	}
	s := open(t, optionsOf(url))
	s.Close()
	if err := s.Read(t.Context(), func(*pgdb.Conn) error { return nil }); !errors.Is(err, pgdb.ErrClosed) {
		t.Errorf("reading from a closed store: %v", err)
	}
}

func TestTransactions(t *testing.T) {
	s := open(t, optionsOf(pgdbtest.NewURL(t)))
	ctx := t.Context()
	undone := errors.New("not this time")
	err := s.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
		return errors.Join(insertion(ctx, 1)(c), undone)
	}})
	if !errors.Is(err, undone) || count(t, s) != 0 {
		t.Errorf("%d rows after an error: %v", count(t, s), err)
	}
	insert(t, s, 1, 2)
	err = s.ReadSnapshot(ctx, func(c *pgdb.Conn) error {
		var before, after int
		_, err := c.QueryRow(ctx, "SELECT count(*) FROM thing", nil, &before)
		if err != nil {
			return err
		}
		insert(t, s, 3)
		_, err = c.QueryRow(ctx, "SELECT count(*) FROM thing", nil, &after)
		if before != 2 || after != 2 {
			t.Errorf("a snapshot has %d rows, then %d", before, after)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(ctx, pgdb.Change{Do: insertion(ctx, 1)})
	if !pgdb.IsUniqueViolation(err) {
		t.Errorf("a row twice: %v", err)
	}
}

func TestManyRows(t *testing.T) {
	s := open(t, optionsOf(pgdbtest.NewURL(t)))
	ctx := t.Context()
	var got []string
	err := s.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
		n, err := c.CopyFrom(ctx, "thing", []string{"id", "name"}, func(yield func([]any, error) bool) {
			for i := range int64(1000) {
				if !yield([]any{i, fmt.Sprint("row ", i)}, nil) {
					return
				}
			}
		})
		if err != nil || n != 1000 {
			t.Errorf("%d rows were copied, %v", n, err)
		}
		got = nil
		return c.Pipeline(ctx,
			pgdb.Statement{Query: "DELETE FROM thing WHERE id > $1", Args: []any{1}},
			pgdb.Statement{Query: "SELECT name FROM thing ORDER BY id", Each: func(scan func(...any) error) error {
				var name string
				err := scan(&name)
				got = append(got, name)
				return err
			}})
	}})
	if err != nil || strings.Join(got, ",") != "row 0,row 1" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNotice(t *testing.T) {
	url := pgdbtest.NewURL(t)
	a, b := open(t, optionsOf(url)), open(t, optionsOf(url))
	sub := a.Subscribe(channel, "one")
	defer sub.Close()
	// Every wait ends, by notice or by itself: the writes are seen.
	for i := range int64(20) {
		insert(t, b, i)
		b.Notify(channel, "one")
		for count(t, a) != int(i)+1 {
			if err := sub.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 { // earlier notices may come first
		if err := sub.Wait(ended); err != nil {
			break
		}
	}
	a.Close()
	deadline := time.Now().Add(time.Minute)
	for err := error(nil); !errors.Is(err, pgdb.ErrClosed); err = sub.Wait(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatal("waiting on a closed store does not end")
		}
	}
}
