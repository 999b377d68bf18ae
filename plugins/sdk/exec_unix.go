//go:build unix

package sdk

import "syscall"

// closeOnExec keeps a file descriptor from the programs that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
