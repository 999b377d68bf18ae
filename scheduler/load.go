package scheduler

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
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
	// Root is the directory that !file must stay in, links followed; "" is the
	// directory of the flow file itself.
	Root string
	// ReadFile reads a file by its path; nil reads from disk.
	ReadFile func(path string) ([]byte, error)
}

// maxFlowDepth bounds how deep flows may stand in flows.
const maxFlowDepth = 16

// Load reads a flow file and its sub-flows. The flow is nil when a problem is an
// error; warnings leave it usable.
func (l *Loader) Load(path string) (*Flow, Problems) {
	src, err := l.read("", path)
	if err != nil {
		return nil, Problems{unreadable(Position{path, 1, 1}, path, err)}
	}
	return l.Parse(path, src)
}

// Parse is Load of a text that was read before. file names it in messages, and
// paths in it are relative to file's directory.
func (l *Loader) Parse(file string, src []byte) (*Flow, Problems) {
	ld := &loading{
		Loader: l, flows: map[string]*Flow{}, files: map[string][]byte{},
		leniently: map[*schema.Schema]*schema.Schema{},
	}
	flow := ld.flow(file, src)
	problems := slices.Concat(ld.reports...)
	if problems.HasErrors() {
		return nil, problems
	}
	flow.Files = ld.files
	return flow, problems
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
	defer f.Close() //nolint:errcheck // only read from
	return io.ReadAll(io.LimitReader(f, yaml.MaxBytes+1))
}

func unreadable(pos Position, path string, err error) Problem {
	p := Problem{Pos: pos, Message: fmt.Sprintf("cannot read %s: %v", path, reason(err))}
	if errors.Is(err, fs.ErrNotExist) {
		p.Message, p.Hint = "there is no file "+path, "paths are relative to the flow file"
	}
	return p
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
	stack     []string // the flows that are being read, outermost first
}

// unit is one flow file on its way from text to Flow.
type unit struct {
	decoder
	loading *loading
	dir     string
	keys    flowKeys
	flow    *Flow
	steps   []*stepUnit
	byID    map[string]int
	order   *stepOrder
	// outputUses and the like are the names that templates outside steps mention.
	outputUses, errorUses, memoryUses []use
	compared                          int // names that were compared with mistyped ones
	// broken stands for an expression that did not compile.
	broken *Param
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

// flow parses, compiles and checks one file.
func (ld *loading) flow(file string, src []byte) *Flow {
	slot := len(ld.reports)
	ld.reports = append(ld.reports, nil)
	text := newFlowText(file, src)
	u := &unit{
		decoder: decoder{text, &report{}},
		loading: ld,
		dir:     filepath.Dir(file),
		flow:    &Flow{File: file, Source: src},
		byID:    map[string]int{},
	}
	ld.stack = append(ld.stack, filepath.Clean(file))
	u.run()
	ld.stack = ld.stack[:len(ld.stack)-1]
	slices.SortStableFunc(u.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
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
	u.lintOrder()
	u.lintCalls()
	u.lintNames()
	u.finish()
}

// parse gives the root node, nil where the text is no YAML.
func (u *unit) parse() *yaml.Node {
	if len(u.text) > yaml.MaxBytes {
		u.add(u.position(0), "the file has more than %d bytes", yaml.MaxBytes).hint("put data into files of its own and name them with !file")
		return nil
	}
	if i := invalidUTF8(u.text); i >= 0 {
		u.add(u.position(i), "the text is not UTF-8 here").hint("save the file as UTF-8")
		return nil
	}
	root, err := yaml.Parse(u.text)
	var fault *yaml.Error
	switch {
	case errors.As(err, &fault):
		u.notYAML(fault)
		return nil
	case err != nil:
		u.add(u.position(0), "%v", err)
		return nil
	case root == nil:
		u.add(u.position(0), "the file is empty").hint("a flow has steps: [{id: ..., call: ...}]")
		return nil
	}
	return root
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// notYAML reports a syntax error where it most likely comes from: the library
// tells only a line, often that of the map around it, and cannot know that a
// template was meant.
func (u *unit) notYAML(fault *yaml.Error) {
	if at := u.bareTemplate(fault.Line - 1); at >= 0 {
		text := clipText(string(u.text[at : at+restOfLine(u.text[at:])]))
		u.add(u.position(at), "a template must be quoted: YAML takes { for the start of a map").
			hint(`quote the whole value: "%s"`, strings.ReplaceAll(text, `"`, `'`))
		return
	}
	for line := max(1, fault.Line-1); line <= min(fault.Line+1, len(u.yamlLines)); line++ {
		start := u.offset(line, 1)
		blank := len(u.text[start:]) - len(bytes.TrimLeft(u.text[start:], " \t"))
		if i := bytes.IndexByte(u.text[start:start+blank], '\t'); i >= 0 {
			u.add(u.position(start+i), "a tab in the indentation").hint("YAML is indented with spaces")
			return
		}
	}
	at := u.offset(fault.Line, max(fault.Col, 1))
	if fault.Col == 0 {
		at += leadingSpaces(u.text[at:])
	}
	p := u.add(u.position(at), "%s", fault.Msg)
	if strings.Contains(fault.Msg, "second YAML document") {
		p.hint("take the --- out, or make it a file of its own")
	}
}

var (
	bareValue  = regexp.MustCompile(`^\s*(?:- +)*(?:[\w-]+:\s+|- +)(\{[{%])`)
	blockValue = regexp.MustCompile(`[:-]\s+(?:!\S+\s+)?[|>][-+0-9]*\s*(?:#.*)?$`)
)

// bareTemplate finds the first value from a line on that begins with {{ or {% and
// is not quoted, outside of block scalars; -1 for none.
func (u *unit) bareTemplate(from int) int {
	block := -1 // the indentation of the key whose block scalar this is
	for i, start := range u.yamlLines {
		line := u.text[start : start+restOfLine(u.text[start:])]
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if block >= 0 && leadingSpaces(line) > block {
			continue
		}
		block = -1
		if blockValue.Match(line) {
			block = leadingSpaces(line)
		}
		if m := bareValue.FindSubmatchIndex(line); m != nil && i+1 >= from {
			return start + m[2]
		}
	}
	return -1
}

func clipText(s string) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}
