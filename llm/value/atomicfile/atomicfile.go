// Package atomicfile replaces files in one step: after a crash, for example, a file is either the old or the new one.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file, or replaces it, so that a reader, and a machine that loses its power, has the old one (or none) or
// the new one, and never a part. The folder must exist. The file is beside its place until it is whole.
func Write(path string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // short: the name itself may have the greatest length
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if mode != 0o600 { // it has that one, and some file systems know no modes
		err = errors.Join(err, f.Chmod(mode))
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
