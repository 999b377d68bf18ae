//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group, so that its children can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a command and all that it has started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // they may be gone
