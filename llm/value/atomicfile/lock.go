package atomicfile

import (
	"os"
	"path/filepath"
)

// LockFolder waits for the lock of the folder that a file is in, and acquires it: programs that read the file,
// change it and write it take turns. On file systems without locks there is no wait. The lock ends with the
// process.
func LockFolder(path string) (release func()) {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return func() {} // a folder that does not exist has nothing to protect
	}
	waitForLock(f)
	return func() { _ = f.Close() }
}
