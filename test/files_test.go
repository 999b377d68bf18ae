package test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// openers are the functions of the standard library that open any file at a path: opening a pipe would wait, and
// no signal ends that wait.
var openers = map[string][]string{
	"os":         {"Create", "Open", "OpenFile", "OpenRoot", "ReadFile", "Truncate", "WriteFile"},
	"io/fs":      {"ReadDir", "ReadFile"}, // of the file system of an os.Root, ReadDir too
	"io/ioutil":  {"ReadFile", "WriteFile"},
	"crypto/tls": {"LoadX509KeyPair"},
}

// mayOpen are the files that may use them, and why.
var mayOpen = map[string]string{
	"calls/file.go":                              "it has the functions that check first",
	"calls/ask/texts.go":                         "the texts are embedded",
	"calls/language.go":                          "the directory is embedded",
	"calls/internal/skill/load.go":               "it checks first, and imports no contract",
	"calls/database/sqlitefile/layout.go":        "checkRegular comes before",
	"calls/database/sqlitefile/wal.go":           "checkRegular comes before",
	"cmd/scheduler/init.go":                      "O_EXCL opens nothing that was there",
	"cmd/scheduler/starter/starter.go":           "the templates are embedded",
	"llm/replay/part_log.go":                     "logs of recordings, in a folder of the state directory that it made",
	"llm/replay/replay.go":                       "readFile checks first: a provider imports no call",
	"plugins/host/process/kill_tree_linux.go":    "a file of /proc",
	"plugins/host/process/program.go":            "the copy is in a folder that it made",
	"plugins/host/process/socketdir.go":          "locks in folders of hosts, which only this user enters; O_RDWR waits for no pipe",
	"llm/value/atomicfile/lock.go":               "the folder of the lock file, which holds the file",
	"plugins/project/project.go":                 "the templates are embedded",
	"scheduler/journal/internal/stored/owner.go": "files of /proc",
	"scheduler/journal/sqljournal/sqlite_key.go": "the state directory, to sync it",
	"scheduler/server/ui.go":                     "the page is embedded",
}

// isTestKit reports whether the files of a folder are for tests, or show how to write a plugin.
func isTestKit(dir string) bool {
	return strings.HasSuffix(dir, "test") || strings.HasPrefix(dir, "test/") || strings.HasPrefix(dir, "plugins/examples/")
}

// A path from a user must lead to a regular file, or it is refused before it is opened.
func TestFilesAreOpenedWhereTheyAreChecked(t *testing.T) {
	used := map[string]bool{}
	for _, f := range sources(t) {
		if isTestKit(f.dir) {
			continue
		}
		for _, name := range openersIn(f) {
			if mayOpen[f.name] == "" {
				t.Errorf("%s uses %s, which waits for a pipe: use ReadFile, OpenFile, WriteFile, CreateFile, OpenRoot or ReadDirFS of package calls, or write in mayOpen why not", f.name, name)
			}
			used[f.name] = true
		}
	}
	for name := range mayOpen {
		if !used[name] {
			t.Errorf("mayOpen names %s, which opens nothing", name)
		}
	}
}

// openersIn lists the openers that a file names.
func openersIn(f source) (names []string) {
	packages := map[string]string{} // paths by the names they have in the file
	for _, spec := range f.Imports {
		path := imported(spec)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = path
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && slices.Contains(openers[packages[of.Name]], selector.Sel.Name) {
			names = append(names, of.Name+"."+selector.Sel.Name)
		}
		return true
	})
	return names
}
