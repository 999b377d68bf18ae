//go:build unix

package sqlitefile_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// A pipe in place of a file of SQLite is refused: opening it would wait forever.
func TestOpenPipe(t *testing.T) {
	layout := sqlitefile.Layout{ApplicationID: 7, Migrations: []string{table}}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		file := filepath.Join(t.TempDir(), "a.db")
		if err := syscall.Mkfifo(file+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sqlitefile.Open(t.Context(), sqlitefile.Options{Name: "store", File: file, Layout: &layout, BusyTimeout: time.Second})
		var explained *calls.Error
		if !errors.Is(err, calls.ErrNotRegular) || !errors.As(err, &explained) || explained.Hint == "" {
			t.Errorf("%q: got %v, want a refusal with a hint", suffix, err)
		}
	}
}
