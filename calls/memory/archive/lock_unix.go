//go:build unix

package archive

import (
	"errors"
	"os"
	"syscall"
)

// tryLock acquires the lock of a file or a directory, which ends with this process; false if another process holds
// it. A file system without locks is used without.
func tryLock(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
