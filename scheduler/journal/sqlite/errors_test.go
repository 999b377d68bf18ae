package sqlite

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
)

func TestExplain(t *testing.T) {
	plain := errors.New("what")
	for _, test := range []struct {
		err        error
		kind, hint string
	}{
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EACCES}, "internal", "permissions"},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EROFS}, "internal", "permissions"},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC}, "internal", "disk is full"},
		{errNoWAL("f", "delete"), "internal", "local disk"},
		{plain, "internal", ""},
	} {
		err := explain("runs.db", "opening", test.err)
		if !errors.Is(err, test.err) || string(calls.KindOf(err)) != test.kind || !strings.Contains(calls.HintOf(err), test.hint) {
			t.Errorf("%v is told as %v (%s)", test.err, err, calls.HintOf(err))
		}
	}
	if explain("f", "opening", nil) != nil {
		t.Error("no error became one")
	}
}
