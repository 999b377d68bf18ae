package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Bounds on the files of a program, so that a folder of data is not taken for one by mistake.
const (
	maxProgramFiles = 50_000
	maxProgramBytes = 1 << 30
)

// Seal is the state of a program's files at one moment. [NewSeal] makes it; it is not changed afterwards, and safe
// for concurrent use.
type Seal struct {
	// SHA256 is the sum over all files in the folder, by name and content, except the manifest's data; over the
	// names of pipes, sockets and devices in it, which have no content that could be read; over the targets of
	// links in it; and over the command, unless that is a name in PATH: an interpreter, another one on each
	// machine. In that case, the files are added that its arguments name: for example, the script of python3
	// main.py.
	SHA256 string
	// CoversCommand reports whether the command is a part of SHA256.
	CoversCommand bool
	// Links are the links that lead out of the folder, by name.
	Links []Link

	dir        string
	manifest   *Manifest
	identities string // a sum over which files these were, and when they were last changed
}

// Link is a link in the folder of a plugin: its name, and the path that it leads to.
type Link struct{ Name, Target string }

// Started are the files that a program will be started from. They are read in place of the paths in its folder, so
// that exactly the bytes that were read are started, whatever the paths lead to by then.
type Started struct {
	// Command is the open file of the command; nil if it is started by its path.
	Command *os.File
	// Copies are paths of private copies, by the names of the files from the plugin's folder.
	Copies map[string]string
}

// NewSeal reads a program. That a copy was not read, because its file is not a part of the
// program any more, is an error.
func NewSeal(dir string, m *Manifest, started Started) (*Seal, error) {
	d, err := digestProgram(dir, m, started, true)
	if err == nil && d.copies < len(started.Copies) {
		err = wording.Errorf("files were removed while it was read")
	}
	if err != nil {
		return nil, wording.Errorf("reading the program of the plugin %s: %w", m.Name, err)
	}
	return &Seal{
		SHA256: hex.EncodeToString(d.contents.Sum(nil)), CoversCommand: d.coversCommand, Links: d.links,
		dir: dir, manifest: m, identities: string(d.identities.Sum(nil)),
	}, nil
}

// Digest returns the SHA-256 of a program; see [Seal].
func Digest(dir string, m *Manifest) (sum string, err error) {
	s, err := NewSeal(dir, m, Started{})
	if err != nil {
		return "", err
	}
	return s.SHA256, nil
}

// CheckUnmodified returns an error if a file of the program was exchanged, changed, added or removed since it was
// sealed. It reads no contents: the kernel keeps the time of a file's last change, which no program can set back.
func (s *Seal) CheckUnmodified() error {
	d, err := digestProgram(s.dir, s.manifest, Started{}, false)
	if err != nil {
		return wording.Errorf("reading its program again: %w", err)
	}
	if string(d.identities.Sum(nil)) != s.identities {
		return calls.Errorf(calls.Plugin, "its folder changed while it started, so that it may not be the trusted one").
			WithHint("list what it writes there under data in %s", FileName)
	}
	return nil
}

// digester computes the sums of one seal. [digestProgram] makes it; it is used once.
type digester struct {
	contents   hash.Hash
	identities hash.Hash
	// readContents is false if only the identities are wanted.
	readContents bool

	root   string // the plugin's folder, without links
	walked []walkedFolder
	data   []string
	links  []Link
	files  int
	bytes  int64

	// program is the command as a path in the folder, "" for others; coversCommand reports
	// that it was added.
	program       string
	coversCommand bool
	// started are the files that are read in place of their paths; copies counts the copies among them.
	started Started
	copies  int
	// manifest is the text read from plugin.yaml, which counts in place of the file; nil if it was not read from
	// one.
	manifest []byte
}

// walkedFolder is a folder that was read: its path without links, and its name seen from
// the plugin's folder.
type walkedFolder struct{ path, name string }

func digestProgram(dir string, m *Manifest, started Started, readContents bool) (*digester, error) {
	d := newDigester(m)
	d.started, d.readContents = started, readContents
	root, err := filepath.EvalSymlinks(dir) // a walk does not follow its root
	if err != nil {
		return nil, err
	}
	d.root = root
	if err := d.addFolder(root, "."); err != nil {
		return nil, err
	}
	if err := d.addCommand(m.Command); err != nil {
		return nil, err
	}
	return d, d.addScripts(m)
}

func newDigester(m *Manifest) *digester {
	d := &digester{contents: sha256.New(), identities: sha256.New(), readContents: true, manifest: m.content}
	if isPath(m.Command) && !filepath.IsAbs(m.Command) {
		d.program = filepath.Clean(filepath.FromSlash(m.Command))
	}
	for _, path := range m.Data {
		d.data = append(d.data, filepath.Clean(filepath.FromSlash(path)))
	}
	return d
}

// addFolder adds the content of a folder; name is its name seen from the plugin's.
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
	if d.isExcluded(rel) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	switch {
	case entry.IsDir():
		return nil
	case entry.Type()&fs.ModeSymlink != 0:
		return d.addLink(path, rel)
	case !entry.Type().IsRegular():
		d.addSpecial(entry.Type(), rel)
		return nil
	}
	return d.addFile(path, rel)
}

// addSpecial adds a pipe, a socket or a device, which is not opened.
func (d *digester) addSpecial(mode fs.FileMode, rel string) {
	for _, sum := range []hash.Hash{d.contents, d.identities} {
		fmt.Fprintf(sum, "special %q %s\n", filepath.ToSlash(rel), mode.Type())
	}
}

// isExcluded reports whether a name is not a part of the program.
func (d *digester) isExcluded(rel string) bool { return slices.Contains(d.data, rel) }

// isCovered reports whether a path without links belongs to a folder that is walked, and
// is not excluded there.
func (d *digester) isCovered(path string) bool {
	return slices.ContainsFunc(d.walked, func(w walkedFolder) bool {
		rel, err := filepath.Rel(w.path, path)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		for ; rel != "."; rel = filepath.Dir(rel) {
			if d.isExcluded(filepath.Join(w.name, rel)) {
				return false
			}
		}
		return true
	})
}

// addLink adds a link and its target. A folder is read once, even if it is below another one (in a virtual
// environment lib64 is lib); a folder that contains the plugin's is not read at all.
func (d *digester) addLink(path, rel string) error {
	text, err := os.Readlink(path)
	if err != nil {
		return err
	}
	for _, sum := range []hash.Hash{d.contents, d.identities} {
		fmt.Fprintf(sum, "link %q %q\n", filepath.ToSlash(rel), text)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = text // it leads nowhere
	}
	if !isBelow(target, d.root) {
		d.links = append(d.links, Link{filepath.ToSlash(rel), target})
	}
	mode := targetMode(path)
	if mode.IsRegular() {
		return d.addFile(path, rel)
	}
	if isSpecial := mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0; isSpecial {
		d.addSpecial(mode, rel)
	}
	if !mode.IsDir() || isBelow(d.root, target) || d.isCovered(target) {
		return nil
	}
	return d.addFolder(target, rel)
}

// isBelow reports whether a path is a folder, or below it. Both are without links.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// addCommand adds the program if it was not read as a part of the folder: a program with an absolute path, and one
// that is listed as data. A name that is looked up in PATH is left out. A program that does not exist, or is not a
// file, is reported by [Locate].
func (d *digester) addCommand(command string) error {
	if d.coversCommand || !isPath(command) {
		return nil
	}
	path := command
	if d.program != "" {
		path = filepath.Join(d.root, d.program)
	}
	if !targetMode(path).IsRegular() {
		return nil
	}
	name := command
	if d.program != "" {
		name = d.program
	}
	return d.addFile(path, name)
}

// addScripts adds the files that the arguments of an interpreter name, if they were not read as a part of the
// folder: its script may be anywhere. Data may change there too.
func (d *digester) addScripts(m *Manifest) error {
	if isPath(m.Command) {
		return nil
	}
	for _, arg := range m.Args {
		path := commandPath(d.root, arg)
		if !targetMode(path).IsRegular() || d.isCovered(path) || d.isData(path) {
			continue
		}
		if err := d.addFile(path, "argument "+arg); err != nil {
			return err
		}
	}
	return nil
}

// IsData reports whether a name from the plugin's folder is listed as data in the manifest, or below such a name.
func (m *Manifest) IsData(name string) bool {
	return slices.ContainsFunc(m.Data, func(data string) bool {
		return isBelow(filepath.Clean(name), filepath.Clean(filepath.FromSlash(data)))
	})
}

// SealsGit reports whether Git's files in the plugin's folder are a part of the program, so that commands of Git
// change it.
func (m *Manifest) SealsGit(dir string) bool {
	const gitFolder = ".git"
	_, err := os.Lstat(filepath.Join(dir, gitFolder))
	return err == nil && !m.IsData(gitFolder)
}

// isData reports whether a path is listed as data in the manifest, or below such a path.
func (d *digester) isData(path string) bool {
	return slices.ContainsFunc(d.data, func(data string) bool { return isBelow(path, filepath.Join(d.root, data)) })
}

// targetMode returns the mode of a path's target; irregular if nothing is there.
func targetMode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode()
}

// addFile adds a file.
func (d *digester) addFile(path, name string) error {
	d.files++
	if d.files > maxProgramFiles {
		return wording.Errorf("more than %d files (list folders that do not belong to the program under data in %s)", maxProgramFiles, FileName)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.identities, "file %q %s\n", filepath.ToSlash(name), fileIdentity(info))
	isCommand := name == d.program || filepath.IsAbs(name)
	d.coversCommand = d.coversCommand || isCommand
	if !d.readContents {
		return nil
	}
	if name == FileName && d.manifest != nil {
		return d.addContents(bytes.NewReader(d.manifest), name)
	}
	if isCommand && d.started.Command != nil {
		return d.addContents(d.started.Command, name)
	}
	if copied, ok := d.started.Copies[filepath.Clean(name)]; ok {
		path = copied
		d.copies++
	}
	file, err := calls.OpenFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return d.addContents(file, name)
}

// addContents adds the contents of a file, which others may read at the same time.
func (d *digester) addContents(f io.ReaderAt, name string) error {
	content := sha256.New()
	n, err := io.Copy(content, io.NewSectionReader(f, 0, maxProgramBytes+1))
	if err != nil {
		return err
	}
	d.bytes += n
	if d.bytes > maxProgramBytes {
		return wording.Errorf("more than %d bytes (list files that do not belong to the program under data in %s)", maxProgramBytes, FileName)
	}
	fmt.Fprintf(d.contents, "file %q %x\n", filepath.ToSlash(name), content.Sum(nil))
	return nil
}
