//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// waitForLock takes the lock of a file or folder, which ends when that is closed.
func waitForLock(f *os.File) {
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
}
