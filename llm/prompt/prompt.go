// Package prompt is the template language of flows and prompts, and the only
// door to pongo2: Jinja2's expressions, parsed and evaluated here with typed
// values and strict undefined names, inside pongo2's statement structure.
package prompt

import (
	"context"

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

// Values is a Scope of known values: the members of an object.
type Values struct{ Map *value.Map }

// Lookup finds a member.
func (v Values) Lookup(name string) (value.Value, bool, error) {
	x, ok := v.Map.Get(name)
	return x, ok, nil
}

// Ref is a place where a template mentions a name that it does not define
// itself.
type Ref struct {
	// Path is the name and the constant members after it: recall.items[0].id is
	// [recall items 0 id].
	Path []string
	// Offset is where it begins in the source.
	Offset int
	// Guarded says that the expression gives it a default, or asks whether it is
	// defined.
	Guarded bool
}

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr struct{}

// Func is a function that the program offers to expressions.
type Func func(ctx context.Context, args []value.Value) (value.Value, error)

// ParseExpr compiles an expression without its braces. funcs are functions that
// it may call beside the built-in ones; nil is none. Errors are of type *[Error].
func ParseExpr(src Source, funcs map[string]Func) (*Expr, error) { panic("later") }

// Text is what a template prints for a value: strings as they are, the rest as
// Python does (True, None, 3.0, ['a']).
func Text(v value.Value) string { panic("later") }

// Whole says whether text is one {{ expression }} with nothing but white space
// around it, and gives the expression and its offset in text.
func Whole(text string) (expr string, offset int, ok bool) { panic("later") }

// Dynamic says whether text has anything of a template in it: {{, {% or {#.
func Dynamic(text string) bool { panic("later") }

// Eval gives the typed value. An undefined name is an error, but for the forms
// of Jinja2 that allow it.
func (e *Expr) Eval(ctx context.Context, scope Scope) (value.Value, error) { panic("later") }

// Path is the reference that the whole expression is, if it is nothing else: a
// name with constant members.
func (e *Expr) Path() ([]string, bool) { panic("later") }

// Refs lists the outer names that the expression mentions, in order.
func (e *Expr) Refs() []Ref { panic("later") }

// Truthy is Python's notion of truth: "", 0, empty lists and objects and null are
// false.
func Truthy(v value.Value) bool { panic("later") }

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct{}

// Parse compiles a template. Errors are of type *[Error].
func Parse(src Source) (*Template, error) { panic("later") }

// Render gives the text.
func (t *Template) Render(ctx context.Context, scope Scope) (string, error) { panic("later") }

// Piece is a part of a rendered text.
type Piece struct {
	Start, End int // bytes of the rendered text
	// Offset is where the piece comes from in the source.
	Offset int
	// Path is the reference that an expression is, when it is nothing else; nil for
	// the template's own text and for computed values.
	Path []string
	// Expr is the expression's source; "" for the template's own text.
	Expr string
}

// Trace renders like Render and tells where every piece of the text comes from.
// The pieces are in order and cover the text without gaps.
func (t *Template) Trace(ctx context.Context, scope Scope) (string, []Piece, error) { panic("later") }

// Refs lists the outer names that the template mentions, in order.
func (t *Template) Refs() []Ref { panic("later") }

// Class sorts errors as Jinja2's exceptions are sorted.
type Class string

// The classes of errors.
const (
	Undefined    Class = "undefined"
	Syntax       Class = "syntax"
	Security     Class = "security"
	Type         Class = "type"
	ZeroDivision Class = "zero_division"
	Limit        Class = "limit" // a bound on size, depth, steps, output or time
	Other        Class = "other"
)

// Error is an error of a template with its place.
type Error struct {
	Class     Class
	File      string
	Line, Col int
	// Name is the dotted path up to the first missing step, for Undefined.
	Name string
	Msg  string
	Hint string
	Err  error // an error of the scope or the context
}

// Error is file:line:col: message.
func (e *Error) Error() string { panic("later") }

// Unwrap gives the error below.
func (e *Error) Unwrap() error { return e.Err }
