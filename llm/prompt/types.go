package prompt

import "github.com/callnode/scheduler/llm/prompt/internal/fault"

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
