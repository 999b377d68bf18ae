package files

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxWatched bounds the files that a watch looks at.
const maxWatched = 20_000

// State shows whether a file has changed.
type State struct {
	written time.Time
	size    int64
}

// States are the states of files, by their paths.
type States map[string]State

// Watch returns the states of the files in folders and below them, without hidden folders and without the files that isLeftOut names.
func Watch(folders []string, isLeftOut func(path string) bool) States {
	states := States{}
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
			if err != nil || len(states) >= maxWatched { // a file that is gone is a change
				return nil //nolint:nilerr // the others count
			}
			isHidden := strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"
			if entry.IsDir() && isHidden && at != folder {
				return filepath.SkipDir
			}
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && !isLeftOut(at) {
				states[at] = State{info.ModTime().UTC(), info.Size()}
			}
			return nil
		})
	}
	return states
}

// Equal reports whether nothing has changed.
func (s States) Equal(other States) bool { return maps.Equal(s, other) }
