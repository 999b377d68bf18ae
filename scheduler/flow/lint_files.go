package flow

import (
	"errors"
	"io/fs"

	"github.com/callnode/scheduler/calls"
)

// lintFiles reads files for calls that check their parameters.
type lintFiles struct{ unit *unit }

var _ calls.FileReader = lintFiles{}

var (
	errOutside     = errors.New("the file is not in the folder of the flow")
	errNotRecorded = errors.New("the record of the run does not have the file")
)

// ReadFile reads a file as !file does.
func (f lintFiles) ReadFile(name string) (content []byte, path string, err error) {
	ld := f.unit.loading
	path, root, inside := f.unit.resolvePath(name)
	if !inside {
		return nil, path, errOutside
	}
	content, err = ld.readBeside(root, path)
	if ld.recorded && errors.Is(err, fs.ErrNotExist) {
		err = errNotRecorded
	}
	return content, path, err
}
