package process_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins/host/process"
)

// A host that is killed when its plugin has ended already leaves no folder of sockets:
// the reaper waits for either.
func TestReaperOutlivesHost(t *testing.T) {
	for name, orders := range map[string]int{"before the start": 0, "after the end": 1, "at work": 1} {
		t.Run(name, func(t *testing.T) {
			sockets := filepath.Join(t.TempDir(), "scheduler-plugins-1")
			program := []string{"/bin/sh", "sh", "-c", "exit 7"}
			if name == "at work" {
				program = []string{"/bin/sh", "sh", "-c", "sleep 1000"}
			}
			var ours, theirs [3]*os.File // the plugin's life pipe, the reaper's, its reports
			var problems [4]error
			for i := range ours {
				r, w, err := os.Pipe()
				ours[i], theirs[i], problems[i] = w, r, err
			}
			ours[2], theirs[2] = theirs[2], ours[2]
			problems[3] = os.Mkdir(sockets, 0o700)
			if err := errors.Join(problems[:]...); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{process.ReaperCommand, sockets}, program...)...)
			cmd.ExtraFiles = theirs[:]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for _, f := range theirs {
				_ = f.Close()
			}
			reports := bufio.NewReader(ours[2])
			for range orders {
				_, _ = ours[1].Write([]byte{'\n'})
				if line, _ := reports.ReadString('\n'); !strings.HasPrefix(line, "started ") {
					t.Errorf("it reports %q", line)
				}
			}
			if name == "after the end" {
				if line, _ := reports.ReadString('\n'); line != "ended exit status 7\n" {
					t.Errorf("it reports %q", line)
				}
			}
			for _, f := range ours { // as the kernel does for a process that is killed
				_ = f.Close()
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(sockets); err == nil {
				t.Error("the folder of sockets is left")
			}
		})
	}
}

// Running it by hand deletes no folder.
func TestReaperByHand(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), os.Args[0], process.ReaperCommand, dir, "/bin/true", "true").CombinedOutput()
	if err == nil || string(out) != "reap-plugin is started by scheduler itself, not by hand\n" {
		t.Errorf("got %v, %s", err, out)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
