package calls

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/callnode/scheduler/llm/value/wording"
)

// ReadFile reads a file of the system, and of a long one not much more than limit
// bytes: who parses it refuses what is longer. A pipe would be waited for, a device may
// never end: what is not a regular file is not opened.
func ReadFile(path string, limit int64) ([]byte, error) {
	return readRegular(path, limit,
		func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (fs.File, error) { return os.Open(path) })
}

// OpenFile opens a file of the system to read it piece by piece; what is not a regular file
// is refused, as by [ReadFile].
func OpenFile(path string) (*os.File, error) {
	if err := CheckRegular(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// CheckRegular returns an error with [ErrNotRegular] for a file of the system that must not be
// opened: a pipe would be waited for, a device may never end.
func CheckRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(path)
	}
	return nil
}

// ErrNotRegular says that a file is a pipe, a device or a directory.
var ErrNotRegular = wording.Errorf("it is not a regular file")

func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}

// ReadFileFS is [ReadFile] in a file system.
func ReadFileFS(files fs.FS, name string, limit int64) ([]byte, error) {
	return readRegular(name, limit,
		func() (fs.FileInfo, error) { return fs.Stat(files, name) },
		func() (fs.File, error) { return files.Open(name) })
}

// ReadFileIn is [ReadFile] in a directory, out of which no path leads.
func ReadFileIn(root *os.Root, name string, limit int64) ([]byte, error) {
	return readRegular(name, limit,
		func() (fs.FileInfo, error) { return root.Stat(name) },
		func() (fs.File, error) { return root.Open(name) })
}

func readRegular(name string, limit int64, stat func() (fs.FileInfo, error), open func() (fs.File, error)) ([]byte, error) {
	info, err := stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(name)
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	return data, errors.Join(err, f.Close())
}
