//go:build !unix

package mcp

import "os/exec"

// ownGroup does nothing: there are no groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends a command.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may be gone
