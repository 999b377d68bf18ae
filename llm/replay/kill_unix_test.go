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
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
)

// TestKilledWhileRecording kills a process that records as fast as it can: the file can be read, and has what came before.
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
