package check

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check/naming"
)

// The names that templates of checks know.
const (
	nameValue   = "value"
	nameOutputs = "outputs"
	nameSteps   = "steps"
	namePrompt  = "prompt"
	nameRow     = "row"
	nameInputs  = "inputs"
	nameRun     = "run"
)

func templateNames() []string {
	return []string{nameValue, nameOutputs, nameSteps, namePrompt, nameRow, nameInputs, nameRun}
}

// expression is a compiled text of an item: one {{ expression }}, which keeps its type, or a template.
type expression struct {
	expr *prompt.Expr
	text *prompt.Template
}

func (e *expression) eval(ctx context.Context, scope prompt.Scope) (value.Value, error) {
	if e.expr != nil {
		return e.expr.Eval(ctx, scope)
	}
	return e.text.RenderValue(ctx, scope)
}

// refs returns the names in it.
func (e *expression) refs() []prompt.Ref {
	if e.expr != nil {
		return e.expr.Refs()
	}
	return e.text.Refs()
}

// compileExpression compiles a text that is an expression, with or without its braces. It reports problems, and
// returns nil then.
func (p *parser) compileExpression(n *yaml.Node) *expression {
	n = yaml.Resolve(n)
	if n.Kind != yaml.Scalar || strings.TrimSpace(n.Value) == "" {
		p.report(n, wording.Say("want an expression"), wording.Say(`write it as "{{ value > 3 }}"`))
		return nil
	}
	text, offset, isBraced := prompt.SingleExpr(n.Value)
	if !isBraced {
		if prompt.HasTags(n.Value) { // its text would be true, whatever is computed in it
			p.report(n, wording.Say("want one expression, not a text with one in it"), wording.Say(`write it as "{{ value > 3 }}"`))
			return nil
		}
		text, offset = n.Value, 0
	}
	expr, err := prompt.ParseExpr(p.source(n, text, offset), nil)
	if err != nil {
		p.reportTemplate(n, err)
		return nil
	}
	p.checkRefs(n, offset, expr.Refs())
	return &expression{expr: expr}
}

// compileCondition compiles a when. A condition without names gives the same result in each run: it must be a
// boolean here.
func (p *parser) compileCondition(n *yaml.Node) *expression {
	e := p.compileExpression(n)
	if e == nil || len(e.expr.Refs()) > 0 {
		return e
	}
	v, err := e.expr.Eval(context.Background(), &scope{})
	if err != nil {
		p.reportTemplate(n, err)
		return nil
	}
	if _, isBool := v.Bool(); !isBool {
		message, hint := notBooleanText(v)
		p.report(n, message, hint)
		return nil
	}
	return e
}

// compileTemplate compiles a text with templates.
func (p *parser) compileTemplate(n *yaml.Node, text string) *expression {
	if _, _, isExpr := prompt.SingleExpr(text); isExpr {
		return p.compileExpression(n)
	}
	t, err := prompt.Parse(p.source(n, text, 0))
	if err != nil {
		p.reportTemplate(n, err)
		return nil
	}
	p.checkRefs(n, 0, t.Refs())
	return &expression{text: t}
}

// source returns the text of a node from a byte offset. In a text over several lines, every place is its
// beginning.
func (p *parser) source(n *yaml.Node, text string, offset int) prompt.Source {
	return prompt.Source{File: p.scope.File, Text: text, At: func(at int) (line, col int) {
		pos := p.positionIn(n, offset+at)
		return pos.Line, pos.Col
	}}
}

// checkRefs reports the names that no template of a check has, and steps, inputs and columns that
// do not exist.
func (p *parser) checkRefs(n *yaml.Node, offset int, refs []prompt.Ref) {
	for _, ref := range refs {
		at := p.positionIn(n, offset+ref.Offset)
		known := p.knownBelow(ref.Path[0])
		if !slices.Contains(templateNames(), ref.Path[0]) {
			p.problems = append(p.problems, unknownName(at, "unknown name %q", ref.Path[0], templateNames()))
			continue
		}
		if p.reportSubjectName(at, ref) {
			continue
		}
		if len(ref.Path) < 2 || ref.Guarded || known == nil || slices.Contains(known, ref.Path[1]) {
			continue
		}
		name := ref.Path[0] + "." + ref.Path[1]
		p.problems = append(p.problems, flow.NewProblem(at, wording.Say("unknown name %q", name), nearHint(ref.Path[1], known)))
	}
}

// isOfSubject reports whether a name refers to the subject of a check.
func isOfSubject(ref prompt.Ref) bool { return ref.Path[0] == nameValue || ref.Path[0] == namePrompt }

// reportSubjectName reports a name of the subject in a check that has no such subject: it would never be defined.
func (p *parser) reportSubjectName(at flow.Position, ref prompt.Ref) (isReported bool) {
	switch {
	case p.subject == nil || !isOfSubject(ref):
		return false
	case p.subject.kind == noSubject:
		p.problems = append(p.problems, flow.NewProblem(at, wording.Say("%s is what a check looks at, and this one has no subject", ref.Path[0]),
			wording.Say("add output, step, prompt or another subject; or name outputs, steps or run")))
	case ref.Path[0] == namePrompt && p.subject.kind != promptSubject:
		p.problems = append(p.problems, flow.NewProblem(at, wording.Say("%s is that of a check of a prompt", namePrompt), wording.Say("write prompt: STEP beside it")))
	default:
		return false
	}
	return true
}

// knownBelow lists the members of a name that are known before anything runs; nil if they are not.
func (p *parser) knownBelow(name string) []string {
	switch name {
	case nameRow:
		return p.scope.Columns
	case nameSteps:
		return p.scope.stepIDs()
	case nameInputs:
		return naming.Inputs(p.scope.Flows)
	}
	return nil
}

// tree is a value with the templates in it compiled.
type tree struct {
	literal value.Value
	text    *expression
	list    []*tree
	keys    []string
	members []*tree
}

// compileTree compiles the templates below a node; dynamic is false if it has no templates. Texts below a literal
// node are never templates.
func (p *parser) compileTree(n *yaml.Node) (t *tree, dynamic bool) {
	n = yaml.Resolve(n)
	t = &tree{literal: p.literals[n]}
	_, isLiteral := p.literals[n]
	switch {
	case isLiteral:
	case n.Kind == yaml.Scalar && n.ShortTag() == "!!str" && prompt.HasTags(n.Value):
		t.text = p.compileTemplate(n, n.Value)
		return t, true
	case n.Kind == yaml.Scalar:
		t.literal, _ = yaml.Value(n) // it was read before
	case n.Kind == yaml.Sequence:
		t.list = []*tree{}
		for _, c := range n.Content {
			item, isDynamic := p.compileTree(c)
			t.list = append(t.list, item)
			dynamic = dynamic || isDynamic
		}
	default:
		t.members = []*tree{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			member, isDynamic := p.compileTree(n.Content[i+1])
			t.keys, t.members = append(t.keys, yaml.Resolve(n.Content[i]).Value), append(t.members, member)
			dynamic = dynamic || isDynamic
		}
	}
	return t, dynamic
}

// hasText reports whether one of the templates is of a kind.
func (t *tree) hasText(is func(*expression) bool) bool {
	if t.text != nil && is(t.text) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(t.list, t.members), func(below *tree) bool { return below.hasText(is) })
}

// refs lists the names in the templates.
func (t *tree) refs() (all []prompt.Ref) {
	if t.text != nil {
		all = t.text.refs()
	}
	for _, below := range slices.Concat(t.list, t.members) {
		all = append(all, below.refs()...)
	}
	return all
}

// namesOnly reports whether the templates name nothing but these.
func (t *tree) namesOnly(names ...string) bool {
	isOther := func(ref prompt.Ref) bool { return !slices.Contains(names, ref.Path[0]) }
	if t.text != nil && slices.ContainsFunc(t.text.refs(), isOther) {
		return false
	}
	isOpen := func(below *tree) bool { return !below.namesOnly(names...) }
	return !slices.ContainsFunc(t.list, isOpen) && !slices.ContainsFunc(t.members, isOpen)
}

// render returns the value with its templates rendered.
func (t *tree) render(ctx context.Context, scope prompt.Scope) (value.Value, error) {
	switch {
	case t.text != nil:
		return t.text.eval(ctx, scope)
	case t.list != nil:
		items := make([]value.Value, len(t.list))
		for i, item := range t.list {
			v, err := item.render(ctx, scope)
			if err != nil {
				return value.Value{}, err
			}
			items[i] = v
		}
		return value.OfList(items...), nil
	case t.members != nil:
		m := value.NewMap(len(t.members))
		for i, member := range t.members {
			v, err := member.render(ctx, scope)
			if err != nil {
				return value.Value{}, err
			}
			m.Set(t.keys[i], v)
		}
		return value.OfMap(m), nil
	}
	return t.literal, nil
}

// scope has the names of templates on an evidence; each is computed when it is first asked for.
type scope struct {
	ctx     context.Context //nolint:containedctx // lives for one evaluation
	of      *Evidence
	subject *subject
}

func newScope(ctx context.Context, e *Evidence, of *subject) *scope { return &scope{ctx, e, of} }

// Lookup returns the value of a name.
func (s *scope) Lookup(name string) (value.Value, bool, error) {
	switch name {
	case nameOutputs:
		return s.of.Record.Outputs, !s.of.Record.Outputs.IsNull(), nil
	case nameSteps:
		return stepOutputs(s.of.Record), true, nil
	case nameRow:
		return s.of.Row, !s.of.Row.IsNull(), nil
	case nameInputs:
		return s.of.Inputs, !s.of.Inputs.IsNull(), nil
	case nameRun:
		return runValue(s.of), true, nil
	case nameValue:
		if s.subject == nil || s.subject.kind == noSubject {
			return value.Value{}, false, nil
		}
		return s.subject.asValue(), true, nil
	case namePrompt:
		if s.subject == nil || s.subject.kind != promptSubject {
			return value.Value{}, false, nil
		}
		return promptValue(s.subject.lastPrompt()), true, nil
	}
	return value.Value{}, false, nil
}

// IsAbsent reports that members of names that have no value are undefined too, so that default works.
func (s *scope) IsAbsent(name string) bool { return slices.Contains(templateNames(), name) }

// notBooleanText returns the message for a when that is not a boolean: as in Python, any text would be true, "false" as well.
func notBooleanText(v value.Value) (message, hint wording.Text) {
	return wording.Say("when must be true or false, not %s", value.Truncate(v.JSON(), maxShown)),
		wording.Say("compare it with something: when: \"{{ row.kind == 'long' }}\"")
}
