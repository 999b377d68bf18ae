//go:build unix && !linux

package host

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own. Nothing but the watcher ends it
// when the host is gone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
