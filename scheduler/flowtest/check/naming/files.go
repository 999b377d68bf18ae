package naming

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// fileNames are the files that texts may come from. The files of the folders are listed when a name is first
// looked for that matches nothing else.
type fileNames struct {
	folders []sourceFolder
	names   []string

	once   sync.Once
	listed []string // of the folders; set by once
	// isCut: there are more files than are listed; set by once.
	isCut bool
}

// sourceFolder is a folder of files, and its name in a flow; "" if names begin in it.
type sourceFolder struct{ path, written string }

// add adds a file by its path.
func (f *fileNames) add(name string) { f.names = append(f.names, filepath.ToSlash(name)) }

// addFolder adds a folder; its files are listed later.
func (f *fileNames) addFolder(dir, written string) {
	if folder := (sourceFolder{dir, written}); !slices.Contains(f.folders, folder) {
		f.folders = append(f.folders, folder)
	}
}

// addPath adds the file or folder that a parameter names, as it is written and from the folder of the flow, if it
// exists.
func (f *fileNames) addPath(dir, written string) {
	if written == "" || len(written) > maxPathLength || strings.ContainsAny(written, "\n\x00") {
		return
	}
	at := filepath.FromSlash(written)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
	case info.IsDir():
		f.addFolder(at, written)
	default:
		f.add(written)
	}
}

// maxPathLength bounds the texts that may be a path.
const maxPathLength = 1000

// has reports whether a file has the path, its end, or the name, as far as the files are listed.
func (f *fileNames) has(pattern string) bool {
	fits := func(name string) bool { return MatchesPath(pattern, name) }
	if slices.ContainsFunc(f.names, fits) {
		return true
	}
	f.once.Do(f.list)
	return slices.ContainsFunc(f.listed, fits)
}

// all lists the paths and the names of the files.
func (f *fileNames) all() (names []string) {
	for _, name := range slices.Concat(f.names, f.listed) {
		names = append(names, name, path.Base(name))
	}
	return names
}

// list lists the files of the folders.
func (f *fileNames) list() {
	left := maxFiles
	for _, folder := range f.folders {
		root := files.RealPath(folder.path) // a link to a folder is not walked
		_ = filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
			left--
			switch {
			case left < 0:
				return fs.SkipAll
			case err != nil: // the other folders count
				return nil //nolint:nilerr // what cannot be read has no names
			case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
				return fs.SkipDir
			case entry.IsDir():
				return nil
			}
			below, _ := filepath.Rel(root, at)
			f.listed = append(f.listed, filepath.ToSlash(below), filepath.ToSlash(filepath.Join(folder.path, below)))
			if folder.written != "" {
				f.listed = append(f.listed, filepath.ToSlash(folder.written)+"/"+filepath.ToSlash(below))
			}
			return nil
		})
	}
	f.isCut = left < 0
}

// maxFiles bounds how many files are looked at for their names.
const maxFiles = 10_000
