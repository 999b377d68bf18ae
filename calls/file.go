package calls

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The functions of this file open paths that a user names. Opening a pipe would wait, even through signals, and a
// device may never end: anything other than a regular file (or a directory if one is needed) is refused before it
// is opened.

// AnyLength is the limit of [ReadFile] for files that may be as long as memory lasts.
const AnyLength = math.MaxInt64 - 1

// ReadFile reads a file of the system, and of a long one not much more than limit bytes: its parser refuses longer
// ones.
func ReadFile(path string, limit int64) ([]byte, error) {
	return readRegular(path, limit,
		func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (fs.File, error) { return os.Open(path) })
}

// OpenFile opens a file of the system to read it piece by piece; other than regular files are refused, as by
// [ReadFile].
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

// WriteFile writes a file of the system as [os.WriteFile] does; an existing file that is not a regular one is
// refused.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	if err := checkReplaceable(path); err != nil {
		return err
	}
	return os.WriteFile(path, data, perm)
}

// CreateFile creates or empties a file of the system, to write it piece by piece; an existing file that is not a
// regular one is refused.
func CreateFile(path string, perm fs.FileMode) (*os.File, error) {
	if err := checkReplaceable(path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
}

// checkReplaceable returns an error if the file to be replaced is not a regular one.
func checkReplaceable(path string) error {
	err := CheckRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// OpenRoot opens a directory of the system, as [os.OpenRoot] does; anything else is refused.
func OpenRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, notDir(dir)
	}
	return os.OpenRoot(dir)
}

// ReadDirFS lists a directory of a file system, sorted by name; anything else is refused, although the file system
// of an [os.Root] would open it.
func ReadDirFS(files fs.FS, name string) ([]fs.DirEntry, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, notDir(name)
	}
	return fs.ReadDir(files, name)
}

func notDir(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: errNotDir}
}

var errNotDir = wording.Errorf("it is not a directory")

// ErrNotRegular means that a file is a pipe, a device or a directory.
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

// WithoutPath returns the error of a file without its path, for a message that has that already.
func WithoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
