//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// setOwnGroup puts the process into a group of its own. Only the group watcher ends it
// when the host is gone.
func setOwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
