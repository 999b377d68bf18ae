package check

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check/naming"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// Scope holds the names that an item may use. The reader of a test file makes it; it is only read.
type Scope struct {
	// File is the test file as positions show it, Dir the folder that !file starts from; "" allows
	// no files.
	File, Dir string
	// Root is the root of the project, see [files.Folder].
	Root string
	// At returns the place of a byte of the text of a scalar, or of any node with 0; nil: the place of the node.
	At func(n *yaml.Node, offset int) flow.Position
	// Flows are those that the case may run: each must have the steps that the item names. Without any,
	// steps are not looked at.
	Flows []*flow.Flow
	// Cases are the names of the cases of the file, Columns the columns of the dataset; nil: they are not checked.
	Cases   []string
	Columns []string
	// PluginChecks are the names of the checks of plugins.
	PluginChecks []string
	// Registry has the variables that plugins declare; nil: they are not looked at.
	Registry *calls.Registry

	once  sync.Once
	names *naming.Names // set by once
}

// stepIDs lists the steps that all flows have; nil if flows are not known.
func (s *Scope) stepIDs() (ids []string) {
	if len(s.Flows) == 0 {
		return nil
	}
	for _, step := range s.Flows[0].Steps {
		if !slices.ContainsFunc(s.Flows[1:], func(f *flow.Flow) bool { _, ok := f.Step(step.ID); return !ok }) {
			ids = append(ids, step.ID)
		}
	}
	return ids
}

// knownNames returns the names in the flows.
func (s *Scope) knownNames() *naming.Names {
	s.once.Do(func() { s.names = naming.New(s.Flows, s.Dir, s.Registry) })
	return s.names
}

// checkStep reports a step that one of the flows cannot have.
func (s *Scope) checkStep(id string) *naming.Problem {
	for _, f := range s.Flows {
		if known, ok := explain.MayRun(f, id); !ok {
			return &naming.Problem{Message: wording.Say("the flow %s has no step %q", f.Name, id), Hint: nearHint(id, known)}
		}
	}
	return nil
}

// parser reads one item.
type parser struct {
	scope    *Scope
	item     *yaml.Node
	subject  *parsedSubject // nil until it is read
	when     *expression    // nil for none
	problems flow.Problems
	needs    []Need
	memories []Memory
	// literals are the values of nodes with !raw or !file.
	literals map[*yaml.Node]value.Value
}

// text reads a key that is a text.
func (p *parser) text(keys map[string]member, key string) string {
	m, ok := keys[key]
	if !ok {
		return ""
	}
	text, isText := p.valueOf(m.value).Str()
	if !isText || text == "" {
		p.report(m.value, wording.Say("%s must be a text", key), wording.Text{})
	}
	return text
}

// readValues takes the tags !raw and !file out of the item, and reports the ones without a valid value.
func (p *parser) readValues() bool {
	p.readTags(p.item, 0)
	if len(p.problems) > 0 {
		return false
	}
	if _, err := yaml.Value(p.untagged(p.item)); err != nil {
		p.reportYAML(err)
		return false
	}
	return true
}

func (p *parser) readTags(n *yaml.Node, depth int) {
	n = yaml.Resolve(n)
	switch n.Tag {
	case "!raw":
		v, err := yaml.Value(yaml.WithoutTag(n))
		if err != nil {
			p.reportYAML(err)
		}
		p.literals[n] = v
		return
	case "!file":
		p.literals[n] = p.readFile(n)
		return
	}
	for _, c := range n.Content {
		p.readTags(c, depth+1)
	}
}

// untagged returns a copy of a tree whose literal nodes are empty texts.
func (p *parser) untagged(n *yaml.Node) *yaml.Node {
	n = yaml.Resolve(n)
	if _, isLiteral := p.literals[n]; isLiteral {
		return &yaml.Node{Kind: yaml.Scalar, Tag: "!!str", Line: n.Line, Column: n.Column}
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = p.untagged(n.Content[i])
	}
	return &c
}

// readFile returns the content of a file beside the test file: data, or text.
func (p *parser) readFile(n *yaml.Node) value.Value {
	path := filepath.FromSlash(n.Value)
	if p.scope.Dir == "" || !filepath.IsLocal(path) {
		p.report(n, wording.Say("!file %s leads out of the folder of the test file", n.Value), wording.Say("keep the file beside the test file, or in a folder below it"))
		return value.Value{}
	}
	_, content, err := files.Folder{Dir: p.scope.Dir, Root: p.scope.Root}.Read(path)
	if err != nil {
		p.report(n, wording.Say("cannot read the file: %w", err), files.Hint(err))
		return value.Value{}
	}
	v, err := yaml.ParseFile(path, content)
	if err != nil {
		p.report(n, wording.Say("%s:%v", n.Value, err), wording.Text{})
	}
	return v
}

// valueOf returns the value of a node, in which templates are texts.
func (p *parser) valueOf(n *yaml.Node) value.Value {
	n = yaml.Resolve(n)
	if v, ok := p.literals[n]; ok {
		return v
	}
	switch n.Kind {
	case yaml.Sequence:
		items := make([]value.Value, len(n.Content))
		for i, c := range n.Content {
			items[i] = p.valueOf(c)
		}
		return value.OfList(items...)
	case yaml.Mapping:
		m := value.NewMap(len(n.Content) / 2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m.Set(yaml.Resolve(n.Content[i]).Value, p.valueOf(n.Content[i+1]))
		}
		return value.OfMap(m)
	}
	v, _ := yaml.Value(n) // readValues has read it
	return v
}

// positionIn returns the place of a byte of the text of a node.
func (p *parser) positionIn(n *yaml.Node, offset int) flow.Position {
	if p.scope.At != nil {
		return p.scope.At(n, offset)
	}
	pos := flow.Position{File: p.scope.File, Line: n.Line, Col: n.Column}
	if n.Style&(yaml.Literal|yaml.Folded) != 0 || strings.Contains(n.Value, "\n") || offset == 0 {
		return pos
	}
	if n.Style&(yaml.DoubleQuoted|yaml.SingleQuoted) != 0 {
		pos.Col++
	}
	pos.Col += len([]rune(n.Value[:min(offset, len(n.Value))]))
	return pos
}

func (p *parser) report(n *yaml.Node, message, hint wording.Text) {
	p.problems = append(p.problems, flow.NewProblem(p.positionIn(n, 0), message, hint))
}

// reportYAML reports an error of the package yaml at its own place.
func (p *parser) reportYAML(err error) {
	at := p.positionIn(p.item, 0)
	message := wording.OfError(err)
	if wrong, ok := err.(*yaml.Error); ok { //nolint:errorlint // the package returns it as it is
		at.Line, at.Col = wrong.Line, wrong.Col
		text, hint := wrong.Text()
		p.problems = append(p.problems, flow.NewProblem(at, text, hint))
		return
	}
	p.problems = append(p.problems, flow.NewProblem(at, message, wording.Text{}))
}

// reportTemplate reports an error of a template.
func (p *parser) reportTemplate(n *yaml.Node, err error) {
	at := p.positionIn(n, 0)
	v := errorOf(err)
	if wrong, ok := err.(*prompt.Error); ok { //nolint:errorlint // the package returns it as it is
		at.Line, at.Col = wrong.Line, wrong.Col
	}
	p.problems = append(p.problems, flow.NewProblem(at, v.message, v.hint))
}

// checkStep reports a step that a flow does not have.
func (p *parser) checkStep(n *yaml.Node, id string) {
	if wrong := p.scope.checkStep(firstItem(id)); wrong != nil {
		p.report(n, wrong.Message, wrong.Hint)
	}
}

// unknownName returns the problem of a name that is not among those known.
func unknownName(at flow.Position, format, name string, known []string) flow.Problem {
	return flow.NewProblem(at, wording.Say(format, name), nearHint(name, known))
}

// nearHint names the one of the known that was probably meant, or lists them.
func nearHint(name string, known []string) wording.Text {
	return wording.Of(value.DidYouMeanOrList(name, known))
}

// itemKeys are the keys that every item may have, beside its subject and matchers.
var itemKeys = []string{"name", "metric", "weight", "when", "not"}
