package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"

	"github.com/callnode/scheduler/calls"
)

// Primary result codes of SQLite.
const (
	codeBusy    = 5
	codeLocked  = 6
	codeIO      = 10
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
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

// explain says of an error which file it is about and what to do.
func explain(file, doing string, err error) error {
	var own *calls.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	wrapped := fmt.Errorf("%s the memory store %s: %w", doing, file, err)
	switch codeOf(err) {
	case codeBusy, codeLocked:
		return calls.Errorf(calls.Timeout, "%w", wrapped).WithHint("another process keeps it locked; end that one, or try again")
	case codeCorrupt, codeNotADB:
		return calls.Errorf(calls.Internal, "%w", wrapped).
			WithHint("the file is damaged: save what can be read with `scheduler memory export --salvage DIR`, move the file away, and import that")
	case codeFull:
		return calls.Errorf(calls.Internal, "%w", wrapped).WithHint("the disk is full: nothing of this was stored; make room and try again")
	case codeIO:
		return calls.Errorf(calls.Internal, "%w", wrapped).WithHint("the disk fails, or is full")
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return calls.Errorf(calls.Invalid, "%w", wrapped).WithHint("check state_dir and who may write there")
	}
	return calls.Errorf(calls.Internal, "%w", wrapped)
}

// codeOf is the primary result code; 0 where SQLite did not say.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
