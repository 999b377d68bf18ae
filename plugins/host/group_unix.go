//go:build unix && !linux

package host

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own. The life pipe alone tells it
// when the host is gone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
