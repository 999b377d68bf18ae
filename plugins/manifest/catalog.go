package manifest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Catalog lists the folders of plugins. [Find] makes it from the folders; it is not changed afterwards, and safe
// for concurrent use.
type Catalog struct {
	searched []string
	// dirs are the folders of plugins, by name.
	dirs map[string]string
	// problems are the faults of folders that hold no plugin; byFolder are the same by
	// the name of the folder.
	problems []error
	byFolder map[string]error
}

// Find looks for plugins: in each folder of folders for those that hold a plugin.yaml (a
// folder that does not exist is empty), and in each of dirs, which must hold one. Of two
// plugins of one name the first counts.
func Find(folders, dirs []string) *Catalog {
	c := &Catalog{searched: slices.Concat(folders, dirs), dirs: map[string]string{}, byFolder: map[string]error{}}
	for _, folder := range folders {
		c.addAll(folder)
	}
	for _, dir := range dirs {
		c.addFolder(dir)
	}
	return c
}

// addAll adds the plugins in a folder of plugins.
func (c *Catalog) addAll(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.problems = append(c.problems, wording.Errorf("looking for plugins: %w", err))
	}
	for _, e := range entries {
		dir := filepath.Join(folder, e.Name())
		if pathExists(filepath.Join(dir, FileName)) || pathExists(filepath.Join(dir, misspelledFileName)) {
			c.addFolder(dir)
		}
	}
}

// addFolder adds the plugin in a folder.
func (c *Catalog) addFolder(dir string) {
	abs, err := filepath.Abs(dir)
	var m *Manifest
	if err == nil {
		m, err = Read(abs)
	}
	if err != nil {
		c.problems = append(c.problems, err)
		c.byFolder[filepath.Base(dir)] = err
		return
	}
	first, taken := c.dirs[m.Name]
	if !taken {
		c.dirs[m.Name] = abs
	} else if first != abs {
		c.problems = append(c.problems, wording.Errorf("two plugins are called %s: %s is used, %s is not", m.Name, first, abs))
	}
}

// Dir returns the folder of a plugin; "" if it was not found.
func (c *Catalog) Dir(name string) string { return c.dirs[name] }

// Problems lists the problems of folders that hold no usable plugin.
func (c *Catalog) Problems() []error { return slices.Clone(c.problems) }

// Lookup returns the folder of a plugin. The error names the fault of its manifest, or
// the nearest name.
func (c *Catalog) Lookup(name string) (dir string, err error) {
	if dir, ok := c.dirs[name]; ok {
		return dir, nil
	}
	if err := c.byFolder[name]; err != nil {
		return "", calls.Errorf(calls.Invalid, "%w", err)
	}
	return "", c.unknownPlugin(name, slices.Sorted(maps.Keys(c.dirs)))
}

// NotTrusted returns the error for a plugin that the lock does not have.
func (c *Catalog) NotTrusted(name string, l *Lock) error {
	if c.dirs[name] != "" || c.byFolder[name] != nil {
		return calls.Errorf(calls.NotFound, "the plugin %s is not trusted", name).WithHint("nothing has to be done")
	}
	return c.unknownPlugin(name, l.Names())
}

// unknownPlugin returns the error for a name that is not among names.
func (c *Catalog) unknownPlugin(name string, names []string) error {
	err := calls.Errorf(calls.NotFound, "unknown plugin %q", name)
	if hint := value.DidYouMean(name, names); hint != "" {
		return err.WithHint("%s", hint)
	}
	return err.WithHint("plugins are looked for in %s", strings.Join(c.searched, ", "))
}
