package flow

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
)

// Languages are zh, en, and the languages with users' texts. The program makes one for all its flows; it does not
// change.
type Languages struct {
	// Default is the language of flows that name none.
	Default string
	// Dir is the directory of the users' texts, as messages name it; "" if the settings name none.
	Dir string
	// Files is that directory, as in [calls.Env]; nil if there is none.
	Files fs.FS
}

// defaultName returns the default language, "" if there are no languages.
func (l *Languages) defaultName() string {
	if l == nil {
		return ""
	}
	return l.Default
}

// Names lists the languages.
func (l *Languages) Names() []string {
	names := []string{"zh", "en"}
	for _, name := range l.folders(".") {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// folders returns the folders in one of Files. Links are followed.
func (l *Languages) folders(dir string) (names []string) {
	for _, name := range l.entries(dir) {
		if info, err := fs.Stat(l.Files, path.Join(dir, name)); err == nil && info.IsDir() {
			names = append(names, name)
		}
	}
	return names
}

// entries returns the names in a folder of Files, except hidden files.
func (l *Languages) entries(dir string) (names []string) {
	if l.Files == nil {
		return nil
	}
	entries, _ := calls.ReadDirFS(l.Files, dir) // a missing folder is reported when it is needed
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}
