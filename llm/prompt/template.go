package prompt

import (
	"context"

	"github.com/flosch/pongo2/v6"
)

// Template is a compiled template, made by [Parse]. It is immutable and safe for
// concurrent use, for as long as its user likes.
type Template struct {
	src   Source
	prog  *program
	tree  *pongo2.Template // nil where the template has no statements
	slots int
	refs  []Ref
}

// Parse compiles a template. Errors are of type *[Error].
func Parse(src Source) (*Template, error) { return ParseWith(src, Options{}) }

// ParseWith compiles a template in another dialect. Errors are of type *[Error].
func ParseWith(src Source, opts Options) (*Template, error) {
	if len(src.Text) > maxSource {
		return nil, src.locate(sourceTooLong())
	}
	c := newCompiler(src.Text, opts)
	if err := c.compileTemplate(); err != nil {
		return nil, src.locate(err)
	}
	t := &Template{src: src, prog: c.prog, slots: len(c.slots.names), refs: c.refs.list}
	if len(c.prog.stmts) == 0 {
		return t, nil
	}
	var err error
	if t.tree, err = parseTree(c.tree.String()); err != nil {
		return nil, src.locate(err)
	}
	return t, nil
}

// Render returns the text that the template makes of the names in scope. Errors are
// of type *[Error].
func (t *Template) Render(ctx context.Context, scope Scope) (string, error) {
	text, _, err := t.run(ctx, scope, false)
	return text, err
}

func (t *Template) run(ctx context.Context, scope Scope, trace bool) (string, []Span, error) {
	m := newEvaluator(ctx, scope, t.slots)
	defer m.release()
	m.trace, m.prog = trace, t.prog
	m.frame = &frame{}
	m.root = m.frame
	var err error
	if t.tree != nil {
		err = m.runTree(t.tree)
	} else if len(t.prog.runs) > 0 {
		err = t.prog.runs[0].writeSegments(m)
	}
	if err != nil {
		return "", nil, t.src.locate(err)
	}
	if !trace {
		return string(m.out), nil, nil
	}
	return string(m.out), spans(m.parts, 0, 0), nil
}

// Source returns the source that the template was parsed from.
func (t *Template) Source() Source { return t.src }

// Refs lists the outer names that the template mentions, in order.
func (t *Template) Refs() []Ref { return t.refs }
