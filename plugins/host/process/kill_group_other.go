//go:build !unix

package process

import (
	"os"
	"os/exec"
)

func setOwnGroup(*exec.Cmd) {}

func killGroup(int) {}

func closeInheritedFiles() {}

// groupWatcher is for systems with process groups.
type groupWatcher struct{}

func watchGroup(int, string) *groupWatcher { return nil }

func (*groupWatcher) stop() {}

// tryLock always succeeds: on these systems sockets are not files.
func tryLock(*os.File) bool { return true }
