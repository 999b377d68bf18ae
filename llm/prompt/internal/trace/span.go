package trace

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// SpanKind is how a template made a span of its text.
type SpanKind string

// The kinds of spans.
const (
	Literal   SpanKind = "literal"   // the template's own text, or a string constant in an expression
	Reference SpanKind = "reference" // a value of the scope, or a part of its text, as it is
	Computed  SpanKind = "computed"  // what filters, operators and functions made
)

// Span is a stretch of a rendered text with where it comes from. The spans of a
// text are in order, cover each of its bytes once and are not empty.
type Span struct {
	Start int      `json:"start"` // bytes of the rendered text
	End   int      `json:"end"`
	Kind  SpanKind `json:"kind"`
	// TemplateStart and TemplateEnd are the bytes of Source.Text that made the span:
	// the literal text itself, else the expression without its braces. An expression
	// in a macro or a {% set %} block is the one there, not the one that uses it.
	TemplateStart int `json:"template_start"`
	TemplateEnd   int `json:"template_end"`
	// Sources is the one value of a Reference, and what a Computed span was computed
	// from: nothing, where only constants and loop counters went in.
	Sources []ValueRef `json:"sources,omitempty"`
	// Secret is set in the trace of a SecretScope where a secret has gone into the span, or
	// has decided whether it is there, or what is; Decided are the values that did. Only such a
	// span may be empty: it stands where a statement, from TemplateStart on, wrote nothing.
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

// SpansOf turns parts into spans; start and stop count where a part has no place in
// the template. masked tells that secrets are masks.
func SpansOf(parts []Part, start, stop int, masked bool) []Span {
	list := make([]Span, 0, len(parts))
	end := 0
	for _, p := range parts {
		s := Span{Start: end, End: end + p.Length, Kind: Computed, TemplateStart: p.Start, TemplateEnd: p.Stop}
		end = s.End
		if p.Stop == 0 {
			s.TemplateStart, s.TemplateEnd = start, stop
		}
		switch o := p.From; {
		case o == nil:
		case o.kind == Literal:
			s.Kind, s.TemplateStart, s.TemplateEnd = Literal, o.start, o.stop
		case o.kind == Reference:
			ref := o.ref()
			ref.Start, ref.End = o.offset, o.offset+p.Length
			s.Kind, s.Sources = Reference, []ValueRef{ref}
		default:
			for _, from := range o.from {
				s.Sources = append(s.Sources, from.ref())
			}
		}
		if masked {
			s.Secret, s.Decided = p.From.UsesSecret(), SourcesOf(&Origin{parts: decidedParts(p.From)})
		}
		isCopy := s.Kind == Reference && p.Length > 0 // a list or an object has no bytes to split
		if s.Secret && isCopy && len(s.Decided) == 0 {
			list = append(list, s.splitAt(p.secretRanges())...)
			continue
		}
		list = append(list, s)
	}
	return list
}

// splitAt returns the spans of a stretch of a value with those of the masks in it apart: the text
// around them is as it is on record. The ranges count from the beginning of the stretch.
func (s Span) splitAt(masks []value.ByteRange) (split []Span) {
	add := func(from, to int, isSecret bool) {
		if from < to {
			cut := s
			cut.Start, cut.End, cut.Secret = from, to, isSecret
			cut.Sources = slices.Clone(s.Sources)
			cut.Sources[0].Start += from - s.Start
			cut.Sources[0].End = cut.Sources[0].Start + to - from
			split = append(split, cut)
		}
	}
	at := s.Start
	for _, mask := range masks {
		add(at, s.Start+mask.Start, false)
		at = s.Start + mask.End
		add(s.Start+mask.Start, at, true)
	}
	add(at, s.End, false)
	return split
}

// Member is a text, or a whole value, inside what an expression made. Pointer is its
// place in the result. A text has spans that cover it; anything else has one span of
// length 0, whose Reference stands for everything below the pointer.
type Member struct {
	Pointer string `json:"pointer"`
	Spans   []Span `json:"spans"`
	// Keys are the values that keys in Pointer were computed from.
	Keys []ValueRef `json:"keys,omitempty"`
}
