package manifest

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

// Digest returns the SHA-256 of a program: of all files in its folder by name, except
// those whose name begins with a dot, __pycache__ and what the manifest lists as data;
// of the folders that links in it lead to; and of the command, unless that is an
// interpreter: see [digester.addCommand].
//
// A file may still be exchanged between the check and the start. Whoever can do that
// can write to the folder, and must be trusted anyway.
func Digest(dir string, m *Manifest) (sum string, err error) {
	sum, _, err = digestAndSeal(dir, m)
	return sum, err
}

// digestAndSeal is [Digest], and reports whether the command is a part of the sum.
func digestAndSeal(dir string, m *Manifest) (sum string, sealed bool, err error) {
	d := newDigester(m)
	root, err := filepath.EvalSymlinks(dir) // a walk does not follow its root
	if err == nil {
		d.root = root
		err = d.addFolder(root, ".")
	}
	if err == nil {
		err = d.addCommand(m.Command)
	}
	if err != nil {
		return "", false, fmt.Errorf("reading the program of the plugin %s: %w", m.Name, err)
	}
	return hex.EncodeToString(d.sum.Sum(nil)), d.sealed, nil
}

// digester computes one digest. [newDigester] makes it; it is used once.
type digester struct {
	sum    hash.Hash
	root   string // the plugin's folder, without links
	walked []walkedFolder
	data   []string
	files  int
	bytes  int64
	// program is the command as a path in the folder, sealed that it was read.
	program string
	sealed  bool
}

// walkedFolder is a folder that was read: its path without links, and its name seen from
// the plugin's folder.
type walkedFolder struct{ path, name string }

func newDigester(m *Manifest) *digester {
	d := &digester{sum: sha256.New()}
	if isPath(m.Command) && !filepath.IsAbs(m.Command) {
		d.program = filepath.Clean(filepath.FromSlash(m.Command))
	}
	for _, path := range m.Data {
		d.data = append(d.data, filepath.Clean(filepath.FromSlash(path)))
	}
	return d
}

// addFolder adds all that is in a folder, whose name seen from the plugin's is name.
func (d *digester) addFolder(path, name string) error {
	d.walked = append(d.walked, walkedFolder{path, name})
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == path {
			return err
		}
		rel, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		return d.addEntry(file, filepath.Join(name, rel), entry)
	})
}

// addEntry adds one entry of a folder.
func (d *digester) addEntry(path, rel string, entry fs.DirEntry) error {
	if d.excludes(rel) {
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
		return d.addLink(path, rel)
	case !entry.Type().IsRegular():
		return nil // a socket or a pipe has no content
	}
	return d.addFile(path, rel)
}

// excludes reports whether a name is not a part of the program.
func (d *digester) excludes(rel string) bool {
	name := filepath.Base(rel)
	return strings.HasPrefix(name, ".") || name == "__pycache__" || slices.Contains(d.data, rel)
}

// covers reports whether a path without links belongs to a folder that is walked, and
// is not excluded there.
func (d *digester) covers(path string) bool {
	return slices.ContainsFunc(d.walked, func(w walkedFolder) bool {
		rel, err := filepath.Rel(w.path, path)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		for ; rel != "."; rel = filepath.Dir(rel) {
			if d.excludes(filepath.Join(w.name, rel)) {
				return false
			}
		}
		return true
	})
}

// addLink adds what a link leads to. A folder is read once, also when it is below another
// one (in a virtual environment lib64 is lib); a folder that contains the plugin's is not
// read at all.
func (d *digester) addLink(path, rel string) error {
	mode := targetMode(path)
	if mode.IsRegular() {
		return d.addFile(path, rel)
	}
	if !mode.IsDir() { // or it leads nowhere
		return nil
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil || isBelow(d.root, target) || d.covers(target) {
		return err
	}
	return d.addFolder(target, rel)
}

// isBelow reports whether a path is that of a folder, or below it. Both are without
// links.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// addCommand adds the program where it was not read as a part of the folder: that of an
// absolute path, and one in the folder that is excluded as data or for a dot. A name
// that is looked up in PATH is an interpreter, another one on each machine, and so is an
// excluded link that leads out of the folder, as in a virtual environment: both are left
// out. A program that does not exist, or is not a file, is reported by [Locate].
func (d *digester) addCommand(command string) error {
	if d.sealed || !isPath(command) {
		return nil
	}
	path := command
	if d.program != "" {
		path = filepath.Join(d.root, d.program)
		target, _ := filepath.EvalSymlinks(path) // "" where nothing is, which is below no folder
		if !isBelow(target, d.root) && !d.covers(target) {
			return nil
		}
	}
	if !targetMode(path).IsRegular() {
		return nil
	}
	return d.addFile(path, command)
}

// targetMode returns the mode of what a path leads to; irregular where nothing is.
func targetMode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode()
}

// addFile adds the content of a file.
func (d *digester) addFile(path, name string) error {
	d.files++
	if d.files > maxProgramFiles {
		return fmt.Errorf("more than %d files (list folders that do not belong to the program under data in %s)", maxProgramFiles, FileName)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, maxProgramBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	d.bytes += n
	if d.bytes > maxProgramBytes {
		return fmt.Errorf("more than %d bytes (list files that do not belong to the program under data in %s)", maxProgramBytes, FileName)
	}
	fmt.Fprintf(d.sum, "file %q %x\n", filepath.ToSlash(name), content.Sum(nil))
	d.sealed = d.sealed || name == d.program || filepath.IsAbs(name)
	return nil
}
