package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/callnode/scheduler/plugins/manifest"
)

// Mirror is a private copy of a plugin's folder from which its script starts: an interpreter opens a script by its
// path, and by then that may lead to another file than the one that was hashed. In the mirror are copies of the
// script and of the files beside it, which are hashed; everything else, the folders beside it and the manifest's
// data, are links to the plugin's folder. So a script's imports from a folder are opened there, by their paths.
//
// [NewMirror] makes it for one start; the starter of the process removes it when that has ended.
type Mirror struct {
	dir    string
	copies map[string]string // paths of the copies, by their names from the plugin's folder
	// script is the name of the one that is started; program is the command's name, "" if that is not in the
	// folder.
	script, program string
	bytes           int64 // of the copies
}

// Bounds on copied files beside a script, one and all: longer files are hardly code.
const (
	maxCopy   = 1 << 20
	maxCopies = 32 << 20
)

// NewMirror makes the mirror of the folder of a plugin, in the folder of sockets, which only this user can enter;
// nil if it has no script to start. program is the path of its command.
func NewMirror(dir, program string, m *manifest.Manifest, sockets string) (_ *Mirror, err error) {
	if runtime.GOOS == "windows" { // links need a privilege there
		return nil, nil
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	mirror := &Mirror{copies: map[string]string{}, script: scriptOf(root, program, m)}
	if mirror.script == "" {
		return nil, nil
	}
	mirror.program, _ = nameIn(root, program)
	mirror.dir, err = os.MkdirTemp(sockets, "scripts-")
	if err != nil {
		return nil, err
	}
	for _, folder := range foldersOf(mirror.script) {
		if err := mirror.addFolder(root, folder, m); err != nil {
			mirror.Remove()
			return nil, err
		}
	}
	return mirror, nil
}

// scriptOf returns the script of a plugin by its name from the folder: the command, if that begins with #!, or the
// file that the first argument of an interpreter names, after its options; "" for none. Behind another first
// argument the script stays in its folder: the program may look for it in a place of its own, for example if it
// starts an interpreter in a container.
func scriptOf(root, program string, m *manifest.Manifest) string {
	if _, _, isScript := readShebang(program); m.NamesFile() && isScript {
		name, _ := nameIn(root, program)
		return name
	}
	if real, err := filepath.EvalSymlinks(program); m.NamesFile() && (err != nil || isBelow(real, root)) {
		return "" // else a link to an interpreter, as in a virtual environment
	}
	if i := firstOperand(m.Args); i < len(m.Args) {
		if name, ok := nameIn(root, m.Args[i]); ok && !m.IsData(name) {
			return name
		}
	}
	return ""
}

// firstOperand returns the index of the first argument that is not an option.
func firstOperand(args []string) int {
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return len(args)
	}
	return i
}

// nameIn returns the name, from the root, of a regular file that is in the root or in a folder of
// it to which no link leads: a seal knows it by that name.
func nameIn(root, path string) (name string, ok bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, filepath.FromSlash(path))
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", false
	}
	name, err = filepath.Rel(root, filepath.Join(folder, filepath.Base(path)))
	return name, err == nil && filepath.IsLocal(name)
}

func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// foldersOf lists the folders on the way to a file, the outer ones first.
func foldersOf(file string) (folders []string) {
	for dir := filepath.Dir(file); dir != "."; dir = filepath.Dir(dir) {
		folders = append(folders, dir)
	}
	folders = append(folders, ".")
	slices.Reverse(folders)
	return folders
}

// addFolder makes a folder of the mirror: copies of files, and links to all else.
func (m *Mirror) addFolder(root, folder string, of *manifest.Manifest) error {
	if err := os.MkdirAll(filepath.Join(m.dir, folder), 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return err
	}
	folders := foldersOf(m.script)
	names := slices.Clone(of.Data) // also of data that is still to be written
	for _, e := range entries {
		names = append(names, filepath.Join(folder, e.Name()))
	}
	for _, name := range names {
		name = filepath.Clean(filepath.FromSlash(name))
		if filepath.Dir(name) != folder || slices.Contains(folders, name) {
			continue
		}
		if err := m.addEntry(root, name, of); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// addEntry copies a file, or links to an entry that is not to be copied.
func (m *Mirror) addEntry(root, name string, of *manifest.Manifest) error {
	from, to := filepath.Join(root, name), filepath.Join(m.dir, name)
	info, err := os.Stat(from)
	if err != nil && name == m.script {
		return err
	}
	isShort := err == nil && info.Mode().IsRegular() && info.Size() <= maxCopy && m.bytes+info.Size() <= maxCopies
	isOther := name == manifest.FileName || name == m.program || of.IsData(name)
	if name != m.script && (!isShort || isOther) {
		return os.Symlink(from, to)
	}
	if err := copyFile(to, from); err != nil {
		return err
	}
	m.copies[name] = to
	m.bytes += info.Size()
	return nil
}

// Copies returns the paths of the copies, by their names from the plugin's folder.
func (m *Mirror) Copies() map[string]string {
	if m == nil {
		return nil
	}
	return m.copies
}

// StartsCommand reports whether the command of the plugin is the script that is started.
func (m *Mirror) StartsCommand() bool { return m != nil && m.script == m.program }

// commandLine returns the path to start and the arguments, the first of which is the name of the program. A script
// is started by its interpreter, as the system would do it: programs in the folder of the mirror may not be
// allowed to start.
func (m *Mirror) commandLine(program string, args []string) (path string, argv []string) {
	argv = append([]string{program}, args...)
	if m == nil {
		return program, argv
	}
	script := m.copies[m.script]
	if !m.StartsCommand() {
		argv[1+firstOperand(args)] = script
		return program, argv
	}
	interpreter, option, _ := readShebang(script)
	if interpreter == "" {
		return script, append([]string{script}, args...)
	}
	argv = []string{interpreter}
	if option != "" {
		argv = append(argv, option)
	}
	return interpreter, append(append(argv, script), args...)
}

// Remove removes the mirror, as far as the system lets it.
func (m *Mirror) Remove() {
	if m != nil {
		_ = os.RemoveAll(m.dir)
	}
}
