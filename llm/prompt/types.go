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
// and never changed. Its fields:
//   - File string: the name of the file for messages; "" if there is none
//   - Text string: the template
//   - At func(offset int) (line, col int): the line and column in File of a byte offset in Text;
//     nil counts them in Text itself
type Source = fault.Source

// Error is an error of a template with its place. Every error of this package that
// leaves it is one. It does not change once the caller has it. Its fields:
//   - Class [Class]: the sort of error, for example [Undefined]
//   - File string, Line, Col int: the place, from 1; Col counts characters
//   - Offset int: the place as a byte of [Source] Text
//   - Name string: the dotted path up to the first missing step, for [Undefined]
//   - Msg, Hint string: the message and the remedy, in English
//   - Err error: an error of the scope or the context
//
// Its methods Text and In return the message and the hint in the built-in languages.
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

// Span is a stretch of a rendered text with its source. The spans of a text are in order, cover each of its bytes
// once and are not empty. Its fields:
//   - Start, End int: bytes of the rendered text
//   - Kind [SpanKind]
//   - TemplateStart, TemplateEnd int: the bytes of [Source] Text that made it
//   - Sources [][ValueRef]: the one value of a [Reference], or the values that a [Computed] span was
//     computed from
//   - Secret bool, Decided [][ValueRef]: in the trace of a [SecretScope], whether the span contains a secret or
//     depends on one, and the values it depends on. Only such a secret span may be empty.
type Span = trace.Span

// SpanKind is how a template made a span of its text.
type SpanKind = trace.SpanKind

// The kinds of spans.
const (
	Literal   = trace.Literal   // the template's own text, or a string constant in an expression
	Reference = trace.Reference // a value of the scope, or a part of its text, as it is
	Computed  = trace.Computed  // the result of filters, operators and functions
)

// ValueRef names a value below a name of the scope. Its fields:
//   - Name string: the name that the scope was asked for
//   - Pointer string: the RFC 6901 pointer below it; "" for all of it
//   - Start, End int: the bytes of its printed text that a [Reference] shows
type ValueRef = trace.ValueRef

// Member is a text, or a whole value, inside an expression's result. Its fields:
//   - Pointer string: its place in the result
//   - Spans [][Span]: for a text, the spans that cover it; for anything else one of length 0
//   - Keys [][ValueRef]: the values that keys in Pointer were computed from
type Member = trace.Member

// Func is a function that the program offers to expressions. It must be safe for
// concurrent use; its panic becomes an error of the expression. It is a
// func(ctx context.Context, args []value.Value) (value.Value, error).
type Func = pyvalue.Func

// Builtin is a filter or a test of the language, for people. Its fields are Name, Params (the names of its
// arguments), Doc (a sentence about its result), Example (a template that uses it) and Result (the output of the
// example).
type Builtin = builtins.Builtin

// Ref is one mention in a template of a name that the template does not define itself.
// Parsing makes them; they do not change. Its fields:
//   - Path []string: the name and the constant members after it
//   - Offset int: its offset in the source
//   - Guarded bool: the expression has a default for it, or asks whether it is defined
//   - Decides, Counted bool: its value gets into nothing, or only its length does
//   - Printed []int: the offsets at which its value gets into the text through names that the template sets
//     itself
//   - Compared []value.Value: the constants that the whole of it is compared with by ==, != or in
type Ref = refs.Ref

// Options are how a template is read; the zero value is the language of flows. Its fields:
//   - Transformers bool: read a chat template of a model as Hugging Face's transformers do
//   - Now func() time.Time: the clock of strftime_now; nil is time.Now
type Options = syntax.Options

// Scope holds the values of names. The caller makes one for a rendering, which asks
// it for each name that the template reaches, at most once, from one goroutine. Its method is
// Lookup(name string) (v value.Value, ok bool, err error): ok is false for an undefined name, and
// an error ends the rendering.
type Scope = eval.Scope

// LenientScope is a Scope in which members of some undefined names are undefined again, although Jinja2 fails
// there. So {{ step.text | default("") }} works when the step was skipped. Printing such a member is still an
// error. It lives and is used as a [Scope]. Its method IsAbsent(name string) bool reports whether an undefined
// name is one of these.
type LenientScope = eval.LenientScope

// SeedScope is a Scope that seeds the filter random: renderings of one text with the same seed choose
// the same items. Other scopes have the seed 0. It lives and is used as a [Scope]. Its method
// RandomSeed() uint64 returns the seed.
type SeedScope = eval.SeedScope

// Values is a Scope of known values: the members of an object, its field Map *value.Map. It does
// not change, so that several renderings may share it.
type Values = eval.Values

// SecretScope is a Scope whose values may be secrets ([value.OfSecret]). The results of [Expr.Eval] and
// [Template.RenderValue] that are computed from secrets are secret too: a text in the bytes that are the secret's
// or were computed from it, a number as a whole. Some results are not secret, because they reveal next to nothing
// and flows are checked with them: true and false, a length, the keys of a dict, and the template's own text that
// a condition chose. For example {{ key | length }} is not secret. It lives and is used as a [Scope]. Its method
// HoldsSecrets() bool reports whether any value may be, or hold, a secret.
type SecretScope = eval.SecretScope

// SecretValues are [Values] that may hold secrets.
type SecretValues = eval.SecretValues
