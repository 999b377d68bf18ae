//go:build !unix

package manifest

import "os"

// waitForLock does nothing on systems without locks of folders.
func waitForLock(*os.File) {}
