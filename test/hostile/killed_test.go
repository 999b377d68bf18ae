//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

// hostDir is the environment variable by which the test's own program becomes a host
// that is killed.
const hostDir = "HOSTILE_HOST_DIR"

// allDaemons are the processes that the mode daemons starts, and that stay.
const allDaemons = 7

// beAHost has the hostile plugin misbehave, says so, and waits to be killed.
func beAHost(dir string) {
	h, err := host.Open(host.Options{
		Folders:  []string{filepath.Join(dir, "plugins")},
		LockFile: filepath.Join(dir, manifest.LockFileName), TempDir: os.Getenv("HOSTILE_TEMP"),
		Reaper: os.Getenv("HOSTILE_KEEPER") != "",
	})
	r, _ := calls.NewRegistry()
	if err == nil {
		err = h.Register(r)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, mode := range []string{"healthy", os.Getenv("HOSTILE_MODE")} {
		f, _ := r.Importance("hostile.judge")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		go func() {
			_, err = f.Judge(ctx, plugins.State{Input: mode}, make([]plugins.Item, 1))
			cancel()
		}()
		if mode == "healthy" {
			<-ctx.Done()
			fmt.Println(mode, err)
		}
	}
	select {}
}

// Nothing outlives a host that is killed: not a plugin that hangs, not the processes it forked, nor the folder of
// its sockets. The next host removes such a folder if it is left over.
func TestHostIsKilled(t *testing.T) {
	for name, test := range map[string]struct {
		keeper, mode string
		processes    int
	}{
		"watcher": {"", "children, then stop", 4},
		"keeper":  {"yes", "daemons, then stop", 1 + allDaemons},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", "[]")
			w.trust(t)
			hostIsKilled(t, w, test.keeper, test.mode, test.processes)
		})
	}
}

func hostIsKilled(t *testing.T, w *world, keeper, mode string, all int) {
	temp, err := os.MkdirTemp(built, "t")
	if err != nil {
		t.Fatal(err)
	}
	left := func() []string {
		dirs, err := filepath.Glob(filepath.Join(temp, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return dirs
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), hostDir+"="+w.dir, "HOSTILE_TEMP="+temp, "HOSTILE_KEEPER="+keeper, "HOSTILE_MODE="+mode)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "healthy <nil>\n" {
		t.Errorf("the host says %q", line)
	}
	// The plugin of this test's own host was never started: all are the other's.
	eventually(t, "the start of the children", func() bool { return len(processes(w.dir)) == all })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the end of all", func() bool { return len(processes(w.dir)) == 0 })
	eventually(t, "the end of its folder", func() bool { return len(left()) == 0 })
	old := filepath.Join(temp, "scheduler-plugins-1")
	if err := errors.Join(os.Mkdir(old, 0o700), os.WriteFile(filepath.Join(old, "held"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.temp = temp
	w.open(t)
	w.register(t)
	w.healthy(t, "hostile")
	if dirs := left(); len(dirs) != 1 || dirs[0] == old {
		t.Errorf("there are %v, want the folder of the new host", dirs)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if dirs := left(); len(dirs) != 0 {
		t.Errorf("left are %v", dirs)
	}
}

// eventually waits for something that comes by itself.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not happen", what)
}
