package sqlite

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"
)

// Exec changes the file behind the journal's back.
func (j *SQLite) Exec(query string, args ...any) error {
	return j.writer.await(func(tx *tx) error {
		_, err := tx.exec(query, args...)
		return err
	})
}

// OpenFrozen opens a journal as one that cannot be written.
func OpenFrozen(ctx context.Context, dir string) (*SQLite, error) {
	j := &SQLite{file: filepath.Join(dir, FileName), clock: time.Now, quit: make(chan struct{})}
	return j, j.openFrozen(ctx, time.Second, fs.ErrPermission)
}
