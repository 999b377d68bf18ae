//go:build unix

package journal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// frozenEnv makes TestFrozenChild look at a journal that it may not write.
const frozenEnv = "JOURNAL_TEST_FROZEN"

func TestFrozenChild(t *testing.T) {
	dir := os.Getenv(frozenEnv)
	if dir == "" {
		t.Skip("it is for TestFrozen")
	}
	ctx := t.Context()
	j, err := journal.Open(ctx, dir, journal.Options{})
	if err != nil {
		fmt.Printf("opening: %v. Hint: %s\n", err, calls.HintOf(err))
		return
	}
	for info, err := range j.Runs(ctx, scheduler.RunFilter{}) {
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
	_, begin := j.Begin(ctx, &scheduler.RunHeader{ID: "q"})
	_, reopen := j.Reopen(ctx, "r")
	_, prune := j.Prune(ctx, scheduler.Prune{Force: true})
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
	base, err := os.MkdirTemp("", "journal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	binary := filepath.Join(base, "child")
	copyAs(t, os.Args[0], binary, 0o755)

	const db = journal.FileName
	all := []string{db, db + "-wal", db + "-shm"}
	live := filepath.Join(base, "live")
	j := open(t, live, journal.Options{})
	log := begin(t, j, "r")
	if err := log.Append(t.Context(), event("r", 2)); err != nil {
		t.Fatal(err)
	}
	freeze(t, live, filepath.Join(base, "killed"), all...)
	freeze(t, live, filepath.Join(base, "lost"), all[:2]...)
	chmod(t, 0o755, base, live)
	chmod(t, 0o444, filepath.Join(live, all[0]), filepath.Join(live, all[1]), filepath.Join(live, all[2]))

	const want = "r f 1 x\nr f 2 x\n"
	lookAt(t, binary, live, want, "held: true")
	lookAt(t, binary, filepath.Join(base, "killed"), want)
	lookAt(t, binary, filepath.Join(base, "lost"), "write-ahead log", "copy the files runs.db*")

	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	freeze(t, live, filepath.Join(base, "closed"), db)
	lookAt(t, binary, filepath.Join(base, "closed"), want, "held: false")
	alter(t, j, "PRAGMA user_version = 1")
	freeze(t, live, filepath.Join(base, "older"), db)
	lookAt(t, binary, filepath.Join(base, "older"), "it has the form 1", "look at the runs once as who may write")
	lookAt(t, binary, filepath.Join(base, "missing"), "permission denied", "its directory writable")
}

// lookAt runs TestFrozenChild as nobody.
func lookAt(t *testing.T, binary, dir string, want ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestFrozenChild$")
	cmd.Env = append(os.Environ(), frozenEnv+"="+dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else {
		chmod(t, 0o555, filepath.Dir(dir))
		defer chmod(t, 0o755, filepath.Dir(dir))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", dir, err)
	}
	for _, text := range want {
		if !strings.Contains(string(out), text) {
			t.Errorf("%s: want %q in %s", dir, text, out)
		}
	}
}

// TestFrozenChanged: what is read without locks from a file that somebody writes after
// all is no answer.
func TestFrozenChanged(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{})
	begin(t, j, "r")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	frozen, err := journal.OpenFrozen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	read := func() error {
		_, runErr := frozen.Run(t.Context(), "r")
		_, headerErr := frozen.Header(t.Context(), "r")
		var listErr, eventsErr error
		for _, listErr = range frozen.Runs(t.Context(), scheduler.RunFilter{}) {
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
	begin(t, open(t, dir, journal.Options{}), "q")
	if err := read(); calls.KindOf(err) != calls.Timeout || !strings.Contains(calls.HintOf(err), "try again") {
		t.Errorf("%v", err)
	}
}

// freeze copies files of a journal to a directory in which nothing can be written.
func freeze(t *testing.T, from, to string, files ...string) {
	t.Helper()
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		copyAs(t, filepath.Join(from, name), filepath.Join(to, name), 0o444)
	}
	chmod(t, 0o555, to)
	t.Cleanup(func() { chmod(t, 0o755, to) })
}

func copyAs(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, data)
	chmod(t, mode, to)
}

func chmod(t *testing.T, mode os.FileMode, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}
