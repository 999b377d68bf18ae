// Package prompt is the template language of flows and prompts: Jinja2's expressions and statements with typed
// values and strict undefined names. For example {{ inputs.city | default('Oslo') }} prints an input or a default.
// All use of pongo2 goes through this package, which implements the Jinja2Template and the SandboxedEnvironment of
// the documents.
//
// A template goes through these packages, each below internal and knowing only those before it:
//   - fault has the errors with their places, and the bounds on size, nesting, steps and output;
//     trace the origins of texts, the spans made from them, and which parts of a text are secret.
//   - lettercase has the letter cases of Python's str, strftime the formats of times.
//   - pyvalue has the values while a template runs, with the results of Python's operators, printing and
//     formats on them.
//   - pongo2tree has pongo2: its filters, and the tree of statements, which pongo2 parses and walks.
//   - builtins lists what has a name: filters, tests, methods and functions; it also has what Python
//   - builtins lists everything with a name: filters, tests, methods and functions; also Python's names
//     that do not exist here, with the replacement to write.
//   - syntax cuts a text into tokens, reads Jinja2's expression grammar into nodes, and compiles
//     text and statements (if, for, set, macro ...) into a program. It also reads chat templates of
//     models, another dialect ([Options]).
//   - eval holds the state of one evaluation or rendering; it runs statements, evaluates expressions,
//     and traces the source of each piece of the result ([Template.Trace]).
//
// This package puts them together. Errors carry an offset until they leave it: prompt and eval have
// fault find their lines and columns.
//
// Text, expressions, filters, tests, macros, loops and white space behave as in
// Jinja2 3.1 with StrictUndefined in its immutable sandbox, except that:
//   - tojson is Hugging Face's: no HTML escapes, other scripts as they are, keys in
//     their order.
//   - Templates read no files: include, import, from and extends are refused, and
//     with them block.
//   - Unknown filters, tests and tags are errors when a template is parsed, also
//     in parts that are never reached.
//   - An undefined value inside a list that is printed is an error.
//   - A name after data is a key and never a method: body.items and body['items'] are the key
//     "items", undefined without it, and body.items() calls the method.
//   - The filter attr and the function lipsum are refused, each with its reason; random
//     chooses by a seed ([SeedScope]).
//   - {{ x | join:", " }}, the form of pongo2 and Django, is accepted too. If Jinja2 has
//     no filter or tag of that name, pongo2's own is used if it is safe: see
//     internal/builtins for the list with its bounds.
//   - Integers are computed in 64 bits, and the result of escape can only be printed.
//
// A value is never parsed as a template, whatever it contains.
package prompt

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/constancy"
	"github.com/callnode/scheduler/llm/prompt/internal/eval"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/syntax"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Expr is a compiled expression, made by [ParseExpr]. It is immutable and safe for
// concurrent use, for as long as its user likes.
type Expr struct {
	code eval.ExprCode
	path []string // set if the expression is a reference
	refs []Ref
}

// ParseExpr compiles an expression without its braces. funcs are functions that
// it may call besides the built-in ones; nil for no others. Errors are of type *[Error].
func ParseExpr(src Source, funcs map[string]Func) (*Expr, error) {
	made, err := syntax.CompileExpr(src.Text, funcs)
	if err != nil {
		return nil, fault.Locate(&src, err)
	}
	return &Expr{code: eval.ExprCode{Src: src, Root: made.Root, Slots: made.Slots}, path: made.Path, refs: made.Refs}, nil
}

// Eval returns the typed value. An undefined name is an error, except in the forms
// of Jinja2 that allow it. Errors are of type *[Error].
func (e *Expr) Eval(ctx context.Context, scope Scope) (value.Value, error) {
	return e.code.Eval(ctx, scope)
}

// EvalTraced evaluates like [Expr.Eval] and returns the sources of the texts and values in the result, in the
// order of the result, for a record of them.
func (e *Expr) EvalTraced(ctx context.Context, scope Scope) (value.Value, []Member, error) {
	return e.code.EvalTraced(ctx, scope)
}

// Trace evaluates like [Expr.Eval] and returns the sources of the texts and values in the result, in the order of
// the result.
func (e *Expr) Trace(ctx context.Context, scope Scope) (value.Value, []Member, error) {
	return e.code.Trace(ctx, scope)
}

// Path returns the name and the constant members that the expression consists of;
// ok is false for any other expression.
func (e *Expr) Path() (path []string, ok bool) { return e.path, e.path != nil }

// Refs lists the outer names that the expression mentions, in order.
func (e *Expr) Refs() []Ref { return e.refs }

// Known is the knowledge about a reference that [Expr.IsAlways] is given.
type Known = constancy.Known

// IsAlways reports whether the expression is true, or false, whatever its names stand for, for example value ==
// value and value | length >= 0. describe returns the facts known of a reference. With given, which may be nil,
// only the cases count in which given is true. IsAlways may miss such an expression, but never reports another as
// one, except that "" is taken to be in everything.
func (e *Expr) IsAlways(want bool, given *Expr, describe func(path []string) Known) bool {
	if given == nil {
		return constancy.IsAlways(e.code.Root, nil, want, describe)
	}
	return constancy.IsAlways(e.code.Root, given.code.Root, want, describe)
}

// SingleExpr returns the expression, and its offset in text, of a text that is one
// {{ expression }} with nothing but white space around it.
func SingleExpr(text string) (expr string, offset int, ok bool) { return syntax.CutExpr(text) }

// HasTags reports whether text contains a tag of a template: {{, {% or {#.
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

// Text returns the text that a template prints for a value: strings as they are, the rest as Python prints it
// (True, None, 3.0, ['a']).
func Text(v value.Value) string { return pyvalue.Text(v) }

// Truthy is Python's notion of truth: "", 0, empty lists and objects and null are
// false.
func Truthy(v value.Value) bool { return pyvalue.Truthy(v) }

// Filters lists the filters, by name.
func Filters() []Builtin { return builtins.Filters() }

// NameRemedy returns the words to write instead of a name that nothing gives a value, if it is known from Jinja2, Python or a web framework: for
// example x | length for len. It is "" for any other name.
func NameRemedy(name string) wording.Text { return builtins.NameRemedy(name) }

// Tests lists the tests, by name.
func Tests() []Builtin { return builtins.Tests() }
