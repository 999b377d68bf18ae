package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// OlderError says that a file wants to be brought up to date, and cannot be written.
type OlderError struct {
	// Has is the form of the file, Wants the one that this program reads.
	Has, Wants int
}

// Error says both.
func (e *OlderError) Error() string {
	return fmt.Sprintf("it has the form %d, this program wants to bring it to %d, and cannot write it", e.Has, e.Wants)
}

// ErrLog says that the newest of a file lies in its write-ahead log, which cannot be
// read where nothing can be written.
var ErrLog = errors.New("its newest changes lie in a write-ahead log that cannot be put into it here")

// ErrChanged says that somebody has changed a file that was read as one that nobody
// changes.
var ErrChanged = errors.New("it was changed while it was read")

// Reader reads a file that cannot be written here.
type Reader struct {
	// DB makes connections that read.
	DB *sql.DB

	file string
	seen os.FileInfo // of a file that is read without locks
}

// OpenReader opens a file in this form for reading alone: nothing is made, neither the
// file nor what SQLite keeps beside it. Errors are those of [Layout.Open], [*OlderError]
// and [ErrLog].
func (l *Layout) OpenReader(ctx context.Context, file string, busy time.Duration, pragmas ...string) (*Reader, error) {
	logged, shared := sizeOf(file+"-wal") > 0, sizeOf(file+"-shm") >= 0
	if logged || shared {
		// A process that writes, or one that was killed, has left what it takes to follow it.
		r, err := l.reader(ctx, file, "mode", "ro", busy, pragmas)
		switch {
		case err == nil || CodeOf(err) != CantOpen && CodeOf(err) != ReadOnly:
			return r, err
		case logged:
			return nil, fmt.Errorf("%w: %w", ErrLog, err)
		}
	}
	seen, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	// Without a log all there is lies in the file. SQLite reads it without locks, so
	// who uses the reader has to look whether it stays as it is.
	r, err := l.reader(ctx, file, "immutable", "1", busy, pragmas)
	if err == nil {
		r.seen = seen
	}
	return r, err
}

// OpenUnwritable opens a file for reading that [Layout.Open] could not open, where that
// is because it may not be written; why is the error of Open. What is wrong for
// another reason gives why again, or an error of [Layout.OpenReader].
func (l *Layout) OpenUnwritable(ctx context.Context, file string, busy time.Duration, why error, pragmas ...string) (*Reader, error) {
	if sizeOf(file) < 0 || !IsUnwritable(why) {
		return nil, why
	}
	r, err := l.OpenReader(ctx, file, busy, pragmas...)
	if IsUnwritable(err) && !errors.Is(err, ErrLog) { // it cannot be read either
		return nil, why
	}
	return r, err
}

// sizeOf is the size of a file, -1 where there is none.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return -1
	}
	return info.Size()
}

// reader opens a file with a setting and looks at its form.
func (l *Layout) reader(ctx context.Context, file, setting, to string, busy time.Duration, pragmas []string) (_ *Reader, err error) {
	db, err := connect(file, busy, pragmas, setting, to)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = db.Close() // the error that led here says more
		}
	}()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	form, err := l.readVersion(ctx, conn)
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, err
	}
	if form < len(l.Migrations) {
		return nil, &OlderError{form, len(l.Migrations)}
	}
	return &Reader{DB: db, file: file}, nil
}

// Unchanged is [ErrChanged] where what was read so far may not belong together, or is
// not the newest.
func (r *Reader) Unchanged() error {
	if r.seen == nil {
		return nil
	}
	now, err := os.Stat(r.file)
	if err != nil {
		return err
	}
	if sizeOf(r.file+"-wal") > 0 || !now.ModTime().Equal(r.seen.ModTime()) || now.Size() != r.seen.Size() || !os.SameFile(now, r.seen) {
		return ErrChanged
	}
	return nil
}
