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
// data; of the folders that links in it lead to; and of the command, unless that is
// an interpreter: see [digester.command].
//
// A file may still be exchanged between the check and the start. Who can do that
// can write to the folder, and must be trusted anyway.
func digest(dir string, m *Manifest) (sum string, err error) {
	sum, _, err = seal(dir, m)
	return sum, err
}

// seal is digest, and says whether the command is a part of it.
func seal(dir string, m *Manifest) (sum string, command bool, err error) {
	d := newDigester(m)
	root, err := filepath.EvalSymlinks(dir) // a walk does not follow its root
	if err == nil {
		d.root = root
		err = d.folder(root, ".")
	}
	if err == nil {
		err = d.command(m.Command)
	}
	if err != nil {
		return "", false, fmt.Errorf("reading the program of the plugin %s: %w", m.Name, err)
	}
	return hex.EncodeToString(d.sum.Sum(nil)), d.sealed, nil
}

type digester struct {
	sum    hash.Hash
	root   string // the plugin's folder, without links
	walked []walked
	data   []string
	files  int
	bytes  int64
	// program is the command as a path in the folder, sealed that it was read.
	program string
	sealed  bool
}

// walked is a folder that is read, by its path without links and as the plugin's calls
// it.
type walked struct{ path, name string }

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

// folder reads what is in a folder, which is called name in the plugin's.
func (d *digester) folder(path, name string) error {
	d.walked = append(d.walked, walked{path, name})
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == path {
			return err
		}
		rel, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		return d.visit(file, filepath.Join(name, rel), entry)
	})
}

func (d *digester) visit(path, rel string, entry fs.DirEntry) error {
	if d.passesOver(rel) {
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
		return d.link(path, rel)
	case !entry.Type().IsRegular():
		return nil // a socket, a pipe: nothing that could be read
	}
	return d.file(path, rel)
}

// passesOver says that what is so called is no part of the program.
func (d *digester) passesOver(rel string) bool {
	name := filepath.Base(rel)
	return strings.HasPrefix(name, ".") || name == "__pycache__" || slices.Contains(d.data, rel)
}

// reads says whether what is at a path without links is read, or will be, as a part of
// a folder that is walked.
func (d *digester) reads(path string) bool {
	return slices.ContainsFunc(d.walked, func(w walked) bool {
		rel, err := filepath.Rel(w.path, path)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		for ; rel != "."; rel = filepath.Dir(rel) {
			if d.passesOver(filepath.Join(w.name, rel)) {
				return false
			}
		}
		return true
	})
}

// link reads what a link leads to. A folder is read once, be it below another one (a
// virtual environment calls lib lib64, too), and one that the plugin's lies in is no
// part of it.
func (d *digester) link(path, rel string) error {
	switch mode := modeOf(path); {
	case mode.IsRegular():
		return d.file(path, rel)
	case !mode.IsDir(): // or it leads nowhere
		return nil
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil || within(d.root, target) || d.reads(target) {
		return err
	}
	return d.folder(target, rel)
}

// within says whether a path is the one of a folder, or below it. Both are without
// links.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// command reads the program where it was not read as a part of the folder: that of an
// absolute path, and one in the folder that is passed over, as data or for a dot. What
// is looked up in PATH, and what is passed over and leads out of the folder, like that
// of a virtual environment, is an interpreter, and another one on each machine. A
// program that is not there, or no file, is the business of [locate].
func (d *digester) command(command string) error {
	path := command
	switch {
	case d.sealed || !isPath(command):
		return nil
	case d.program != "":
		path = filepath.Join(d.root, d.program)
		target, _ := filepath.EvalSymlinks(path) // "" where there is none, which is within nothing
		if !within(target, d.root) && !d.reads(target) {
			return nil
		}
	}
	if !modeOf(path).IsRegular() {
		return nil
	}
	return d.file(path, command)
}

// modeOf is what a path leads to; irregular where that is nothing.
func modeOf(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode()
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
	fmt.Fprintf(d.sum, "file %q %x\n", filepath.ToSlash(name), content.Sum(nil))
	d.sealed = d.sealed || name == d.program || filepath.IsAbs(name)
	return nil
}
