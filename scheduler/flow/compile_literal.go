package flow

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow/internal/yamltext"
)

// exprTag marks a text that is an expression, wherever a value may stand.
const exprTag = "!expr"

// compileLiteral compiles the value of a parameter that the call takes as it is written:
// nothing in it is a template, only !expr computes.
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

// literalParam reads a node as data; file is the path of a !file. What cannot be read leads to no
// further problem.
func (u *unit) literalParam(n *yaml.Node, pos Position, file string) *Param {
	v, ok := u.readWholeLiteral(n)
	if !ok {
		return unknownParam(pos)
	}
	return &Param{Pos: pos, File: file, Literal: v}
}

// readWholeLiteral is readLiteral; v is null and ok false where a part cannot be read, which is reported.
func (u *unit) readWholeLiteral(n *yaml.Node) (v value.Value, ok bool) {
	before := len(u.problems)
	v = u.readLiteral(n)
	if len(u.problems) > before {
		return value.Value{}, false
	}
	return v, true
}

// hasExprTag reports whether an expression stands in a node or below, outside of !raw.
func hasExprTag(n *yaml.Node) bool {
	n = yaml.Resolve(n)
	if tag := ownTag(n); tag != "" {
		return tag == exprTag
	}
	return slices.ContainsFunc(n.Content, hasExprTag)
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

// parseFile reads data by the file's extension; what is not JSON, JSONC or YAML is
// text. Errors begin with line and column.
func parseFile(path string, content []byte) (value.Value, error) {
	if len(content) > yaml.MaxBytes {
		return value.Value{}, wording.Errorf("1:1: the file has more than %d bytes", yaml.MaxBytes)
	}
	switch dataType(path) {
	case ".json", ".jsonc":
		doc, err := jsonc.Parse(content)
		if err != nil {
			return value.Value{}, err
		}
		return doc.Value, nil
	case ".yaml", ".yml":
		return yaml.ParseValue(content)
	}
	if i := invalidUTF8(content); i >= 0 {
		line, col := value.LineCol(string(content), i)
		return value.Value{}, wording.Errorf("%d:%d: the text is not UTF-8 here", line, col)
	}
	return value.OfString(strings.TrimPrefix(string(content), string(yamltext.ByteOrderMark))), nil
}
