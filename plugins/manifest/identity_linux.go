package manifest

import (
	"fmt"
	"io/fs"
	"syscall"
)

// fileIdentity returns which file it is and when it was last changed: no program can set the
// time of the last change.
func fileIdentity(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano())
}
