package sqlitefile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// crashed returns the path of a file as a killed process leaves it: all that it wrote is
// in the log.
func crashed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := openRows(t, filepath.Join(dir, "live.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 20 {
		if err := s.Write(t.Context(), func(c *sqlitefile.Conn) error { return c.Exec("INSERT INTO t VALUES (?)", i) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		content, err := os.ReadFile(filepath.Join(dir, "live.db"+end))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "copy.db"+end), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "copy.db")
}

func openRows(t *testing.T, file string) (*sqlitefile.Store, error) {
	t.Helper()
	return sqlitefile.Open(t.Context(), sqlitefile.Options{
		Name: "test store", File: file, BusyTimeout: time.Minute,
		Layout: &sqlitefile.Layout{ApplicationID: 7, Migrations: []string{"CREATE TABLE t(x)"}},
	})
}

// TestEmptyFile: a file without a byte is damaged and stays unchanged, unless a process was killed while it made
// the file.
func TestEmptyFile(t *testing.T) {
	for name, test := range map[string]struct {
		others []string // files beside it
		isLost bool
	}{
		"emptied":             {nil, true},
		"with an empty log":   {[]string{"-wal"}, true},
		"with an empty index": {[]string{"-shm"}, true},
		"being created":       {[]string{"-new"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rows.db")
			for _, end := range append(test.others, "") {
				if err := os.WriteFile(file+end, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := openRows(t, file)
			if err == nil {
				err = s.Close()
			}
			if errors.Is(err, sqlitefile.ErrDamaged) != test.isLost || !test.isLost && err != nil {
				t.Errorf("opening it: %v", err)
			}
			if info, err := os.Stat(file); err != nil || test.isLost && info.Size() != 0 {
				t.Errorf("it was changed: %v, %v", info, err)
			}
		})
	}
}

// A log that lacks committed changes is reported, and not read as one that ends earlier.
func TestLostLog(t *testing.T) {
	overwrite := func(end string, at int64) func(file string) error {
		return func(file string) error {
			f, err := os.OpenFile(file+end, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("garbage garbage"), at)
			return errors.Join(err, f.Close())
		}
	}
	remove := func(ends ...string) func(file string) error {
		return func(file string) (err error) {
			for _, end := range ends {
				err = errors.Join(err, os.Remove(file+end))
			}
			return err
		}
	}
	for name, test := range map[string]struct {
		do   func(file string) error
		lost bool
	}{
		"as it was left":         {func(string) error { return nil }, false},
		"no index":               {remove("-shm"), false},
		"no log":                 {remove("-wal"), true},
		"neither":                {remove("-wal", "-shm"), true},
		"an empty log":           {func(file string) error { return os.Truncate(file+"-wal", 0) }, true},
		"half a log":             {func(file string) error { return os.Truncate(file+"-wal", 20000) }, true},
		"a damaged log":          {overwrite("-wal", 60), true},
		"a damaged head":         {overwrite("-wal", 3), true},
		"damaged, and no index":  {func(file string) error { return errors.Join(remove("-shm")(file), overwrite("-wal", 60)(file)) }, true},
		"no file":                {remove(""), true},
		"an empty file":          {func(file string) error { return os.Truncate(file, 0) }, true},
		"the log of another":     {func(file string) error { return copyFile(file+"-wal", crashed(t)+"-wal") }, true},
		"something after it all": {func(file string) error { return appendTo(file+"-wal", 9000) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := crashed(t)
			if err := test.do(file); err != nil {
				t.Fatal(err)
			}
			s, err := openRows(t, file)
			var lost *sqlitefile.LostLogError
			if errors.As(err, &lost) != test.lost {
				t.Fatalf("the error is %v", err)
			}
			if test.lost {
				return
			}
			n := 0
			if _, err := queryInt(t, s, "SELECT count(*) FROM t", &n); err != nil || n != 20 {
				t.Errorf("%d rows, %v", n, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A process that is killed before the tables of its new file are on the disk has lost nothing; a
// file that was created by then has.
func TestKilledWhileCreating(t *testing.T) {
	withoutTables := func(t *testing.T) string {
		file := filepath.Join(t.TempDir(), "a.db")
		db, err := sqlitefile.Connect(file, time.Minute, "journal_mode(WAL)")
		if err == nil {
			_, err = db.Exec("PRAGMA user_version = 0") // opens the file, and closing removes the log
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := withoutTables(t)
	if err := os.WriteFile(file+"-new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openRows(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file + "-new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that tells of the creation: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var lost *sqlitefile.LostLogError
	if _, err := openRows(t, withoutTables(t)); !errors.As(err, &lost) {
		t.Errorf("a file that was created: %v", err)
	}
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

func appendTo(file string, n int) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, n))
	return errors.Join(err, f.Close())
}

func queryInt(t *testing.T, s *sqlitefile.Store, query string, n *int) (found bool, err error) {
	t.Helper()
	err = s.Read(t.Context(), func(c *sqlitefile.Conn) (err error) {
		found, err = c.QueryRow(query, nil, n)
		return err
	})
	return found, err
}

// Stores that others open, write to and close at the same time have lost nothing.
func TestLogsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shared.db")
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for j := range 15 {
				if err := writeOnce(t, file, fmt.Sprint(i, j)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func writeOnce(t *testing.T, file, text string) error {
	t.Helper()
	s, err := openRows(t, file)
	if err != nil {
		return err
	}
	err = s.Write(t.Context(), func(c *sqlitefile.Conn) error { return c.Exec("INSERT INTO t VALUES (?)", text) })
	return errors.Join(err, s.Close())
}
