//go:build unix

package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/sqlitefile/sqlitefiletest"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqlite"
)

// frozenEnv makes TestFrozenChild look at a journal that it may not write.
const frozenEnv = "JOURNAL_TEST_FROZEN"

func TestFrozenChild(t *testing.T) {
	dir := os.Getenv(frozenEnv)
	if dir == "" {
		t.Skip("it is for TestFrozen")
	}
	ctx := t.Context()
	j, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		fmt.Printf("opening: %v. Hint: %s\n", err, calls.HintOf(err))
		return
	}
	for info, err := range j.Runs(ctx, journal.RunFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		header, err := j.Header(ctx, info.ID)
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range j.Events(ctx, info.ID, 1) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s %s %d %s\n", info.ID, header.Flow, ev.Seq, ev.Data.Text)
		}
		fmt.Println("held:", info.Holder != nil)
	}
	if err := j.Check(ctx); err != nil {
		t.Error(err)
	}
	_, begin := j.Begin(ctx, &journal.RunHeader{ID: "q"})
	_, reopen := j.Reopen(ctx, "r")
	_, prune := j.Prune(ctx, journal.Prune{Force: true})
	for what, err := range map[string]error{"Begin": begin, "Reopen": reopen, "Cancel": j.Cancel(ctx, "r"), "Prune": prune, "Writable": j.Writable()} {
		if err == nil || !strings.Contains(err.Error(), j.File()+": it can only be read: ") || !strings.Contains(calls.HintOf(err), "--state-dir") {
			t.Errorf("%s: %v. Hint: %s", what, err, calls.HintOf(err))
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := j.Run(ctx, "r"); err == nil {
		t.Error("it is not closed")
	}
}

// TestFrozen reads journals that cannot be written, without the rights of root, who may
// write anywhere: one that another user writes at the same time, two of a process that
// was killed, of which one has lost what it takes to read its log, one that was closed,
// and one of an older version.
func TestFrozen(t *testing.T) {
	stranger := sqlitefiletest.NewStranger(t)
	lookAt := func(name string, want ...string) {
		t.Helper()
		out := stranger.Run(t, "TestFrozenChild", frozenEnv+"="+filepath.Join(stranger.Dir, name))
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%s: want %q in %s", name, text, out)
			}
		}
	}

	const db = sqlite.FileName
	all := []string{db, db + "-wal", db + "-shm"}
	live := filepath.Join(stranger.Dir, "live")
	j := open(t, live, sqlite.Options{})
	log := begin(t, j, "r")
	if err := log.Append(t.Context(), event("r", 2)); err != nil {
		t.Fatal(err)
	}
	stranger.Freeze(t, live, "killed", all...)
	stranger.Freeze(t, live, "lost", all[:2]...)
	for _, name := range all { // others may look at it
		if err := errors.Join(os.Chmod(live, 0o755), os.Chmod(filepath.Join(live, name), 0o444)); err != nil {
			t.Fatal(err)
		}
	}

	const want = "r f 1 x\nr f 2 x\n"
	lookAt("live", want, "held: true")
	lookAt("killed", want)
	lookAt("lost", "write-ahead log", "copy the files runs.db*")

	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	stranger.Freeze(t, live, "closed", db)
	lookAt("closed", want, "held: false")
	if err := os.Chmod(filepath.Join(live, db), 0o644); err != nil {
		t.Fatal(err)
	}
	alter(t, j, "PRAGMA user_version = 1")
	stranger.Freeze(t, live, "older", db)
	lookAt("older", "it has the form 1", "look at the runs once as who may write")
	lookAt("missing", "permission denied", "its directory writable")
}

// TestFrozenChanged: what is read without locks from a file that somebody writes after
// all is no answer.
func TestFrozenChanged(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	begin(t, j, "r")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	frozen, err := sqlite.OpenFrozen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	read := func() error {
		_, runErr := frozen.Run(t.Context(), "r")
		_, headerErr := frozen.Header(t.Context(), "r")
		var listErr, eventsErr error
		for _, listErr = range frozen.Runs(t.Context(), journal.RunFilter{}) {
		}
		for _, eventsErr = range frozen.Events(t.Context(), "r", 1) {
		}
		for _, err := range []error{runErr, headerErr, listErr, eventsErr} {
			if (err == nil) != (runErr == nil) {
				t.Errorf("some do, some do not: %v, %v, %v, %v", runErr, headerErr, listErr, eventsErr)
			}
		}
		return runErr
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	begin(t, open(t, dir, sqlite.Options{}), "q")
	if err := read(); calls.KindOf(err) != calls.Timeout || !strings.Contains(calls.HintOf(err), "try again") {
		t.Errorf("%v", err)
	}
}
