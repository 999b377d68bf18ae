//go:build !linux

package manifest

import (
	"fmt"
	"io/fs"
)

// identity returns the size of a file and when it was last written.
func identity(info fs.FileInfo) string {
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}
