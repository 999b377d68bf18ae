package suite

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// parse parses the text and returns its value, in which checks are left out: package check reads them.
func (r *reader) parse(src []byte) (doc value.Value, ok bool) {
	r.places = flow.NewPlaces(r.shown, src)
	root, err := yaml.Parse(src)
	if err != nil {
		r.reportYAML(err)
		return doc, false
	}
	if root == nil {
		r.report("", wording.Say("the test file is empty"), wording.Say("write cases: [{name: ..., inputs: ..., expect: [...]}]"))
		return doc, false
	}
	r.root = root
	r.readTags(root)
	doc, err = yaml.Value(r.withoutTags(root))
	if err != nil {
		r.reportYAML(err)
		return doc, false
	}
	doc = r.withLiterals(root, doc)
	return doc, len(r.problems) == 0
}

// reportYAML reports an error of the package yaml at its own place.
func (r *reader) reportYAML(err error) {
	pos := r.position(r.root, 0)
	message, hint := wording.OfError(err), wording.Text{}
	if wrong, ok := err.(*yaml.Error); ok { //nolint:errorlint // the package returns it as it is
		pos.Line, pos.Col = max(wrong.Line, 1), max(wrong.Col, 1)
		message, hint = wrong.Text()
	}
	r.problems = append(r.problems, flow.NewProblem(pos, message, hint))
}

// checkKeys checks the value against the schema of the keys. It returns the value without the parts that do not
// fit, and whether the rest fits.
func (r *reader) checkKeys(doc value.Value) (pruned value.Value, fits bool) {
	for round := 0; ; round++ {
		problems := fileSchema().Check(doc)
		if problems == nil || round == 2 || doc.Kind() != value.Object {
			r.reportKeys(problems, round == 0)
			return doc, problems == nil
		}
		r.reportKeys(problems, round == 0)
		for _, p := range problems {
			doc = prune(doc, strings.Split(p.Pointer, "/")[1:])
		}
	}
}

// reportKeys reports values that do not fit the schema of the keys, and notes which cases are wrong.
func (r *reader) reportKeys(problems schema.Problems, isFirst bool) {
	for _, p := range problems {
		if names := strings.SplitN(p.Pointer, "/", 4); len(names) > 2 {
			r.wrong["/"+names[1]+"/"+names[2]] = true
		}
		pos := r.at(p.Pointer)
		if p.Keyword == "additionalProperties" {
			pos = r.keyAt(p.Pointer)
		}
		message, hint := p.Text()
		if isFirst {
			r.problems = append(r.problems, flow.NewProblem(pos, message, hint))
		}
	}
}

// prune returns a value without the member at a path. A member that is missing, and an entry of a list, which keeps
// its number, become the smallest that fits a case.
func prune(v value.Value, path []string) value.Value {
	if len(path) == 0 {
		return value.OfMap(value.Pairs("name", "?"))
	}
	name := value.Unescape(path[0])
	switch v.Kind() {
	case value.List:
		items := slices.Clone(v.List())
		if i, err := strconv.Atoi(name); err == nil && i < len(items) {
			items[i] = prune(items[i], path[1:])
		}
		return value.OfList(items...)
	case value.Object:
		m := v.Map().Clone()
		member, has := m.Get(name)
		switch {
		case has && len(path) > 1:
			m.Set(name, prune(member, path[1:]))
		case has:
			m.Delete(name)
		case len(path) == 1:
			m.Set(name, value.OfString("?"))
		}
		return value.OfMap(m)
	}
	return v
}

// checkMark is the key under which checks are.
const checkMark = "expect"

// readTags reads the values of nodes with !raw and !file, outside of checks.
func (r *reader) readTags(n *yaml.Node) {
	n = yaml.Resolve(n)
	switch n.Tag {
	case "!raw":
		v, err := yaml.Value(yaml.WithoutTag(n))
		if err != nil {
			r.reportYAML(err)
		}
		r.literals[n] = v
		return
	case "!file":
		r.literals[n] = r.readFile(n)
		return
	}
	for i, c := range n.Content {
		if n.Kind != yaml.Mapping || i%2 == 0 || !isChecks(n.Content[i-1], c) {
			r.readTags(c)
		}
	}
}

// isChecks reports whether a member is a list of checks.
func isChecks(key, v *yaml.Node) bool {
	return yaml.Resolve(key).Value == checkMark && yaml.Resolve(v).Kind == yaml.Sequence
}

// withoutTags returns a copy of a tree in which literals are null, and checks empty lists.
func (r *reader) withoutTags(n *yaml.Node) *yaml.Node {
	n = yaml.Resolve(n)
	if _, isLiteral := r.literals[n]; isLiteral {
		return &yaml.Node{Kind: yaml.Scalar, Tag: "!!str", Line: n.Line, Column: n.Column}
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		if n.Kind == yaml.Mapping && i%2 == 1 && isChecks(n.Content[i-1], child) {
			empty := *yaml.Resolve(child)
			empty.Content = nil
			c.Content[i] = &empty
			continue
		}
		c.Content[i] = r.withoutTags(child)
	}
	return &c
}

// withLiterals returns a value with the literals of its nodes.
func (r *reader) withLiterals(n *yaml.Node, v value.Value) value.Value {
	n = yaml.Resolve(n)
	if literal, ok := r.literals[n]; ok {
		return literal
	}
	switch n.Kind {
	case yaml.Sequence:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = r.withLiterals(n.Content[i], item)
		}
		return value.OfList(items...)
	case yaml.Mapping:
		m := value.NewMap(v.Map().Len())
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := yaml.Resolve(n.Content[i]).Value
			if member, ok := v.Get(key); ok {
				m.Set(key, r.withLiterals(n.Content[i+1], member))
			}
		}
		return value.OfMap(m)
	}
	return v
}

// readFile returns the content of a file beside the test file: data, or text.
func (r *reader) readFile(n *yaml.Node) (v value.Value) {
	path := filepath.FromSlash(n.Value)
	if !filepath.IsLocal(path) {
		r.problems = append(r.problems, flow.NewProblem(r.position(n, 0), wording.Say("!file %s leads out of the folder of the test file", n.Value), wording.Say("keep the file beside the test file, or in a folder below it")))
		return v
	}
	path, content, err := r.folder().Read(path)
	if err != nil {
		r.problems = append(r.problems, flow.NewProblem(r.position(n, 0), wording.Say("cannot read %s: %w", n.Value, calls.WithoutPath(err)), files.Hint(err)))
		return v
	}
	r.otherFiles[path] = true
	v, err = yaml.ParseFile(path, content)
	if err != nil {
		r.problems = append(r.problems, flow.NewProblem(r.position(n, 0), wording.Say("%s: %w", n.Value, err), wording.Text{}))
	}
	return v
}
