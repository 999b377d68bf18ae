package host

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own, and has the kernel kill it
// when the thread that starts it ends: the host is gone then.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
