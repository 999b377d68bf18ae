// Package prompt is the template language of flows and prompts, and the only
// door to pongo2: Jinja2's expressions, parsed and evaluated here with typed
// values and strict undefined names, inside pongo2's statement structure.
//
// Text, expressions, filters, tests, macros, loops and white space behave as in
// Jinja2 3.1 with StrictUndefined in its immutable sandbox, but for this:
//   - tojson is Hugging Face's: no HTML escapes, other scripts as they are, keys in
//     their order.
//   - Nothing reads files: include, import, from and extends are refused. There is
//     no random, lipsum or urlize.
//   - Unknown filters, tests and tags are errors when a template is parsed, also
//     where it is never reached.
//   - An undefined value inside of a list that is printed is an error.
//   - {{ x | join:", " }}, as pongo2 and Django have it, is a filter's argument too.
//   - Size, nesting, steps and output are bounded: see limits.go.
//
// A value is never parsed as a template, whatever is in it.
package prompt

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Source is the text of a template and where it stands.
type Source struct {
	// File is the name of the file for messages; "" where there is none.
	File string
	// Text is the template.
	Text string
	// At gives the line and column in File of a byte offset in Text. nil counts
	// lines and columns in Text itself.
	At func(offset int) (line, col int)
}

// Scope gives the values of names. Lookups happen while a template renders, and
// only for names that it mentions. It is used from one goroutine at a time.
type Scope interface {
	// Lookup is the value of a name. ok is false where the name is undefined; an
	// error ends the rendering.
	Lookup(name string) (v value.Value, ok bool, err error)
}

// LenientScope is a Scope of which some undefined names may be asked for members: a
// member of such a name is undefined again, where Jinja2 fails. So {{ step.text |
// default("") }} works when the step was skipped. Used, it is an error all the
// same.
type LenientScope interface {
	Scope
	// IsAbsent reports whether the undefined name is such a one.
	IsAbsent(name string) bool
}

// Values is a Scope of known values: the members of an object.
type Values struct{ Map *value.Map }

// Lookup finds a member; a name that is none is no error.
func (v Values) Lookup(name string) (value.Value, bool, error) {
	x, ok := v.Map.Get(name)
	return x, ok, nil
}

// Ref is a place where a template mentions a name that it does not define
// itself.
type Ref struct {
	// Path is the name and the constant members after it: recall.memories[0].id is
	// [recall memories 0 id].
	Path []string
	// Offset is where it begins in the source.
	Offset int
	// Guarded says that the expression gives it a default, or asks whether it is
	// defined.
	Guarded bool
	// Method is where in Path a member after a dot has the name of a method of dicts
	// and is not called: it is that method, never the key. 0 where there is none.
	Method int
}

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr struct {
	src   Source
	root  node
	path  []string // where the expression is a reference
	slots int
	refs  []Ref
}

// ParseExpr compiles an expression without its braces. funcs are functions that
// it may call beside the built-in ones; nil is none. Errors are of type *[Error].
func ParseExpr(src Source, funcs map[string]Func) (*Expr, error) {
	if len(src.Text) > maxSource {
		return nil, src.locate(sourceTooLong())
	}
	toks, _, _, err := lexExpr(src.Text, 0, "")
	if err != nil {
		return nil, src.locate(err)
	}
	names := newSlots()
	p := &parser{toks: toks, slots: names, funcs: funcs}
	root, err := p.parseWhole()
	if err != nil {
		return nil, src.locate(err)
	}
	e := &Expr{src: src, root: root, slots: len(names.names)}
	if path, ok := constPath(root); ok {
		e.path = path
	}
	var r refCollector
	r.addExpr(root)
	e.refs = r.list
	return e, nil
}

func sourceTooLong() error { return limitAt(0, "a template of more than %d bytes", maxSource) }

// Eval gives the typed value. An undefined name is an error, but for the forms
// of Jinja2 that allow it.
func (e *Expr) Eval(ctx context.Context, scope Scope) (value.Value, error) {
	m := newEvaluator(ctx, scope, e.slots)
	defer m.release()
	v, err := e.root.eval(m)
	if err != nil {
		return value.Value{}, e.src.locate(err)
	}
	if v.x == nil {
		return v.v, nil
	}
	out, err := m.exportValue(v)
	if err != nil {
		return value.Value{}, e.src.locate(withPosition(err, e.root.pos()))
	}
	return out, nil
}

// Path is the reference that the whole expression is, if it is nothing else: a
// name with constant members.
func (e *Expr) Path() ([]string, bool) { return e.path, e.path != nil }

// Refs lists the outer names that the expression mentions, in order.
func (e *Expr) Refs() []Ref { return e.refs }

// SingleExpr reports whether text is one {{ expression }} with nothing but white space
// around it, and gives the expression and its offset in text.
func SingleExpr(text string) (expr string, offset int, ok bool) {
	trimmed := strings.TrimSpace(text)
	if len(text) > maxSource || !strings.HasPrefix(trimmed, "{{") {
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

// HasTags reports whether text has anything of a template in it: {{, {% or {#.
func HasTags(text string) bool {
	for i := strings.IndexByte(text, '{'); i >= 0 && i+1 < len(text); {
		switch text[i+1] {
		case '{', '%', '#':
			return true
		}
		n := strings.IndexByte(text[i+1:], '{')
		if n < 0 {
			return false
		}
		i += 1 + n
	}
	return false
}
