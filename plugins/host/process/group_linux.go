package process

import (
	"os/exec"
	"syscall"
)

// setOwnGroup puts the process into a group of its own, and lets the kernel kill it
// when the thread that starts it ends: the host is gone then.
func setOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
