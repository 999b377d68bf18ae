//go:build unix

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
)

// TestKilledWhileRecording kills a process that records as fast as it can: the file can be read, and has the
// recordings before.
func TestKilledWhileRecording(t *testing.T) {
	const variable = "REPLAY_TEST_RECORDS"
	if path := os.Getenv(variable); path != "" {
		r := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning})
		r.Begin("id", 0, morning)
		for i := range 100_000 {
			_, _ = r.Exchange(t.Context(), "http", "GET x", value.OfString(fmt.Sprint(i)), func(context.Context) (value.Value, error) {
				return value.OfString("kept"), nil
			})
		}
		return
	}
	for _, wait := range []time.Duration{0, 3 * time.Millisecond, 20 * time.Millisecond} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileRecording$") //nolint:gosec // the test itself
		cmd.Env = append(os.Environ(), variable+"="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(wait)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		p := openCassette(t, path).Play(replay.Header{Inputs: "in"}, true)
		if got := exchange(t, p, "", 0, "0", "live"); got != "kept" {
			t.Errorf("after %s: got %q", wait, got)
		}
	}
}

// TestResumedAfterKill: a run resumed after its process was killed has all answers from before, although the
// cassette was not written for each answer.
func TestResumedAfterKill(t *testing.T) {
	const variable = "REPLAY_TEST_IS_KILLED"
	open := func(path string) *replay.Cassette {
		c, err := replay.Open(replay.Options{Path: path, LogDir: filepath.Dir(path)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const n = 500
	if path := os.Getenv(variable); path != "" {
		r := open(path).Record(replay.Header{Inputs: "in", Now: morning})
		r.Begin("id", 0, morning)
		for i := range n {
			exchange(t, r, "s", 0, fmt.Sprint(i), fmt.Sprint("answer ", i))
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yaml")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestResumedAfterKill$") //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), variable+"="+path)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	before := open(path).Play(replay.Header{Inputs: "in"}, true)
	if got := exchange(t, before, "s", 0, fmt.Sprint(n-1), "live"); got != "" {
		t.Skip("the cassette was written just before the kill")
	}
	resumed := open(path).Record(replay.Header{Run: "id", Inputs: "in"})
	resumed.Begin("id", 1, morning)
	if err := resumed.End(true); err != nil {
		t.Fatal(err)
	}
	played := open(path).Play(replay.Header{Inputs: "in"}, true)
	for i := range n {
		if got, want := exchange(t, played, "s", 0, fmt.Sprint(i), "live"), fmt.Sprint("answer ", i); got != want {
			t.Fatalf("request %d: got %q, want %q", i, got, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "recording-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
