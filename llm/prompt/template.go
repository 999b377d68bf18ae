package prompt

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Template is a compiled template, made by [Parse]. It is immutable and safe for
// concurrent use, for as long as its user likes.
type Template struct {
	code templateCode
	refs []Ref
}

// Parse compiles a template. Errors are of type *[Error].
func Parse(src Source) (*Template, error) { return ParseWith(src, Options{}) }

// ParseWith compiles a template in another dialect. Errors are of type *[Error].
func ParseWith(src Source, opts Options) (*Template, error) {
	if len(src.Text) > maxSource {
		return nil, locate(&src, sourceTooLong())
	}
	c := newCompiler(src.Text, opts)
	if err := c.compileTemplate(); err != nil {
		return nil, locate(&src, err)
	}
	c.refs.assigned.markPrinted(c.refs.list)
	t := &Template{code: templateCode{src: src, prog: c.prog, slots: len(c.slots.names)}, refs: c.refs.list}
	if len(c.prog.stmts) == 0 {
		return t, nil
	}
	var err error
	t.code.tree, err = parseTree(c.tree.String())
	if err != nil {
		return nil, locate(&src, err)
	}
	return t, nil
}

// Render returns the text that the template makes of the names in scope. Errors are
// of type *[Error].
func (t *Template) Render(ctx context.Context, scope Scope) (string, error) {
	return t.code.Render(ctx, scope)
}

// RenderValue renders like [Template.Render]. In the text that it returns, what comes from
// secrets of a [SecretScope] is secret.
func (t *Template) RenderValue(ctx context.Context, scope Scope) (value.Value, error) {
	return t.code.RenderValue(ctx, scope)
}

// Trace renders like [Template.Render] and returns where every byte of the text
// comes from. It takes about twice the time; Render pays nothing for it. The secrets of a
// [SecretScope] are taken for masks in their place: what fails with a mask is a mask.
func (t *Template) Trace(ctx context.Context, scope Scope) (string, []Span, error) {
	return t.code.Trace(ctx, scope)
}

// Source returns the source that the template was parsed from.
func (t *Template) Source() Source { return t.code.src }

// Refs lists the outer names that the template mentions, in order.
func (t *Template) Refs() []Ref { return t.refs }

// maxFaults bounds how many errors [Check] lists.
const maxFaults = 20

// errorCollector are the errors of a template as far as they are found, with the names
// that it mentioned before it was broken.
type errorCollector struct {
	list []*Error
	refs int // how many of the compiler's are sure; -1 for all
}

// Check reports all that [Parse] refuses instead of the first error: every tag is
// read by itself where the ones before allow it. refs are the outer names that the
// correct ones mention. errs is nil exactly where Parse succeeds.
func Check(src Source) (refs []Ref, errs []*Error) { return CheckWith(src, Options{}) }

// CheckWith is [Check] for a template in another dialect.
func CheckWith(src Source, opts Options) (refs []Ref, errs []*Error) {
	if len(src.Text) > maxSource {
		return nil, []*Error{locatedError(&src, sourceTooLong())}
	}
	c := newCompiler(src.Text, opts)
	c.faults = &errorCollector{refs: -1}
	if err := c.compileTemplate(); err != nil {
		c.faults.list = append(c.faults.list, locatedError(&src, err))
	}
	for i, e := range c.faults.list {
		c.faults.list[i] = locatedError(&src, e)
	}
	refs = c.refs.list
	if c.faults.refs >= 0 {
		refs = refs[:c.faults.refs]
	}
	if len(c.faults.list) == 0 { // what the structure refuses is left
		t, err := ParseWith(src, opts)
		if err != nil {
			return refs, []*Error{locatedError(&src, err)}
		}
		return t.refs, nil
	}
	return refs, c.faults.list
}

// skipBrokenTag notes an error of the tag that begins before start, and reports whether
// the compiler can go on behind it.
func (c *compiler) skipBrokenTag(err error, kind byte, start int) bool {
	e, ok := err.(*Error) //nolint:errorlint // the package's own errors are never wrapped on their way up
	if c.faults == nil || len(c.faults.list) >= maxFaults-1 {
		return false
	}
	if !ok || e.Class == Limit || kind == '#' {
		return false
	}
	if c.pos < start { // not even its words could be read
		closer := "}}"
		if kind == '%' {
			closer = "%}"
		}
		if !hasCloser(c.src[start:], closer) {
			return false
		}
		c.pos, c.trim = start+strings.Index(c.src[start:], closer)+len(closer), false
	}
	if kind == '%' && !c.broken {
		c.broken, c.faults.refs = true, len(c.refs.list)
	}
	c.faults.list = append(c.faults.list, e)
	return true
}
