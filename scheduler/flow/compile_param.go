package flow

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// exprTag marks a text that is an expression, at any place of a value.
const exprTag = "!expr"

func (u *unit) compileOptional(k anyKey, uses *[]nameUse) *Param {
	if !k.isSet() {
		return nil
	}
	return u.compileParam(k.node, uses)
}

// setOrigin lets the places in a param be found.
func (u *unit) setOrigin(p *Param, k anyKey) {
	if p != nil {
		p.origin = &origin{text: u.flowText, root: yaml.Resolve(k.node), files: u.loading.files}
	}
}

// compileParam compiles a node: texts are templates, and a value without a template is one literal. The names that
// it mentions are added to uses.
func (u *unit) compileParam(n *yaml.Node, uses *[]nameUse) *Param {
	pos := u.positionOf(n)
	n = yaml.Resolve(n)
	switch {
	case ownTag(n) == exprTag:
		return u.compileExprTag(n, pos, uses)
	case ownTag(n) == "!file":
		return u.literalParam(n, pos, n.Value)
	case ownTag(n) != "":
		return u.literalParam(n, pos, "")
	case n.Kind == yaml.Sequence:
		return u.compileList(n, func(item *yaml.Node) *Param { return u.compileParam(item, uses) })
	case n.Kind == yaml.Mapping:
		if u.reportUnquoted(n) {
			return unknownParam(pos)
		}
		return u.compileMap(n, func(m member) *Param { return u.compileParam(m.node, uses) })
	case n.ShortTag() == "!!str":
		return u.compileTemplate(n, pos, uses)
	}
	return u.literalParam(n, pos, "")
}

// compileList compiles a sequence, each item by compile.
func (u *unit) compileList(n *yaml.Node, compile func(*yaml.Node) *Param) *Param {
	items, values := make([]*Param, len(n.Content)), make([]value.Value, len(n.Content))
	static := true
	for i, c := range n.Content {
		items[i] = compile(c)
		v, ok := items[i].Static()
		values[i], static = v, static && ok
	}
	if static {
		return &Param{Pos: u.positionOf(n), Literal: value.OfList(values...)}
	}
	return &Param{Pos: u.positionOf(n), List: items}
}

// compileMap compiles a mapping, each member by compile.
func (u *unit) compileMap(n *yaml.Node, compile func(member) *Param) *Param {
	p := &Param{Pos: u.positionOf(n)}
	static := true
	for _, m := range u.membersOf(n, "a map") {
		if prompt.HasTags(m.name) {
			u.warn(u.positionOf(m.key), "keys are not templates: %q is taken as written", m.name)
		}
		c := compile(m)
		_, ok := c.Static()
		static = static && ok
		p.Map = append(p.Map, Member{Key: m.name, Pos: u.positionOf(m.key), Param: c})
	}
	if !static {
		return p
	}
	literal := value.NewMap(len(p.Map))
	for _, m := range p.Map {
		literal.Set(m.Key, m.Literal)
	}
	return &Param{Pos: p.Pos, Literal: value.OfMap(literal)}
}

// compileTemplate compiles a text: as an expression when it is one, else as a template
// when anything in it is.
func (u *unit) compileTemplate(n *yaml.Node, pos Position, uses *[]nameUse) *Param {
	if !prompt.HasTags(n.Value) {
		return &Param{Pos: pos, Literal: value.OfString(n.Value)}
	}
	within := u.positionsWithin(n)
	u.checkDollar(n.Value, within)
	at := func(offset int) (line, col int) { p := within(offset); return p.Line, p.Col }
	if text, base, whole := prompt.SingleExpr(n.Value); whole {
		return u.compileExpr(n, pos, text, base, uses)
	}
	source := prompt.Source{File: u.file, Text: n.Value, At: at}
	t, err := prompt.Parse(source)
	if err != nil {
		refs, errs := prompt.Check(source) // the others are of interest too
		for _, ref := range refs {
			*uses = append(*uses, nameUse{Ref: ref, within: within, template: n})
		}
		for _, e := range errs {
			u.badTemplate(e, pos)
		}
		return unknownParam(pos)
	}
	for _, ref := range t.Refs() {
		*uses = append(*uses, nameUse{Ref: ref, within: within, template: n})
	}
	return &Param{Pos: pos, Text: t, source: n.Value}
}

// compileExprTag compiles !expr "EXPRESSION".
func (u *unit) compileExprTag(n *yaml.Node, pos Position, uses *[]nameUse) *Param {
	if n.Kind != yaml.Scalar {
		u.add(pos, "!expr wants an expression as a text, not %s", describeNode(n)).hint(`write !expr "step.text"`)
		return unknownParam(pos)
	}
	if text, _, whole := prompt.SingleExpr(n.Value); whole {
		u.add(pos, "!expr wants the expression without {{ and }}").hint("write !expr %q", strings.TrimSpace(text))
		return unknownParam(pos)
	}
	return u.compileExpr(n, pos, n.Value, 0, uses)
}

// checkDollar finds ${{ name }}, which is not an expression.
func (u *unit) checkDollar(text string, within func(int) Position) {
	p, ok := calls.LintDollar("", text)
	if !ok {
		return
	}
	message, hint := p.Text()
	found := u.add(within(p.Offset), "%s", message)
	found.Warning = p.Warning
	found.setHint(hint)
}

func (u *unit) badTemplate(err error, pos Position) *Param {
	var e *prompt.Error
	if !errors.As(err, &e) {
		u.add(pos, "%v", err)
		return unknownParam(pos)
	}
	if e.Line > 0 {
		pos.Line, pos.Col = e.Line, max(e.Col, 1)
	}
	message, hint := e.Text()
	u.add(pos, "template: %s", message).setHint(hint)
	return unknownParam(pos)
}

// unknownParam replaces a param that did not compile: nothing is known about it, so that it leads to no further
// problem.
func unknownParam(pos Position) *Param {
	e, err := prompt.ParseExpr(prompt.Source{Text: "inputs and inputs"}, nil)
	if err != nil {
		panic(err) // it is an expression
	}
	return &Param{Pos: pos, Expr: e, unknown: true}
}

// compileLiteral compiles the value of a parameter that the call takes literally: nothing in it is a template,
// only !expr computes.
func (u *unit) compileLiteral(n *yaml.Node, uses *[]nameUse) *Param {
	pos := u.positionOf(n)
	n = yaml.Resolve(n)
	if u.reportUnquoted(n) {
		return unknownParam(pos)
	}
	switch {
	case ownTag(n) == exprTag:
		return u.compileExprTag(n, pos, uses)
	case ownTag(n) == "!file":
		return u.literalParam(n, pos, n.Value)
	case ownTag(n) == "" && n.Kind == yaml.Sequence && hasExprTag(n):
		return u.compileList(n, func(item *yaml.Node) *Param { return u.compileLiteral(item, uses) })
	case ownTag(n) == "" && n.Kind == yaml.Mapping && hasExprTag(n):
		return u.compileMap(n, func(m member) *Param { return u.compileLiteral(m.node, uses) })
	}
	return u.literalParam(n, pos, "")
}

// literalParam reads a node as data; file is the path of a !file. A part that cannot be read leads to no further
// problem.
func (u *unit) literalParam(n *yaml.Node, pos Position, file string) *Param {
	v, ok := u.readWholeLiteral(n)
	if !ok {
		return unknownParam(pos)
	}
	return &Param{Pos: pos, File: file, Literal: v}
}

// readWholeLiteral is readLiteral; v is null and ok false if a part cannot be read, which is reported.
func (u *unit) readWholeLiteral(n *yaml.Node) (v value.Value, ok bool) {
	before := len(u.problems)
	v = u.readLiteral(n)
	if len(u.problems) > before {
		return value.Value{}, false
	}
	return v, true
}

// hasExprTag reports whether an expression is in a node or below, outside of !raw.
func hasExprTag(n *yaml.Node) bool {
	n = yaml.Resolve(n)
	if tag := ownTag(n); tag != "" {
		return tag == exprTag
	}
	return slices.ContainsFunc(n.Content, hasExprTag)
}

// readLiteral reads a node as data: nothing in it is a template, !file puts the
// content of a file in its place.
func (u *unit) readLiteral(n *yaml.Node) value.Value {
	n = yaml.Resolve(n)
	switch tag := ownTag(n); tag {
	case "":
	case "!raw":
		plain := *n
		plain.Tag, plain.Style = "", n.Style&^yaml.Tagged
		n = &plain
	case "!file":
		return u.fileValue(n)
	case exprTag:
		u.add(u.positionOf(n), "!expr cannot stand here: this is data that is known before the run").
			hint("!expr gives a value under with, when, for_each, outputs and memory, but not inside !raw")
		return value.Value{}
	default:
		u.add(u.positionOf(n), "the tag %s is not known", tag).
			hint("!expr \"EXPRESSION\" gives a value by an expression, !raw VALUE takes a value as it is written, !file PATH the content of a file")
		return value.Value{}
	}
	switch n.Kind {
	case yaml.Sequence:
		items := make([]value.Value, len(n.Content))
		for i, c := range n.Content {
			items[i] = u.readLiteral(c)
		}
		return value.OfList(items...)
	case yaml.Mapping:
		m := value.NewMap(len(n.Content) / 2)
		for _, member := range u.membersOf(n, "a map") {
			m.Set(member.name, u.readLiteral(member.node))
		}
		return value.OfMap(m)
	}
	v, err := yaml.Value(n)
	var fault *yaml.Error
	if errors.As(err, &fault) {
		message, _ := fault.Text()
		u.add(u.positionOf(n), "%s", message)
	}
	return v
}

// fileValue returns the content of the file that a !file node names.
func (u *unit) fileValue(n *yaml.Node) value.Value {
	path := n.Value
	if n.Kind != yaml.Scalar || path == "" || prompt.HasTags(path) {
		u.add(u.positionOf(n), "!file wants the path of a file, without templates")
		return value.Value{}
	}
	full, root, inside := u.resolvePath(path)
	if !inside {
		u.add(u.positionOf(n), "!file %s leads out of %s", path, root).hint("keep the file beside the flow, or in a folder below it")
		return value.Value{}
	}
	content, err := u.loading.readBeside(root, full)
	if err != nil {
		u.problems = append(u.problems, unreadableProblem(u.positionOf(n), path, err))
		return value.Value{}
	}
	v, err := parseFile(path, content)
	if err != nil {
		u.add(u.positionOf(n), "%s:%v", path, err)
	}
	return v
}

// parseFile reads data by the file's extension; anything but JSON, JSONC and YAML is text. Errors begin with line
// and column.
func parseFile(path string, content []byte) (value.Value, error) {
	if len(content) > yaml.MaxBytes {
		return value.Value{}, wording.Errorf("1:1: the file has more than %d bytes", yaml.MaxBytes)
	}
	return yaml.ParseFile(path, content)
}

// compileExpr compiles the expression at an offset in the text of a scalar.
func (u *unit) compileExpr(n *yaml.Node, pos Position, text string, base int, uses *[]nameUse) *Param {
	within := u.positionsWithin(n)
	e, err := prompt.ParseExpr(prompt.Source{
		File: u.file, Text: text,
		At: func(offset int) (line, col int) { p := within(base + offset); return p.Line, p.Col },
	}, nil)
	if err != nil {
		return u.badTemplate(err, pos)
	}
	for _, ref := range e.Refs() {
		ref.Offset += base
		*uses = append(*uses, nameUse{Ref: ref, within: within, template: n})
	}
	return &Param{Pos: pos, Expr: e, TextOffset: base, source: strings.TrimSpace(text)}
}
