package flow

import (
	"errors"

	"github.com/callnode/scheduler/calls"
)

// lintUsedFiles finds parameters that name a pipe, a device or a folder where a file is read in
// the run. Such a file is not opened.
func (u *unit) lintUsedFiles(s *stepUnit) {
	if u.loading.recorded || u.loading.ReadFile != nil { // the file system is not the one of the run
		return
	}
	for _, f := range s.usedFiles(u.flow.File) {
		if !isFileParam(f.Param) {
			continue
		}
		if err := calls.CheckRegular(f.Path); errors.Is(err, calls.ErrNotRegular) {
			u.add(u.positionOf(nodeAt(s.with, "/"+f.Param)), "%s is not a regular file", f.Path).hint("name a file")
		}
	}
}
