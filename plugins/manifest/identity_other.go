//go:build !linux

package manifest

import (
	"fmt"
	"io/fs"
)

// fileIdentity returns the size of a file and when it was last written.
func fileIdentity(info fs.FileInfo) string {
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}
