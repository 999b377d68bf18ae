package sqlitefile

import (
	"context"
	"database/sql/driver"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Primary result codes of SQLite.
const (
	Perm     = 3
	Busy     = 5
	Locked   = 6
	ReadOnly = 8
	IOErr    = 10
	Corrupt  = 11
	Full     = 13
	CantOpen = 14
	NotADB   = 26
)

// CodeOf returns the primary result code of an error of SQLite, and 0 for other errors.
func CodeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// isLocked reports whether another process holds a lock that was needed.
func isLocked(err error) bool {
	code := CodeOf(err)
	return code == Busy || code == Locked
}

// IsUnwritable reports whether an error comes from a file or directory without write
// permission.
func IsUnwritable(err error) bool {
	switch CodeOf(err) {
	case ReadOnly, CantOpen, Perm:
		return true
	}
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// isDamaged reports whether an error means that the content of the file is destroyed.
func isDamaged(err error) bool {
	switch CodeOf(err) {
	case Corrupt, NotADB:
		return true
	}
	return errors.Is(err, ErrDamaged)
}

// isFull reports whether an error means that the disk of a file has no space left. SQLite tells this only of the database and its
// log: if the index of the log cannot grow, for example, that is an input/output error.
func isFull(file string, err error) bool {
	switch CodeOf(err) {
	case Full:
		return true
	case IOErr, CantOpen:
		return errors.Is(probeRoom(filepath.Dir(file)), syscall.ENOSPC)
	}
	return errors.Is(err, syscall.ENOSPC)
}

// Errors of files.
var (
	// ErrClosed is the error of a store that was closed.
	ErrClosed = wording.Errorf("the store is closed")
	// ErrForeign means that the file is the database of another program.
	ErrForeign = wording.Errorf("it is the database of another program")
	// ErrMoved means that the path no longer leads to the file that is open: changes to it would be lost.
	ErrMoved = wording.Errorf("it was deleted, moved or replaced while it was open")
	// ErrDamaged is wrapped by stores whose own data contradicts itself.
	ErrDamaged = wording.Errorf("the file is damaged")
)

// NewerError means that a newer version of the program wrote the file.
type NewerError struct {
	// Has is the schema version of the file, Known the newest that this program knows.
	Has, Known int
}

// Error names both versions.
func (e *NewerError) Error() string { return e.text().En }

// In names both versions in a language.
func (e *NewerError) In(language string) string { return e.text().In(language) }

func (e *NewerError) text() wording.Text {
	return wording.Say("a newer version of the program wrote it (schema version %d; this program knows versions up to %d)", e.Has, e.Known)
}

// NoWALError means that the file cannot have a write-ahead log at its place, for example on a network drive.
type NoWALError struct {
	// Mode is the journal mode that it stays in.
	Mode string
}

// Error names the mode.
func (e *NoWALError) Error() string { return e.text().En }

// In names the mode in a language.
func (e *NoWALError) In(language string) string { return e.text().In(language) }

func (e *NoWALError) text() wording.Text {
	return wording.Say("it cannot have a write-ahead log, its journal mode stays %q", e.Mode)
}

// Explain returns an error that names the file and suggests a remedy. name is the users' name for the store, doing
// is a gerund, and damaged the hint for a damaged file. Errors that have a hint already, and errors of contexts,
// are returned unchanged.
func Explain(name, file, doing, damaged string, err error) error {
	var known *calls.Error
	isOfContext := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if err == nil || isOfContext || errors.As(err, &known) {
		return err
	}
	describe := func(kind calls.Kind, format string, args ...any) error {
		return calls.Errorf(kind, "%s the %s %s: %w", wording.Of(doing), wording.Of(name), file, err).WithHint(format, args...)
	}
	var newer *NewerError
	var noWAL *NoWALError
	var lost *LostLogError
	switch {
	case errors.Is(err, ErrForeign), errors.Is(err, calls.ErrNotRegular):
		return describe(calls.Invalid, "set state_dir to another directory, or move the file away")
	case errors.Is(err, ErrMoved):
		return describe(calls.Internal, "nothing was stored since then: start again, or put the file back; end the programs that have it open before you delete or restore it")
	case errors.As(err, &newer):
		return describe(calls.Invalid, "use that version, or set state_dir to another directory")
	case errors.As(err, &noWAL):
		return describe(calls.Invalid, "set state_dir to a local disk: network file systems often cannot share a write-ahead log between processes")
	case errors.As(err, &lost):
		return describe(calls.Internal, "put the log back beside the file, or restore a backup of both; to go on without what is lost, move %s-wal and %s-shm away, and the file too where it is empty without them", filepath.Base(file), filepath.Base(file))
	case isLocked(err):
		return describe(calls.Timeout, "another process keeps the file locked: end that process, or try again")
	case isDamaged(err):
		return describe(calls.Internal, "%s", damaged)
	case isFull(file, err):
		err = wording.Errorf("%w (%w)", calls.ErrNoRoom, err)
		return describe(calls.Internal, "free some space and try again; what was stored before is safe")
	case CodeOf(err) == IOErr:
		return describe(calls.Internal, "the disk reports an error: check the disk and its free space, then try again")
	case IsUnwritable(err):
		return describe(calls.Invalid, "the file and its directory must be writable, also for reading: check state_dir and its permissions, or copy the files %s* to a writable directory and set state_dir to it", filepath.Base(file))
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, fs.ErrNotExist):
		return describe(calls.Invalid, "check state_dir and its permissions")
	}
	return calls.Errorf(calls.Internal, "%s the %s %s: %w", wording.Of(doing), wording.Of(name), file, err)
}
