package promptfoo

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

// reader reads one configuration. It lives for one [Read].
type reader struct {
	files    fs.FS
	dir      string // of the configuration, in files
	name     string // of the import
	settings string // the file of the providers
	language string
	// checkItem is [Options].CheckItem.
	checkItem func(item value.Value) wording.Text
	main      *importer.Source
	sources   []*importer.Source

	prompts     []*promptText
	providers   []*provider
	tests       []*test
	defaults    *test
	description string
	repeat      int
	parallel    int
	extra       []importer.File
	// env are the values of env, which templates know as env.NAME.
	env map[string]*yaml.Node
	// stored are the names under which tests store their answers for later ones.
	stored []string
	// hasTests is set if the configuration has tests or scenarios, read or not; isRedTeam if attacks are its
	// tests.
	hasTests, isRedTeam bool
	// lostProvider is set if a provider was not read.
	lostProvider bool
}

// The names in the flows of an import.
const (
	answerStep = "answer"
	outputName = "output"
)

var errOutside = wording.Errorf("the file is outside of the folder")

// readFile reads a file that the configuration names, below its folder only. It returns the path that it was
// read from.
func (r *reader) readFile(name string) (data []byte, at string, err error) {
	name = strings.TrimPrefix(name, "file://")
	at = path.Join(r.dir, strings.TrimPrefix(name, "./"))
	if !fs.ValidPath(at) {
		return nil, name, errOutside
	}
	data, err = calls.ReadFileFS(r.files, at, calls.AnyLength)
	return data, at, err
}

// filesLike returns the files that a text names, with * for any letters, as the text would name each.
func (r *reader) filesLike(file string) (names []string) {
	name := strings.TrimPrefix(file, "file://")
	if !strings.ContainsAny(name, "*?[") {
		return []string{name}
	}
	found, err := fs.Glob(r.files, path.Join(r.dir, name))
	if err != nil {
		return nil
	}
	for _, f := range found {
		names = append(names, r.shown(f))
	}
	return names
}

// shown returns a path of the files from the folder of the configuration.
func (r *reader) shown(at string) string {
	return strings.TrimPrefix(strings.TrimPrefix(at, r.dir), "/")
}

// addSource adds a file; all its leaves will be accounted for.
func (r *reader) addSource(file string, root *yaml.Node) *importer.Source {
	s := importer.NewSource(file, root)
	r.sources = append(r.sources, s)
	return s
}

// addFile adds a file of the import.
func (r *reader) addFile(name string, data []byte) {
	r.extra = append(r.extra, importer.File{Path: name, Data: data})
}

// keepFile keeps a file of code beside the import, for people to read.
func (r *reader) keepFile(at string, data []byte) string {
	kept := "code/" + strings.ReplaceAll(strings.TrimPrefix(at, r.dir+"/"), "../", "")
	for _, f := range r.extra {
		if f.Path == kept {
			return kept
		}
	}
	r.addFile(kept, data)
	return kept
}

// variantName returns the name of the flow of a prompt.
func (r *reader) variantName(i int) string {
	if len(r.prompts) < 2 {
		return r.name
	}
	return fmt.Sprintf("%s-%d", r.name, i+1)
}
