package process

import (
	"syscall"
	"unsafe"
)

// canLimitMemory reports whether limitMemory works on this system.
const canLimitMemory = true

// limitMemory bounds the private memory that a process can have; processes that it starts later inherit the bound.
// The process has hardly begun: memory that it has by then may exceed the bound, but it gets no more.
//
// The system refuses only for a process that has ended already.
func limitMemory(pid int, bytes uint64) {
	limit := syscall.Rlimit{Cur: bytes, Max: bytes}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_DATA, uintptr(unsafe.Pointer(&limit)), 0, 0, 0) //nolint:gosec // the kernel reads the limit
}
