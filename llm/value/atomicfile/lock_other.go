//go:build !unix

package atomicfile

import "os"

// waitForLock does nothing on systems without locks of folders.
func waitForLock(*os.File) {}
