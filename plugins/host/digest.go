package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what belongs to a program, so that a folder of data is not taken for
// one by mistake.
const (
	maxProgramFiles = 50_000
	maxProgramBytes = 1 << 30
)

// digest is the SHA-256 of a program: of all files in its folder by name, except
// those whose name begins with a dot, __pycache__ and what the manifest lists as
// data; and of the command, where that is an absolute path.
//
// A file may still be exchanged between the check and the start. Who can do that
// can write to the folder, and must be trusted anyway.
func digest(dir string, m *Manifest) (string, error) {
	d := &digester{sum: sha256.New(), dir: dir}
	for _, path := range m.Data {
		d.data = append(d.data, filepath.Clean(filepath.FromSlash(path)))
	}
	if err := filepath.WalkDir(dir, d.visit); err != nil {
		return "", fmt.Errorf("reading the program of the plugin %s: %w", m.Name, err)
	}
	if filepath.IsAbs(m.Command) {
		if err := d.file(m.Command, m.Command); err != nil {
			return "", fmt.Errorf("reading the program of the plugin %s: %w", m.Name, err)
		}
	}
	return hex.EncodeToString(d.sum.Sum(nil)), nil
}

type digester struct {
	sum   hash.Hash
	dir   string
	data  []string
	files int
	bytes int64
}

func (d *digester) visit(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if path == d.dir {
		return nil
	}
	rel, err := filepath.Rel(d.dir, path)
	if err != nil {
		return err
	}
	if name := entry.Name(); strings.HasPrefix(name, ".") || name == "__pycache__" || slices.Contains(d.data, rel) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	switch {
	case entry.IsDir():
		return nil
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.sum, "link %q %q\n", filepath.ToSlash(rel), target)
		if !leadsToFile(path) {
			return nil
		}
	case !entry.Type().IsRegular():
		return nil // a socket, a pipe: nothing that could be read
	}
	return d.file(path, filepath.ToSlash(rel))
}

func leadsToFile(link string) bool {
	info, err := os.Stat(link)
	return err == nil && info.Mode().IsRegular()
}

func (d *digester) file(path, name string) error {
	if d.files++; d.files > maxProgramFiles {
		return fmt.Errorf("more than %d files: list folders that are no part of the program under data in %s", maxProgramFiles, ManifestName)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, maxProgramBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if d.bytes += n; d.bytes > maxProgramBytes {
		return fmt.Errorf("more than %d bytes: list files that are no part of the program under data in %s", maxProgramBytes, ManifestName)
	}
	fmt.Fprintf(d.sum, "file %q %x\n", name, content.Sum(nil))
	return nil
}
