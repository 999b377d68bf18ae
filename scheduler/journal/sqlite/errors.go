package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal"
)

var errJournalClosed = errors.New("the journal is closed")

// explain turns an error of the database into one that says which file it is and
// what to do. Errors that say so already stay as they are.
func explain(file, doing string, err error) error {
	var known *calls.Error
	var held *journal.HeldError
	if err == nil || errors.As(err, &known) || errors.As(err, &held) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var newer *sqlitefile.NewerError
	var noWAL *sqlitefile.NoWALError
	var older *sqlitefile.OlderError
	switch {
	case errors.Is(err, sqlitefile.ErrLog), errors.As(err, &older):
		return errFrozen(file, err)
	case errors.Is(err, sqlitefile.ErrChanged):
		return calls.Errorf(calls.Timeout, "%s the journal %s: %w", doing, file, err).
			WithHint("another process has written to it; try again")
	case errors.Is(err, sqlitefile.ErrForeign):
		return errForeign(file)
	case errors.As(err, &newer):
		return errNewer(file, newer.Has)
	case errors.As(err, &noWAL):
		return errNoWAL(file, noWAL.Mode)
	}
	why := func(format string, args ...any) error {
		return calls.Errorf(calls.Internal, "%s the journal %s: %w", doing, file, err).WithHint(format, args...)
	}
	switch sqlitefile.CodeOf(err) {
	case sqlitefile.Full:
		return why("the disk is full; nothing that was recorded is lost: free some space, then resume the run")
	case sqlitefile.Busy, sqlitefile.Locked:
		return why("another program keeps the file locked: end it, then resume the run")
	case sqlitefile.ReadOnly, sqlitefile.Perm, sqlitefile.CantOpen:
		return why(permissions)
	case sqlitefile.Corrupt, sqlitefile.NotADB:
		return why("the file is damaged or no journal; nothing was changed: move it away to begin a new one, or save what can be saved with: sqlite3 FILE .recover")
	case sqlitefile.IOErr:
		return why("the disk reports an error: check it and its free space, then resume the run")
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return why(permissions)
	case errors.Is(err, syscall.ENOSPC):
		return why("the disk is full: free some space")
	}
	return calls.Errorf(calls.Internal, "%s the journal %s: %w", doing, file, err)
}

func errNewer(file string, has int) error {
	return calls.Errorf(calls.Invalid, "the journal %s has the form %d, this program knows those up to %d", file, has, len(migrations)).
		WithHint("use a newer version of the program, or set state_dir to another place")
}

// permissions is what to do where the file may not be used.
const permissions = "the file must be readable, and for what changes runs it and its directory writable: change their permissions, or set state_dir to another place"

// errFrozen is a journal that cannot even be read where it is.
func errFrozen(file string, err error) error {
	return calls.Errorf(calls.Invalid, "the journal %s cannot be written, and not be read without that: %w", file, err).
		WithHint("copy the files %s* to where you may write, and point state_dir there; or look at the runs once as who may write", FileName)
}

func errForeign(file string) error {
	return calls.Errorf(calls.Invalid, "%s is a database of another program", file).
		WithHint("set state_dir to another place, or move the file away")
}

func errNoWAL(file, mode string) error {
	return calls.Errorf(calls.Internal, "the journal %s cannot keep a write-ahead log here (its mode is %s)", file, mode).
		WithHint("network file systems often cannot: set state_dir to a local disk")
}

// errGap says that events are missing.
func errGap(run string, seq int64) error {
	return fmt.Errorf("event %d of the run %s is missing: it was deleted in the meantime, or the file is damaged", seq, run)
}
