//go:build !unix

package mcp

import "os/exec"

// ownGroup does nothing: this system has no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends a command.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may be gone
