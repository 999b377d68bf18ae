package sqlitefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
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

// A step that fails leaves the file as it was.
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

// A file that is read as one that nobody changes tells when somebody did.
func TestReader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	one := sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table}}
	if err := open(t, file, one); err != nil {
		t.Fatal(err)
	}
	r, err := one.OpenReader(t.Context(), file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	count := func() {
		t.Helper()
		var n int
		if err := r.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	}
	count()
	if err := r.Unchanged(); err != nil {
		t.Error(err)
	}
	if _, err := r.DB.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); sqlitefile.CodeOf(err) != sqlitefile.ReadOnly {
		t.Errorf("it was written: %v", err)
	}
	for _, name := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(file + name); err == nil {
			t.Errorf("reading has made %s", name)
		}
	}

	db, conn, err := one.Open(t.Context(), file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := r.Unchanged(); !errors.Is(err, sqlitefile.ErrChanged) {
		t.Errorf("a change in the log: %v", err)
	}
	// Who writes is followed by a reader that comes later.
	second, err := one.OpenReader(t.Context(), file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := second.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 1 || second.Unchanged() != nil {
		t.Errorf("%d, %v, %v", n, err, second.Unchanged())
	}
	if err := errors.Join(second.DB.Close(), conn.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := r.Unchanged(); !errors.Is(err, sqlitefile.ErrChanged) {
		t.Errorf("a change in the file: %v", err)
	}
	if err := r.DB.Close(); err != nil {
		t.Error(err)
	}

	var older *sqlitefile.OlderError
	two := sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table, "ALTER TABLE t ADD COLUMN y INTEGER"}}
	if _, err := two.OpenReader(t.Context(), file, time.Second); !errors.As(err, &older) || older.Has != 1 || older.Wants != 2 {
		t.Errorf("an older form: %v", err)
	}
	if _, err := (&sqlitefile.Layout{ApplicationID: 8, Migrations: []string{table}}).OpenReader(t.Context(), file, time.Second); !errors.Is(err, sqlitefile.ErrForeign) {
		t.Errorf("another program's: %v", err)
	}
}
