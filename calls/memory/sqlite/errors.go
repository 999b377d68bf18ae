package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

var errClosed = errors.New("the memory store is closed")

func errNoWAL(file, mode string) error {
	return calls.Errorf(calls.Invalid, "%s cannot be shared by several processes: its journal mode stays %q", file, mode).
		WithHint("keep state_dir on a local disk")
}

func errOther(file string) error {
	return calls.Errorf(calls.Invalid, "%s is a database, but not a memory store", file).
		WithHint("move it away, or choose another state_dir")
}

func errNewer(file string, form int) error {
	return calls.Errorf(calls.Invalid, "%s was written by a newer version of the program (form %d)", file, form).
		WithHint("use that version")
}

// checkAnalysis refuses words of another version of the analysis: memories would not
// be found, and what is deleted would stay in the index.
func checkAnalysis(version int) error {
	switch {
	case version == rank.AnalysisVersion:
		return nil
	case version > rank.AnalysisVersion:
		return calls.Errorf(calls.Invalid, "the memories were indexed by a newer version of the program (analysis %d, this one has %d)", version, rank.AnalysisVersion).
			WithHint("use that version")
	}
	return calls.Errorf(calls.Invalid, "an older version of the program uses the memories at the same time (analysis %d, this one has %d)", version, rank.AnalysisVersion).
		WithHint("end that one, and try again")
}

// explain says of an error which file it is about and what to do.
func explain(file, doing string, err error) error {
	var own *calls.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var newer *sqlitefile.NewerError
	var noWAL *sqlitefile.NoWALError
	switch {
	case errors.Is(err, sqlitefile.ErrForeign):
		return errOther(file)
	case errors.As(err, &newer):
		return errNewer(file, newer.Has)
	case errors.As(err, &noWAL):
		return errNoWAL(file, noWAL.Mode)
	}
	wrapped := fmt.Errorf("%s the memory store %s: %w", doing, file, err)
	code := sqlitefile.CodeOf(err)
	if errors.Is(err, errBlob) {
		code = sqlitefile.Corrupt
	}
	switch code {
	case sqlitefile.Busy, sqlitefile.Locked:
		return calls.Errorf(calls.Timeout, "%w", wrapped).WithHint("another process keeps it locked; end that one, or try again")
	case sqlitefile.Corrupt, sqlitefile.NotADB:
		return calls.Errorf(calls.Internal, "%w", wrapped).
			WithHint("the file is damaged: save what can be read with `scheduler memory export --salvage DIR`, move the file away, and import that")
	case sqlitefile.Full:
		return calls.Errorf(calls.Internal, "%w", wrapped).WithHint("the disk is full: this change was not stored; make room and try again")
	case sqlitefile.IOErr:
		return calls.Errorf(calls.Internal, "%w", wrapped).WithHint("the disk fails, or is full")
	}
	if sqlitefile.IsUnwritable(err) {
		return calls.Errorf(calls.Invalid, "%w", wrapped).
			WithHint("the store must be writable, also for reading: check state_dir and its permissions, or copy the files %s* to a writable directory and set state_dir to it", FileName)
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, fs.ErrNotExist) {
		return calls.Errorf(calls.Invalid, "%w", wrapped).WithHint("check state_dir and its permissions")
	}
	return calls.Errorf(calls.Internal, "%w", wrapped)
}
