package prompt

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/flosch/pongo2/v6"

	"github.com/callnode/scheduler/llm/value/wording"
)

// pongo2 parses and walks the tree of statements, and nothing else. It stays because
// it was chosen for this project and does this part well: nesting, ends of blocks,
// one immutable tree that many goroutines run at once. Everything a prompt's author
// sees is done here, because pongo2's own lexer, expressions, filters and loaders
// differ from Jinja2 silently, read files, and can crash the process.
//
// The compiler hands pongo2 a template of tags like {% __for 3 %} only, where 3 is
// the number of a compiled statement: no text, no expression and no name of a user's
// template ever reaches it. The tags are registered under names that begin with two
// underscores, which no template can use.

// Tags of statements with a body, with the tags that divide and end it.
var blockTags = map[string][]string{
	tagIf:       {tagElif, tagElse, tagEnd},
	tagFor:      {tagElse, tagEnd},
	tagMacro:    {tagEnd},
	tagCall:     {tagEnd},
	tagFilter:   {tagEnd},
	tagSetBlock: {tagEnd},
	tagWith:     {tagEnd},
}

const (
	tagRoot     = "__template"
	tagOut      = "__out"
	tagSet      = "__set"
	tagIf       = "__if"
	tagElif     = "__elif"
	tagElse     = "__else"
	tagFor      = "__for"
	tagMacro    = "__macro"
	tagCall     = "__call"
	tagFilter   = "__filter"
	tagSetBlock = "__setblock"
	tagWith     = "__with"
	tagEnd      = "__end"
)

// registerTags adds the tags to pongo2's registry, which is global and unlocked: it
// must happen once, and before anything is parsed.
var registerTags = sync.OnceValue(func() error {
	tags := map[string]pongo2.TagParser{
		tagRoot: parseRoot,
		tagOut:  parseSimpleTag(func(m *evaluator, n int) error { return m.writeSegments(m.prog.runs[n]) }),
		tagSet:  parseSimpleTag(func(m *evaluator, n int) error { return m.exec(m.prog.stmts[n], nil) }),
	}
	for name, ends := range blockTags {
		tags[name] = parseBlockTag(ends)
	}
	var errs []error
	for name, parse := range tags {
		errs = append(errs, pongo2.RegisterTag(name, parse))
	}
	return errors.Join(errs...)
})

// noFiles is a loader that has no files.
type noFiles struct{}

func (noFiles) Abs(_, name string) string { return name }

func (noFiles) Get(path string) (io.Reader, error) {
	return nil, wording.Errorf("templates read no files: %s", path)
}

// parseTree has pongo2 parse the tree of statements.
func parseTree(tree string) (*pongo2.Template, error) {
	if err := registerTags(); err != nil {
		return nil, err
	}
	// A set of its own per template: FromString writes to the set.
	set := pongo2.NewSet("prompt", noFiles{})
	return set.FromString("{% " + tagRoot + " %}" + tree + "{% " + tagEnd + " %}")
}

// machineKey is where pongo2's context holds the machine.
const machineKey = "machine"

// errStopped tells pongo2 to stop; the error itself is in the evaluator.
var errStopped = &pongo2.Error{Sender: "prompt", OrigError: wording.Errorf("the template failed")}

// runTree executes a structure.
func (m *evaluator) runTree(t *pongo2.Template) error {
	err := t.ExecuteWriterUnbuffered(pongo2.Context{machineKey: m}, io.Discard)
	if m.err != nil {
		return m.err
	}
	return err
}

// rootTag finds the machine in the context and passes it on as the writer, so
// that no other tag has to look for it.
type rootTag struct{ body *pongo2.NodeWrapper }

func parseRoot(doc *pongo2.Parser, _ *pongo2.Token, _ *pongo2.Parser) (pongo2.INodeTag, *pongo2.Error) {
	body, _, err := doc.WrapUntilTag(tagEnd)
	return &rootTag{body}, err
}

// Execute runs the template.
func (t *rootTag) Execute(ctx *pongo2.ExecutionContext, _ pongo2.TemplateWriter) *pongo2.Error {
	m, ok := ctx.Public[machineKey].(*evaluator)
	if !ok {
		return ctx.Error("no machine", nil)
	}
	m.pctx = ctx
	return t.body.Execute(ctx, m)
}

// WriteString makes the machine a writer for pongo2, which has nothing to write.
func (m *evaluator) WriteString(s string) (int, error) { return len(s), m.writeText(s) }

func (m *evaluator) Write(b []byte) (int, error) { return m.WriteString(string(b)) }

// statementTag is a statement in pongo2's tree.
type statementTag struct {
	n      int
	bodies []*pongo2.NodeWrapper
	leaf   func(m *evaluator, n int) error
}

// Execute runs the statement.
func (t *statementTag) Execute(_ *pongo2.ExecutionContext, w pongo2.TemplateWriter) *pongo2.Error {
	m, ok := w.(*evaluator)
	if !ok {
		return errStopped
	}
	var err error
	if t.leaf != nil {
		err = t.leaf(m, t.n)
	} else {
		err = m.exec(m.prog.stmts[t.n], t.bodies)
	}
	if err != nil {
		m.err = err
		return errStopped
	}
	return nil
}

func tagNumber(args *pongo2.Parser) (int, *pongo2.Error) {
	t := args.MatchType(pongo2.TokenNumber)
	if t == nil {
		return 0, args.Error("expected the number of a statement", nil)
	}
	n, err := strconv.Atoi(t.Val)
	if err != nil {
		return 0, args.Error(err.Error(), t)
	}
	return n, nil
}

func parseSimpleTag(exec func(m *evaluator, n int) error) pongo2.TagParser {
	return func(_ *pongo2.Parser, _ *pongo2.Token, args *pongo2.Parser) (pongo2.INodeTag, *pongo2.Error) {
		n, err := tagNumber(args)
		return &statementTag{n: n, leaf: exec}, err
	}
}

func parseBlockTag(ends []string) pongo2.TagParser {
	return func(doc *pongo2.Parser, _ *pongo2.Token, args *pongo2.Parser) (pongo2.INodeTag, *pongo2.Error) {
		n, err := tagNumber(args)
		if err != nil {
			return nil, err
		}
		t := &statementTag{n: n}
		for {
			body, _, err := doc.WrapUntilTag(ends...)
			if err != nil {
				return nil, err
			}
			t.bodies = append(t.bodies, body)
			if body.Endtag == tagEnd {
				return t, nil
			}
		}
	}
}

// runBody runs one part of a statement's body.
func (m *evaluator) runBody(b *pongo2.NodeWrapper) error {
	if b.Execute(m.pctx, m) != nil {
		return m.err
	}
	return nil
}

// writeText appends to the output.
func (m *evaluator) writeText(s string) error {
	if len(m.out)+len(s) > maxBytes {
		return errorf(Limit, "a text of more than %d bytes", maxBytes)
	}
	m.out = append(m.out, s...)
	return m.countSteps(len(s) >> 8)
}

// captureOutput runs f and returns the text that it wrote.
func (m *evaluator) captureOutput(f func() error) (val, error) {
	out, parts, touched := m.out, m.parts, m.touched
	m.out, m.parts, m.touched = nil, nil, nil
	err := f()
	text := m.joinedText(string(m.out), m.parts)
	m.out, m.parts, m.touched = out, parts, touched
	m.touch(text.origin())
	return text, err
}

// treeWriter writes the structure for pongo2.
type treeWriter struct{ strings.Builder }

func (w *treeWriter) writeTag(name string, n ...int) {
	w.WriteString("{% " + name)
	for _, i := range n {
		w.WriteString(" " + strconv.Itoa(i))
	}
	w.WriteString(" %}")
}
