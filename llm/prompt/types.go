package prompt

import (
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/eval"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/refs"
	"github.com/callnode/scheduler/llm/prompt/internal/syntax"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

// Source is the text of a template and its place. The caller makes it; it is copied
// and never changed.
type Source = fault.Source

// Error is an error of a template with its place. Every error of this package that
// leaves it is one. It does not change once the caller has it.
type Error = fault.Error

// Class sorts errors as Jinja2's exceptions are sorted.
type Class = fault.Class

// The classes of errors.
const (
	Undefined    = fault.Undefined    // a name, member or element that is not there
	Syntax       = fault.Syntax       // not a template, or an unknown filter, test or tag
	Security     = fault.Security     // an attempt to change a value or to reach its internals
	Type         = fault.Type         // an operation that the operands' types do not have
	ZeroDivision = fault.ZeroDivision // a division, or a remainder, by zero
	Limit        = fault.Limit        // a bound on size, depth, steps, output or time
	Other        = fault.Other        // a value that a filter or function cannot take, or an error of the scope
)

// Span is a stretch of a rendered text with where it comes from. The spans of a
// text are in order, cover each of its bytes once and are not empty.
type Span = trace.Span

// SpanKind is how a template made a span of its text.
type SpanKind = trace.SpanKind

// The kinds of spans.
const (
	Literal   = trace.Literal   // the template's own text, or a string constant in an expression
	Reference = trace.Reference // a value of the scope, or a part of its text, as it is
	Computed  = trace.Computed  // what filters, operators and functions made
)

// ValueRef names a value below a name of the scope.
type ValueRef = trace.ValueRef

// Member is a text, or a whole value, inside what an expression made.
type Member = trace.Member

// Func is a function that the program offers to expressions. It must be safe for
// concurrent use; its panic becomes an error of the expression.
type Func = pyvalue.Func

// Builtin is a filter or a test of the language, for people.
type Builtin = builtins.Builtin

// Ref is a place where a template mentions a name that it does not define itself.
// Parsing makes them; they do not change.
type Ref = refs.Ref

// Options are how a template is read; the zero value is the language of flows.
type Options = syntax.Options

// Scope holds the values of names. The caller makes one for a rendering, which asks
// it for each name that the template reaches, at most once, from one goroutine.
type Scope = eval.Scope

// LenientScope is a Scope in which members of some undefined names are undefined
// again, where Jinja2 fails. So {{ step.text | default("") }} works when the step
// was skipped. Printing such a member is an error all the same. It lives and is used as a
// [Scope].
type LenientScope = eval.LenientScope

// Values is a Scope of known values: the members of an object. It does not change, so that
// several renderings may share it.
type Values = eval.Values

// SecretScope is a Scope whose values may be secrets ([value.OfSecret]). What
// [Expr.Eval] and [Template.RenderValue] make of them is a secret too: a text in the
// bytes that are the secret's or were computed from it, a number as a whole. Some things
// are not, for they tell next to nothing, and flows are checked with them: true and false,
// a length, the keys of a dict, and the template's own text that a condition chose. It lives
// and is used as a [Scope].
type SecretScope = eval.SecretScope

// SecretValues are [Values] that may hold secrets.
type SecretValues = eval.SecretValues
