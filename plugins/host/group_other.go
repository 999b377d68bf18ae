//go:build !unix

package host

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func killGroup(int) {}

func inheritNothing() {}

// watcher is for systems with groups of processes.
type watcher struct{}

func watchGroup(int, string) *watcher { return nil }

func (*watcher) stop() {}

// tryLock is for systems where sockets are files.
func tryLock(*os.File) bool { return true }

// awaitLock is for systems with locks of folders.
func awaitLock(*os.File) {}
