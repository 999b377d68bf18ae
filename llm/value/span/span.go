// Package span has the origins of the bytes of a rendered text. A template makes the spans while it renders, the
// engine records them with the parameters of a step, and explain reads them from the record: nothing is rendered a
// second time.
//
// For example the template "Hi {{ inputs.name }}!" gives "Hi Ann!" with three spans: the words "Hi " at byte 0 of the
// template, the value inputs.name, and the word "!".
//
// It is a leaf: templates, calls, the journal and explain share it.
package span

// Kind is how a template made a span of its text.
type Kind string

// The kinds of spans.
const (
	Literal   Kind = "literal"   // the template's own text, or a string constant in an expression
	Reference Kind = "reference" // a value of the scope, or a part of its text, unchanged
	Computed  Kind = "computed"  // made by filters, operators and functions
)

// Span is a stretch of a rendered text with its origin. The spans of a text are in order, cover each of its bytes
// once and are not empty.
type Span struct {
	Start int  `json:"start"` // bytes of the rendered text
	End   int  `json:"end"`
	Kind  Kind `json:"kind"`
	// TemplateStart and TemplateEnd are the bytes of the template that made the span:
	// the literal text itself, else the expression without its braces. An expression
	// in a macro or a {% set %} block is the one there, not the one that uses it.
	TemplateStart int `json:"template_start"`
	TemplateEnd   int `json:"template_end"`
	// Sources is the one value of a Reference, and the values that a Computed span was computed
	// from: nothing, if only constants and loop counters went in.
	Sources []ValueRef `json:"sources,omitempty"`
	// Secret is set in the trace of a template with masks in place of secrets, if a secret has gone into the span, or
	// has decided whether it is there, or its text; Decided are the values that did. Only such a span may be empty:
	// it marks a statement, from TemplateStart on, that wrote nothing.
	Secret  bool       `json:"secret,omitempty"`
	Decided []ValueRef `json:"decided,omitempty"`
}

// ValueRef names a value below a name of the scope.
type ValueRef struct {
	Name    string `json:"name"`    // the name that the scope was asked for
	Pointer string `json:"pointer"` // the RFC 6901 pointer below it; "" for all of it
	// Start and End are the bytes of the value's printed text that a Reference shows;
	// both 0 in the sources of a Computed span.
	Start int `json:"start,omitempty"`
	End   int `json:"end,omitempty"`
}

// Member is a text, or a whole value, inside a result. Pointer is its
// place in the result. A text has spans that cover it; anything else has one span of length 0, whose Reference
// covers everything below the pointer.
type Member struct {
	Pointer string `json:"pointer"`
	Spans   []Span `json:"spans"`
	// Keys are the values that keys in Pointer were computed from.
	Keys []ValueRef `json:"keys,omitempty"`
}

// isCopy reports whether a literal is as long as its text in the template: it has no escapes.
func (s *Span) isCopy() bool { return s.End-s.Start == s.TemplateEnd-s.TemplateStart }
