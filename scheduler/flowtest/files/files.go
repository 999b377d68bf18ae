// Package files reads the files that a test file names: flows, datasets, memories, recorded runs, and files of
// !file. A path starts at the folder of the test file and must stay in the project: for example, ../data/rows.csv
// is fine in tests/.
package files

import (
	"errors"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Folder is the folder that paths in a test file start from.
type Folder struct {
	// Dir is the folder of the test file.
	Dir string
	// Root is the folder of the project, which no path leaves, links followed; "" is the working directory. If the
	// test file is not in it, its own folder is the project.
	Root string
}

// Errors of [Folder.Find].
var (
	errOutside  = wording.Errorf("it is outside of the project")
	errAbsolute = wording.Errorf("its path is absolute")
)

// Read returns the content of a file, and its path.
func (f Folder) Read(name string) (path string, content []byte, err error) {
	path, err = f.Find(name)
	if err != nil {
		return path, nil, err
	}
	content, err = calls.ReadFile(path, calls.AnyLength)
	return path, content, err
}

// Find returns the path of a file, be there one or not.
func (f Folder) Find(name string) (path string, err error) {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name, errAbsolute
	}
	path = filepath.Join(f.Dir, name)
	isInside := false
	for _, root := range []string{f.Root, f.Dir} {
		if isInFolder(root, f.Dir) {
			isInside = isInFolder(root, path)
			break
		}
	}
	if !isInside {
		return path, errOutside
	}
	return path, nil
}

// isInFolder reports whether a path is a folder or below it, links followed as far as there are files.
func isInFolder(dir, path string) bool {
	rel, err := filepath.Rel(RealPath(dir), RealPath(path))
	return err == nil && filepath.IsLocal(rel)
}

// RealPath returns an absolute path without links; if the file does not exist, the links of its existing folders
// are followed.
func RealPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(RealPath(dir), filepath.Base(path))
	}
	return path
}

// Hint returns the remedy for an error of a [Folder] about the place of the file, else no text.
func Hint(err error) wording.Text {
	if errors.Is(err, errOutside) || errors.Is(err, errAbsolute) {
		return wording.Say("keep the file in the project, and write its path from the test file on")
	}
	return wording.Text{}
}
