package flow

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// lintFiles reads files for calls that check their parameters.
type lintFiles struct{ unit *unit }

var _ calls.FileReader = lintFiles{}

var errNotRecorded = wording.Errorf("the record of the run does not have the file")

// ReadFile reads a file that a parameter names. Unlike those of !file it may be outside of
// the flow's folder, as the calls that read files in a run take it.
func (f lintFiles) ReadFile(name string) (content []byte, path string, err error) {
	ld := f.unit.loading
	path, root, inside := f.unit.resolvePath(name)
	if filepath.IsAbs(name) {
		path = filepath.Clean(name)
	}
	if !inside { // a call may read it in a run
		root = ""
	}
	content, err = ld.readBeside(root, path)
	if ld.recorded && errors.Is(err, fs.ErrNotExist) {
		err = errNotRecorded
	}
	return content, path, err
}
