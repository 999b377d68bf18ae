package trace

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// The types of spans, which records share.
type (
	// SpanKind is the kind of a span.
	SpanKind = span.Kind
	// Span is a piece of a rendered text.
	Span = span.Span
	// ValueRef is a part of a value that a span comes from.
	ValueRef = span.ValueRef
	// Member is a text within a value, with its spans.
	Member = span.Member
)

// The kinds of spans.
const (
	Literal   = span.Literal
	Reference = span.Reference
	Computed  = span.Computed
)

// SpansOf turns parts into spans; start and stop are the place in the template for parts that have none. masked
// reports that secrets are masks.
func SpansOf(parts []Part, start, stop int, masked bool) []Span {
	list := make([]Span, 0, len(parts))
	end, references := 0, 0
	for _, p := range parts {
		if p.From.IsReference() {
			references++
		}
	}
	sources := make([]ValueRef, 0, references) // of all references: one allocation
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
			sources = append(sources, ref)
			s.Kind, s.Sources = Reference, sources[len(sources)-1:len(sources):len(sources)]
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
			list = append(list, splitAt(s, p.secretRanges())...)
			continue
		}
		list = append(list, s)
	}
	return list
}

// splitAt returns the spans of a stretch of a value, with the masks in it as spans of their own: the text around
// them is recorded as it is. The ranges count from the beginning of the stretch.
func splitAt(s Span, masks []value.ByteRange) (split []Span) {
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
