// Package pongo2tree is the only door to pongo2, which parses and walks the tree of statements and
// has filters that Jinja2 does not have, for example add ([ApplyFilter]).
// Package syntax writes a tree with a [Builder], package prompt has it parsed, and package eval runs
// it as a [Runner]. It knows neither expressions nor values.
package pongo2tree

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
// The compiler hands pongo2 a template of tags like {% __for 3 %} only, in which 3 is the number of a compiled
// statement: no text, no expression and no name of a user's template ever reaches it. The tags are registered
// under names that begin with two underscores, which no template can use.

// blockTags are the tags of statements with a body, with the tags that divide and end it.
var blockTags = map[string][]string{
	TagIf:       {TagElif, TagElse, TagEnd},
	TagFor:      {TagElse, TagEnd},
	TagMacro:    {TagEnd},
	TagCall:     {TagEnd},
	TagFilter:   {TagEnd},
	TagSetBlock: {TagEnd},
	TagWith:     {TagEnd},
}

// The tags.
const (
	TagRoot     = "__template"
	TagOut      = "__out"
	TagSet      = "__set"
	TagIf       = "__if"
	TagElif     = "__elif"
	TagElse     = "__else"
	TagFor      = "__for"
	TagMacro    = "__macro"
	TagCall     = "__call"
	TagFilter   = "__filter"
	TagSetBlock = "__setblock"
	TagWith     = "__with"
	TagEnd      = "__end"
)

// registerTags adds the tags to pongo2's registry, which is global and unlocked: it
// must happen once, and before anything is parsed.
var registerTags = sync.OnceValue(func() error {
	tags := map[string]pongo2.TagParser{
		TagRoot: parseRoot,
		TagOut:  parseSimpleTag(func(r Runner, n int) error { return r.WriteOutput(n) }),
		TagSet:  parseSimpleTag(func(r Runner, n int) error { return r.RunStatement(n, nil) }),
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

// Tree is a parsed tree of statements. It is immutable.
type Tree struct{ root *pongo2.Template }

// ParseTree has pongo2 parse the tree of statements that a builder wrote.
func ParseTree(text string) (*Tree, error) {
	if err := registerTags(); err != nil {
		return nil, err
	}
	// A set of its own per template: FromString writes to the set.
	set := pongo2.NewSet("prompt", noFiles{})
	root, err := set.FromString("{% " + TagRoot + " %}" + text + "{% " + TagEnd + " %}")
	return &Tree{root}, err
}

// Runner runs the statements that the tags of a tree name.
type Runner interface {
	// WriteOutput writes a piece of a template without statements, by its number.
	WriteOutput(n int) error
	// RunStatement runs a statement, by its number, with its bodies.
	RunStatement(n int, bodies []Body) error
}

// Body is a part of a statement's body, between its tags.
type Body struct{ nodes *pongo2.NodeWrapper }

// Execution is one walk through a tree. The zero value is ready for [Tree.Run]; one goroutine
// uses it.
type Execution struct {
	runner Runner
	ctx    *pongo2.ExecutionContext
	err    error // the error that stopped it
}

// executionKey is the key of the execution in pongo2's context.
const executionKey = "execution"

// errStopped makes pongo2 stop; the error itself is in the execution.
var errStopped = &pongo2.Error{Sender: "prompt", OrigError: wording.Errorf("the template failed")}

// Run walks through the tree, and has r run the statement of each tag.
func (t *Tree) Run(x *Execution, r Runner) error {
	x.runner = r
	err := t.root.ExecuteWriterUnbuffered(pongo2.Context{executionKey: x}, io.Discard)
	if x.err != nil {
		return x.err
	}
	return err
}

// RunBody runs a part of a statement's body.
func (x *Execution) RunBody(b Body) error {
	if b.nodes.Execute(x.ctx, x) == nil {
		return nil
	}
	err := x.err
	x.err = nil
	return err
}

// rootTag finds the execution in the context and passes it on as the writer, so that no other tag needs to search
// for it.
type rootTag struct{ body *pongo2.NodeWrapper }

func parseRoot(doc *pongo2.Parser, _ *pongo2.Token, _ *pongo2.Parser) (pongo2.INodeTag, *pongo2.Error) {
	body, _, err := doc.WrapUntilTag(TagEnd)
	return &rootTag{body}, err
}

// Execute runs the template.
func (t *rootTag) Execute(ctx *pongo2.ExecutionContext, _ pongo2.TemplateWriter) *pongo2.Error {
	x, ok := ctx.Public[executionKey].(*Execution)
	if !ok {
		return ctx.Error("no execution", nil)
	}
	x.ctx = ctx
	return t.body.Execute(ctx, x)
}

// WriteString makes the execution a writer for pongo2, which has nothing to write.
func (x *Execution) WriteString(s string) (int, error) { return len(s), nil }

// Write is WriteString of bytes.
func (x *Execution) Write(b []byte) (int, error) { return len(b), nil }

// statementTag is a statement in pongo2's tree.
type statementTag struct {
	n      int
	bodies []Body
	leaf   func(r Runner, n int) error
}

// Execute runs the statement.
func (t *statementTag) Execute(_ *pongo2.ExecutionContext, w pongo2.TemplateWriter) *pongo2.Error {
	x, ok := w.(*Execution)
	if !ok {
		return errStopped
	}
	var err error
	if t.leaf != nil {
		err = t.leaf(x.runner, t.n)
	} else {
		err = x.runner.RunStatement(t.n, t.bodies)
	}
	if err != nil {
		x.err = err
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

func parseSimpleTag(exec func(r Runner, n int) error) pongo2.TagParser {
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
			nodes, _, err := doc.WrapUntilTag(ends...)
			if err != nil {
				return nil, err
			}
			t.bodies = append(t.bodies, Body{nodes})
			if nodes.Endtag == TagEnd {
				return t, nil
			}
		}
	}
}

// Builder writes a tree of statements for pongo2.
type Builder struct{ strings.Builder }

// WriteTag adds a tag with the numbers of its statement.
func (w *Builder) WriteTag(name string, n ...int) {
	w.WriteString("{% " + name)
	for _, i := range n {
		w.WriteString(" " + strconv.Itoa(i))
	}
	w.WriteString(" %}")
}
