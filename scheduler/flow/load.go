package flow

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Loader reads flow files and finds everything that is wrong in them before
// anything runs. What a flow names is looked up in the fields; a list that is nil
// is not checked against, an empty one allows nothing.
type Loader struct {
	// Registry has the calls and the variables.
	Registry *calls.Registry
	// Providers are the names that llm may have, Plugins those of plugins that are
	// installed, Secrets those that templates may use as secrets.NAME.
	Providers, Plugins, Secrets []string
	// Languages are those that flows may name; nil is not checked against.
	Languages *Languages
	// Root is the directory that !file must stay in, links followed; "" is the
	// directory of the flow file itself.
	Root string
	// ReadFile reads a file by its path; nil reads from disk.
	ReadFile func(path string) ([]byte, error)

	recorded bool // ReadFile has only what a journal kept
}

// maxFlowDepth bounds how deep flows may stand in flows.
const maxFlowDepth = 16

// Load reads a flow file and its sub-flows. The flow is nil when a problem is an
// error; warnings leave it usable.
func (l *Loader) Load(path string) (*Flow, Problems) {
	src, err := l.read("", path)
	if err != nil {
		p := unreadable(Position{path, 1, 1}, path, err)
		p.Hint = neighbour(path) // the path is not one in a flow
		if path == "-" {
			p.Message, p.Hint = "a flow is not read from standard input", "paths in a flow start at its file: write it to one"
		}
		return nil, Problems{p}
	}
	return l.Parse(path, src)
}

// Parse is Load of a text that was read before. file names it in messages, and
// paths in it are relative to file's directory.
func (l *Loader) Parse(file string, src []byte) (*Flow, Problems) {
	ld := &loading{
		Loader: l, flows: map[string]*Flow{}, files: map[string][]byte{},
		leniently: map[*schema.Schema]*schema.Schema{}, texts: map[string]bool{},
	}
	language := ""
	if l.Languages != nil {
		language = l.Languages.Default
	}
	flow := ld.flow(file, src, language)
	problems := slices.Concat(ld.reports...)
	if problems.HasErrors() {
		return nil, problems
	}
	flow.Files = ld.files
	return flow, problems
}

// LoadText loads a flow from its text and the content of its other files, by their
// paths, as a journal keeps them: no file is read, and names of providers and secrets
// that the settings have lost since are no problem.
func (l *Loader) LoadText(file string, source []byte, files map[string][]byte) (*Flow, Problems) {
	kept := *l
	kept.recorded = true
	kept.Providers, kept.Secrets = nil, nil
	if kept.Root != "" {
		kept.Root = Absolute(kept.Root)
	}
	kept.ReadFile = func(path string) ([]byte, error) {
		if content, ok := files[path]; ok {
			return content, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return kept.Parse(file, source)
}

// read gives the content of a file. With a root the path may not leave it.
func (l *Loader) read(root, path string) ([]byte, error) {
	if l.ReadFile != nil {
		return l.ReadFile(path)
	}
	var f fs.File
	var err error
	if root == "" {
		f, err = os.Open(path)
	} else if rel, outside := filepath.Rel(root, path); outside != nil {
		err = outside
	} else {
		f, err = os.OpenInRoot(root, rel)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yaml.MaxBytes+1))
}

func unreadable(pos Position, path string, err error) Problem {
	p := Problem{Pos: pos, Message: fmt.Sprintf("cannot read %s: %v", path, reason(err))}
	if errors.Is(err, fs.ErrNotExist) {
		p.Message, p.Hint = "there is no file "+path, "paths are relative to the flow file"
	}
	return p
}

// neighbour is the hint that names a file beside path, for a path that was mistyped.
func neighbour(path string) string {
	dir, name := filepath.Split(path)
	entries, _ := os.ReadDir(cmp.Or(dir, "."))
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if near := value.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s?", dir+near)
	}
	return ""
}

// reason is the error without the path that the message has already.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// also reads a file that the flow needs beside itself, once.
func (ld *loading) also(root, path string) ([]byte, error) {
	if content, ok := ld.files[path]; ok {
		return content, nil
	}
	content, err := ld.read(root, path)
	if err == nil {
		ld.files[path] = content
	}
	return content, err
}

// loading is one Load: a flow with everything below it.
type loading struct {
	*Loader
	reports []Problems
	files   map[string][]byte // what was read beside the flow, by path
	flows   map[string]*Flow  // sub-flows by path; nil for one with errors
	// leniently has schemas without their conditions.
	leniently map[*schema.Schema]*schema.Schema
	texts     map[string]bool // LANGUAGE/FOLDER of texts that were looked at
	stack     []string        // the flows that are being read, outermost first
}

// unit is one flow file on its way from text to Flow.
type unit struct {
	decoder
	loading *loading
	dir     string
	keys    flowKeys
	flow    *Flow
	// language is that of the flow, its own or that of the flow around it.
	language string
	steps    []*stepUnit
	byID     map[string]int
	order    *stepOrder
	// outputUses and the like are the names that templates outside steps mention.
	outputUses, errorUses, memoryUses []use
	compared                          int // names that were compared with mistyped ones
}

// stepUnit is a step on its way.
type stepUnit struct {
	*Step
	keys     *stepKeys
	with     *yaml.Node // nil without parameters
	known    bool       // Def is set
	uses     []use      // of with
	whenUses []use
	eachUses []use
	neededBy int          // 1 + the index of the last step that is known to need it
	needKeys []*yaml.Node // for each of Needs the node that says so, nil when implicit
}

// flow parses, compiles and checks one file. language is that of flows that name
// none.
func (ld *loading) flow(file string, src []byte, language string) *Flow {
	slot := len(ld.reports)
	ld.reports = append(ld.reports, nil)
	text := newFlowText(file, src)
	u := &unit{
		decoder: decoder{text, &report{}},
		loading: ld,
		dir:     filepath.Dir(file),
		flow:    &Flow{File: file, Source: src},
		byID:    map[string]int{},

		language: language,
	}
	ld.stack = append(ld.stack, filepath.Clean(file))
	u.run()
	ld.stack = ld.stack[:len(ld.stack)-1]
	elsewhere := func(p Problem) string { // the flow's own come first, then file by file
		if p.Pos.File == file {
			return ""
		}
		return p.Pos.File
	}
	slices.SortStableFunc(u.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(elsewhere(a), elsewhere(b)), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	ld.reports[slot] = slices.Compact(u.problems)
	if u.problems.HasErrors() {
		return nil
	}
	return u.flow
}

func (u *unit) run() {
	root := u.parse()
	if root == nil {
		return
	}
	u.decodeFlow(root)
	u.compileFlow()
	if u.flow.Language != "" {
		u.language = u.flow.Language
	}
	u.lintOrder()
	u.lintCalls()
	u.lintNames()
	u.finish()
}

// Absolute is the path from the root; a resuming process may stand elsewhere.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
