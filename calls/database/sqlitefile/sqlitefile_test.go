package sqlitefile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
)

const table = "CREATE TABLE t(x INTEGER)"

func open(t *testing.T, file string, form sqlitefile.Layout) error {
	t.Helper()
	db, conn, err := form.Open(t.Context(), file, time.Second)
	if err != nil {
		return err
	}
	return errors.Join(conn.Close(), db.Close())
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "a?b.db")
	one := sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table}}
	two := sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table, "ALTER TABLE t ADD COLUMN y INTEGER"}}
	for range 2 { // the second time there is nothing to do
		if err := open(t, file, one); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others may read it", info, err)
	}
	if err := open(t, file, two); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitefile.Connect(file, time.Second, "query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT x, y FROM t"); err != nil {
		t.Errorf("the second migration: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1, 2)"); sqlitefile.CodeOf(err) != sqlitefile.ReadOnly {
		t.Errorf("a pragma was not heard: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}

	var newer *sqlitefile.NewerError
	if err := open(t, file, one); !errors.As(err, &newer) || newer.Has != 2 || newer.Known != 1 {
		t.Errorf("a newer form: %v", err)
	}
	if err := open(t, file, sqlitefile.Layout{ApplicationID: 8, Migrations: two.Migrations}); !errors.Is(err, sqlitefile.ErrForeign) {
		t.Errorf("another program's: %v", err)
	}
	if err := os.WriteFile(file, []byte("this is no database, but long enough to have a header to look at......................................................."), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, file, one); sqlitefile.CodeOf(err) != sqlitefile.NotADB {
		t.Errorf("no database: %v", err)
	}
}

// A step that fails leaves the file unchanged.
func TestMigrationFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	broken := sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table, "CREATE nonsense"}}
	if err := open(t, file, broken); err == nil {
		t.Fatal("it was opened")
	}
	if err := open(t, file, sqlitefile.Layout{ApplicationID: 8, Migrations: []string{table}}); err != nil {
		t.Errorf("it is not empty: %v", err)
	}
}

func TestOpenAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, conn, err := (&sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table}}).Open(t.Context(), file, 30*time.Second)
			if err == nil {
				err = errors.Join(conn.Close(), db.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func openStore(t *testing.T, options sqlitefile.Options) *sqlitefile.Store {
	t.Helper()
	options.Name, options.File = "test store", filepath.Join(t.TempDir(), "a.db")
	options.Layout = &sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table}}
	options.BusyTimeout = time.Second
	s, err := sqlitefile.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func insert(x int) func(*sqlitefile.Conn) error {
	return func(c *sqlitefile.Conn) error { return c.Exec("INSERT INTO t VALUES (?)", x) }
}

// Lazy changes are committed after a short delay, and at once with one that is not lazy.
// A change that fails undoes itself alone.
func TestSubmit(t *testing.T) {
	rolledBack := 0
	s := openStore(t, sqlitefile.Options{RolledBack: func() { rolledBack++ }})
	results := make(chan error, 4)
	failure := errors.New("no")
	fail := func(c *sqlitefile.Conn) error { return errors.Join(insert(2)(c), failure) }
	for _, do := range []func(*sqlitefile.Conn) error{insert(1), fail, insert(3)} {
		if !s.Submit(sqlitefile.Change{Do: do, Lazy: true, Done: func(err error) { results <- err }}) {
			t.Fatal("it is closed")
		}
	}
	if err := s.Write(t.Context(), insert(4)); err != nil {
		t.Fatal(err)
	}
	if first, second, third := <-results, <-results, <-results; first != nil || !errors.Is(second, failure) || third != nil {
		t.Errorf("%v, %v, %v", first, second, third)
	}
	if !s.Submit(sqlitefile.Change{Do: insert(5), Lazy: true, Done: func(err error) { results <- err }}) {
		t.Fatal("it is closed")
	}
	if err := <-results; err != nil {
		t.Error(err)
	}
	var sum int
	err := s.Read(t.Context(), func(c *sqlitefile.Conn) error {
		_, err := c.QueryRow("SELECT sum(x) FROM t", nil, &sum)
		return err
	})
	if err != nil || sum != 1+3+4+5 || rolledBack != 1 {
		t.Errorf("the sum is %d, %v; %d changes were undone", sum, err, rolledBack)
	}
}

// Changes queued when a store is closed are written; later changes are refused.
func TestCloseWrites(t *testing.T) {
	idle := 0
	s := openStore(t, sqlitefile.Options{Idle: func(c *sqlitefile.Conn) error {
		idle++
		return c.Transact(time.Second, func() error { return insert(0)(c) })
	}})
	done := make(chan error, 1)
	s.Submit(sqlitefile.Change{Do: insert(1), Lazy: true, Done: func(err error) { done <- err }})
	s.RequestIdle()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || idle != 1 {
		t.Errorf("%v, %d idle calls", err, idle)
	}
	if err := s.Write(t.Context(), insert(2)); !errors.Is(err, sqlitefile.ErrClosed) {
		t.Errorf("writing: %v", err)
	}
	if err := s.Read(t.Context(), insert(2)); !errors.Is(err, sqlitefile.ErrClosed) {
		t.Errorf("reading: %v", err)
	}
}

// A file that is deleted or replaced while it is open gets no changes that would be reported as stored, and the
// file now at its path is left alone.
func TestMoved(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"deleted":  os.Remove,
		"moved":    func(file string) error { return os.Rename(file, file+".old") },
		"replaced": func(file string) error { return errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, sqlitefile.Options{})
			if err := s.Write(t.Context(), insert(1)); err != nil {
				t.Fatal(err)
			}
			if err := change(s.File()); err != nil {
				t.Skip(err) // an open file stays in place on some systems
			}
			for _, n := range []int{2, 3} {
				if err := s.Write(t.Context(), insert(n)); !errors.Is(err, sqlitefile.ErrMoved) {
					t.Errorf("write %d: %v", n, err)
				}
			}
		})
	}
}

// The messages in Chinese name the store, the operation and the remedy.
func TestExplainInChinese(t *testing.T) {
	for cause, want := range map[error]string{
		&sqlitefile.NewerError{Has: 2, Known: 1}:                                       "打开日志 a.db：它由更新版本的程序写入（schema 版本 2；本程序只认识到版本 1）",
		&sqlitefile.NoWALError{Mode: "delete"}:                                         `打开日志 a.db：它不能使用预写日志，其 journal mode 仍为 "delete"`,
		&sqlitefile.LostLogError{File: "a.db-wal", Problem: wording.Say("is cut off")}: "打开日志 a.db：它的预写日志 a.db-wal 被截断，最后写入的内容因此丢失",
		sqlitefile.ErrMoved: "打开日志 a.db：它在打开期间被删除、移走或替换",
	} {
		if got := wording.OfError(sqlitefile.Explain("journal", "a.db", "opening", "", cause)).Zh; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	for hint, cause := range map[string]error{
		"permissions":     &fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EACCES},
		"a.db*":           &fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EROFS},
		"free some space": &fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC},
		"local disk":      &sqlitefile.NoWALError{Mode: "delete"},
		"use that":        &sqlitefile.NewerError{Has: 2, Known: 1},
		"move":            sqlitefile.ErrForeign,
		"start again":     sqlitefile.ErrMoved,
		"move it away":    fmt.Errorf("%w: it ends early", sqlitefile.ErrDamaged),
		"":                errors.New("what"),
	} {
		err := sqlitefile.Explain("test store", "dir/a.db", "opening", "move it away", cause)
		if !errors.Is(err, cause) || !strings.Contains(calls.HintOf(err), hint) || !strings.Contains(err.Error(), "opening the test store dir/a.db: ") {
			t.Errorf("%v becomes %v (%s)", cause, err, calls.HintOf(err))
		}
	}
	if sqlitefile.Explain("test store", "a.db", "opening", "", nil) != nil {
		t.Error("no error became one")
	}
}
