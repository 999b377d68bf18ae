// Package syntax reads texts: the lexer, the parser of Jinja2's expressions and the compiler of
// statements, which make a program (package ast), its tree of statements (package pongo2tree) and its
// references (package refs). Package prompt calls it. Its errors have offsets, no lines and columns
// yet. It does not evaluate: for example, {{ 1 / 0 }} compiles without an error.
package syntax

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/refs"
)

// CompiledTemplate is a compiled template.
type CompiledTemplate struct {
	Prog  *ast.Program
	Tree  string // of its statements, for pongo2; "" if it has none
	Slots int
	Refs  []refs.Ref
}

// CompileText compiles the text of a template.
func CompileText(text string, opts Options) (*CompiledTemplate, error) {
	if len(text) > fault.MaxSource {
		return nil, sourceTooLong()
	}
	c := newCompiler(text, opts)
	if err := c.compileTemplate(); err != nil {
		return nil, err
	}
	c.refs.Assigned.MarkPrinted(c.refs.List)
	made := &CompiledTemplate{Prog: c.prog, Slots: len(c.slots.Names), Refs: c.refs.List}
	if len(c.prog.Stmts) > 0 {
		made.Tree = c.tree.String()
	}
	return made, nil
}

// CheckText returns all errors for which [CompileText] refuses a text instead of the first: every tag is read by
// itself if the ones before allow it. refs are the outer names that the correct ones mention.
func CheckText(text string, opts Options) (refs []refs.Ref, errs []error) {
	if len(text) > fault.MaxSource {
		return nil, []error{sourceTooLong()}
	}
	c := newCompiler(text, opts)
	c.faults = &errorCollector{refs: -1}
	if err := c.compileTemplate(); err != nil {
		c.faults.list = append(c.faults.list, err)
	}
	refs = c.refs.List
	if c.faults.refs >= 0 {
		refs = refs[:c.faults.refs]
	}
	return refs, c.faults.list
}

// CompiledExpr is a compiled expression.
type CompiledExpr struct {
	Root  ast.Node
	Path  []string // if it is a reference
	Slots int
	Refs  []refs.Ref
}

// CompileExpr compiles an expression without its braces, which may call funcs.
func CompileExpr(text string, funcs map[string]pyvalue.Func) (*CompiledExpr, error) {
	if len(text) > fault.MaxSource {
		return nil, sourceTooLong()
	}
	toks, _, _, err := lexExpr(text, 0, "")
	if err != nil {
		return nil, err
	}
	names := ast.NewSlots()
	p := &parser{toks: toks, slots: names, funcs: funcs}
	root, err := p.parseWhole()
	if err != nil {
		return nil, err
	}
	made := &CompiledExpr{Root: root, Slots: len(names.Names)}
	if path, ok := ast.ConstPath(root); ok {
		made.Path = path
	}
	var r refs.RefCollector
	r.AddExpr(root)
	made.Refs = r.List
	return made, nil
}

// CutExpr returns the expression, and its offset in text, of a text that is one
// {{ expression }} with nothing but white space around it.
func CutExpr(text string) (expr string, offset int, ok bool) {
	trimmed := strings.TrimSpace(text)
	if len(text) > fault.MaxSource || !strings.HasPrefix(trimmed, "{{") {
		return "", 0, false
	}
	offset = strings.Index(text, "{{") + 2
	if offset < len(text) && text[offset] == '-' {
		offset++
	}
	toks, next, _, err := lexExpr(text, offset, "}}")
	if err != nil || strings.TrimSpace(text[next:]) != "" {
		return "", 0, false
	}
	return text[offset:toks[len(toks)-1].off], offset, true
}

func sourceTooLong() error {
	return fault.LimitAt(0, "a template of more than %d bytes", fault.MaxSource)
}
