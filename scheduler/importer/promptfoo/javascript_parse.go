package promptfoo

import (
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The kinds of nodes.
const (
	scriptString = iota
	scriptNumber
	scriptName
	scriptRegex
	scriptMember // text of args[0]
	scriptIndex  // args[0][args[1]]
	scriptCall   // args[0](args[1:])
	scriptNot
	scriptTypeof
	scriptBinary  // args[0] text args[1]
	scriptTernary // args[0] ? args[1] : args[2]
)

// scriptNode is a part of an expression of JavaScript.
type scriptNode struct {
	kind int
	text string
	args []*scriptNode
}

// maxScriptDepth is how deep expressions may be nested.
const maxScriptDepth = 100

// scriptParser reads an expression of the part of JavaScript that conditions are written in.
type scriptParser struct {
	rest  string
	depth int
}

// parseScript reads one expression that takes the whole text.
func parseScript(code string) (*scriptNode, error) {
	p := &scriptParser{rest: code}
	n, err := p.parseTernary()
	if err != nil {
		return nil, err
	}
	if p.skipSpace(); p.rest != "" {
		return nil, errNoEqual
	}
	return n, nil
}

func (p *scriptParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take takes one of the texts from the front; "" if none of them is there.
func (p *scriptParser) take(texts ...string) string {
	p.skipSpace()
	for _, text := range texts {
		if strings.HasPrefix(p.rest, text) {
			p.rest = p.rest[len(text):]
			return text
		}
	}
	return ""
}

// levels are the operators by how strongly they bind, the weakest first. Those that begin with
// others come before them.
var levels = [][]string{{"||"}, {"&&"}, {"===", "!==", "==", "!="}, {">=", "<=", ">", "<"}, {"-"}, {"*", "/", "%"}}

// parseTernary reads an expression: a condition with two values, or a value.
func (p *scriptParser) parseTernary() (*scriptNode, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxScriptDepth {
		return nil, errNoEqual
	}
	condition, err := p.parseBinary(0)
	if err != nil || p.take("?") == "" {
		return condition, err
	}
	then, err := p.parseTernary()
	if err != nil || p.take(":") == "" {
		return nil, errNoEqual
	}
	otherwise, err := p.parseTernary()
	if err != nil {
		return nil, err
	}
	return &scriptNode{kind: scriptTernary, args: []*scriptNode{condition, then, otherwise}}, nil
}

func (p *scriptParser) parseBinary(level int) (*scriptNode, error) {
	if level == len(levels) {
		return p.parseUnary()
	}
	left, err := p.parseBinary(level + 1)
	for err == nil {
		op := p.take(levels[level]...)
		if op == "" {
			return left, nil
		}
		var right *scriptNode
		right, err = p.parseBinary(level + 1)
		left = &scriptNode{kind: scriptBinary, text: op, args: []*scriptNode{left, right}}
	}
	return nil, err
}

func (p *scriptParser) parseUnary() (*scriptNode, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxScriptDepth {
		return nil, errNoEqual
	}
	kind := scriptNot
	if p.take("!") == "" {
		if p.take("typeof ") == "" {
			return p.parsePostfix()
		}
		kind = scriptTypeof
	}
	inner, err := p.parseUnary()
	if err != nil {
		return nil, err
	}
	return &scriptNode{kind: kind, args: []*scriptNode{inner}}, nil
}

func (p *scriptParser) parsePostfix() (*scriptNode, error) {
	n, err := p.parsePrimary()
	for err == nil {
		switch p.take("?.", ".", "[", "(") {
		case ".":
			p.skipSpace()
			name := scriptIdentifier.FindString(p.rest)
			if name == "" {
				return nil, errNoEqual
			}
			p.rest = p.rest[len(name):]
			n = &scriptNode{kind: scriptMember, text: name, args: []*scriptNode{n}}
		case "[":
			var index *scriptNode
			index, err = p.parseTernary()
			if err == nil && p.take("]") == "" {
				err = errNoEqual
			}
			n = &scriptNode{kind: scriptIndex, args: []*scriptNode{n, index}}
		case "(":
			n, err = p.parseArguments(n)
		case "?.": // a missing value gives undefined there, and is an error here
			return nil, errNoEqual
		default:
			return n, nil
		}
	}
	return nil, err
}

// parseArguments reads the arguments of a call, behind its parenthesis.
func (p *scriptParser) parseArguments(of *scriptNode) (*scriptNode, error) {
	call := &scriptNode{kind: scriptCall, args: []*scriptNode{of}}
	for p.take(")") == "" {
		if len(call.args) > 1 && p.take(",") == "" {
			return nil, errNoEqual
		}
		arg, err := p.parseTernary()
		if err != nil {
			return nil, err
		}
		call.args = append(call.args, arg)
	}
	return call, nil
}

var (
	scriptIdentifier = regexp.MustCompile(`^[A-Za-z_$][\w$]*`)
	scriptNumeral    = regexp.MustCompile(`^\d+(\.\d+)?`)
	scriptPattern    = regexp.MustCompile(`^/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*`)
	scriptQuoted     = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|^` + "`[^`\\\\$]*`")
)

func (p *scriptParser) parsePrimary() (*scriptNode, error) {
	if p.take("(") != "" {
		n, err := p.parseTernary()
		if err == nil && p.take(")") == "" {
			err = errNoEqual
		}
		return n, err
	}
	for _, token := range []struct {
		pattern *regexp.Regexp
		kind    int
	}{{scriptQuoted, scriptString}, {scriptNumeral, scriptNumber}, {scriptIdentifier, scriptName}, {scriptPattern, scriptRegex}} {
		text := token.pattern.FindString(p.rest)
		if text == "" {
			continue
		}
		p.rest = p.rest[len(text):]
		if token.kind == scriptString {
			var ok bool
			text, ok = unquote(text[1 : len(text)-1])
			if !ok {
				return nil, errNoEqual
			}
		}
		return &scriptNode{kind: token.kind, text: text}, nil
	}
	return nil, errNoEqual
}

// unquote returns the text between quotes; ok is false for escapes that are rare.
func unquote(text string) (plain string, ok bool) {
	plain = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, "'", "\\`", "`", `\/`, "/").Replace(text)
	return plain, !strings.Contains(strings.ReplaceAll(text, `\\`, ""), `\x`) && !strings.Contains(strings.ReplaceAll(text, `\\`, ""), `\u`)
}

// errNoEqual is the error of code that is more than a condition on the answer.
var errNoEqual = wording.Errorf("it is more than a condition on the answer")

// method takes a call of a method apart; on is nil if it is not such a call.
func (n *scriptNode) method() (on *scriptNode, name string, args []*scriptNode) {
	if n.kind != scriptCall || n.args[0].kind != scriptMember {
		return nil, "", nil
	}
	return n.args[0].args[0], n.args[0].text, n.args[1:]
}

// isBareOutput reports whether a node is the answer as it is.
func (n *scriptNode) isBareOutput() bool { return n.kind == scriptName && n.text == "output" }

// isOutput reports whether a node is the answer, as it is or without space around it.
func (n *scriptNode) isOutput() bool {
	on, name, _ := n.method()
	return n.isBareOutput() || on != nil && name == "trim" && on.isOutput()
}
