package host_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/plugins/host"
)

// TestPluginKillsItsReaper: a plugin that kills the process that watches over it leaves nothing behind, not even
// processes that it has moved to a session of their own.
func TestPluginKillsItsReaper(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pid")
	dir := t.TempDir()
	script := "#!/bin/sh\nsetsid sh -c 'echo $$ > " + note + ".new; mv " + note + ".new " + note + "; exec sleep 1000' </dev/null >/dev/null 2>&1 &\n" +
		"while [ ! -e " + note + " ]; do :; done\nkill -9 $PPID\nsleep 1000\n"
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte("name: sample\nversion: 1.0.0\ncommand: ./program\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Single(t.Context(), dir, host.Options{TempDir: shortDir(t), Reaper: true}); err == nil {
		t.Fatal("the plugin is taken for one that works")
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); isAlive(left); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(left, syscall.SIGKILL)
			t.Fatal("what the plugin has started goes on")
		}
	}
}

// isAlive reports whether a process runs: one that has ended may stay as a zombie if no parent collects it.
func isAlive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
