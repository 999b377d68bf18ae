package scheduler

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
)

// tracedValue is a rendered value with the origins of its texts. A task has one for its parameters until their
// event is emitted.
type tracedValue struct {
	value   value.Value
	members []span.Member
	// isRecorded is set if both are from the record of an earlier process: secrets are masked.
	isRecorded bool
}

// renderTraced renders a parameter like render, with a record of the origins of its texts.
func (s *secrets) renderTraced(ctx context.Context, p *flow.Param, names prompt.Scope) (tracedValue, error) {
	v, members, err := p.RenderTraced(ctx, names)
	s.learnDerived(v)
	return tracedValue{value: v, members: members}, err
}

// recordedSpans returns an earlier process's record for a value.
func recordedSpans(v value.Value, record span.Record) tracedValue {
	members, err := record.Members()
	if err != nil { // explain says that nothing is recorded
		members = nil
	}
	return tracedValue{v, members, true}
}

// below returns the value as the member at a pointer of another one.
func (t tracedValue) below(pointer string, around value.Value) tracedValue {
	members := slices.Clone(t.members)
	for i := range members {
		members[i].Pointer = pointer + members[i].Pointer
	}
	return tracedValue{around, members, t.isRecorded}
}

// recordSpans returns the record of the origins of a value's texts, given the value as traced: texts changed since
// are left out. names has the names that the templates saw.
func (s *secrets) recordSpans(traced tracedValue, now value.Value, names prompt.Scope) span.Record {
	mask := spanMask{secrets: s, names: names}
	isMasked := !s.set.IsEmpty() && !traced.isRecorded
	members := make([]span.Member, 0, len(traced.members))
	for _, m := range traced.members {
		was, _ := traced.value.At(m.Pointer)
		is, isThere := now.At(m.Pointer)
		isForgotten := len(m.Spans) == 0 && len(m.Keys) == 0
		if isForgotten || !isThere || !value.Equal(was, is) {
			continue
		}
		if isMasked {
			m = mask.maskMember(m, is)
		}
		members = append(members, m)
	}
	return span.EncodeMembers(members)
}

// spanMask moves the spans of texts to the places that their bytes have once the secrets in them are masked.
type spanMask struct {
	secrets *secrets
	names   prompt.Scope
}

// maskMember returns the spans of a value adjusted to the masked value.
func (m spanMask) maskMember(of span.Member, v value.Value) span.Member {
	of.Pointer = m.maskPointer(of.Pointer)
	of.Keys = m.maskRefs(of.Keys)
	ranges := m.secrets.maskRangesOf(v)
	var masked []span.Span
	for len(of.Spans) > 0 {
		s := of.Spans[0]
		next := slices.IndexFunc(ranges, func(r value.ByteRange) bool { return r.End > s.Start })
		if next < 0 || s.End <= ranges[next].Start {
			masked = append(masked, m.maskSpan(s, ranges))
			of.Spans = of.Spans[1:]
			continue
		}
		r := ranges[next]
		if s.Start < r.Start {
			masked = append(masked, m.maskSpan(cutSpan(s, s.Start, r.Start), ranges))
		}
		var made span.Span
		made, of.Spans = m.spanOfMask(of.Spans, r, ranges)
		masked = append(masked, made)
	}
	of.Spans = masked
	return of
}

// spanOfMask returns the span of a mask, which replaces a range of bytes, and the spans behind it.
func (m spanMask) spanOfMask(spans []span.Span, r value.ByteRange, ranges maskRanges) (made span.Span, rest []span.Span) {
	last := len(spans)
	for i, s := range spans {
		if s.Start >= r.End {
			last = i
			break
		}
	}
	inside, rest := spans[:last], spans[last:]
	if end := inside[len(inside)-1]; end.End > r.End {
		rest = append([]span.Span{cutSpan(end, r.End, end.End)}, rest...)
	}
	if len(inside) == 1 {
		made = m.maskSpan(cutSpan(inside[0], max(inside[0].Start, r.Start), min(inside[0].End, r.End)), ranges)
		if made.Kind == span.Literal {
			made.Kind = span.Computed
		}
		return made, rest
	}
	made = span.Span{Start: ranges.at(r.Start), End: ranges.at(r.End), Kind: span.Computed, TemplateStart: inside[0].TemplateStart}
	for _, s := range inside {
		made.TemplateStart, made.TemplateEnd = min(made.TemplateStart, s.TemplateStart), max(made.TemplateEnd, s.TemplateEnd)
		for _, from := range m.maskRefs(s.Sources) {
			from.Start, from.End = 0, 0
			if !slices.Contains(made.Sources, from) {
				made.Sources = append(made.Sources, from)
			}
		}
	}
	return made, rest
}

// maskSpan returns a span that no mask cuts. A reference stays one if its bytes are masked alike in their source.
func (m spanMask) maskSpan(s span.Span, ranges maskRanges) span.Span {
	s.Sources = m.maskRefs(s.Sources)
	start, end := ranges.at(s.Start), ranges.at(s.End)
	if s.Kind == span.Reference && s.Start < s.End {
		from := s.Sources[0]
		source, fromEnd := m.secrets.maskRangesOf(m.valueOf(from)), from.Start+s.End-s.Start
		isPartOfSecret := slices.ContainsFunc(source, func(r value.ByteRange) bool {
			return r.Start < from.Start && from.Start < r.End || r.Start < fromEnd && fromEnd < r.End
		})
		if isPartOfSecret || !slices.Equal(ranges.within(s.Start, s.End), source.within(from.Start, fromEnd)) {
			s.Kind, from.Start, from.End = span.Computed, 0, 0
		} else {
			from.Start = source.at(from.Start)
			from.End = from.Start + end - start
		}
		s.Sources = []span.ValueRef{from}
	}
	s.Start, s.End = start, end
	return s
}

// valueOf returns a value that a span was taken from.
func (m spanMask) valueOf(ref span.ValueRef) value.Value {
	v, _, err := m.names.Lookup(ref.Name)
	if err != nil {
		return value.Value{}
	}
	v, _ = v.At(ref.Pointer)
	return v
}

func (m spanMask) maskRefs(refs []span.ValueRef) []span.ValueRef {
	refs = slices.Clone(refs)
	for i := range refs {
		refs[i].Pointer = m.maskPointer(refs[i].Pointer)
	}
	return refs
}

// maskPointer masks secrets among the keys of a pointer, like in the value.
func (m spanMask) maskPointer(pointer string) string {
	if pointer == "" || m.secrets.maskText(pointer) == pointer {
		return pointer
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		tokens[i] = value.Escape(m.secrets.maskText(value.Unescape(token)))
	}
	return "/" + strings.Join(tokens, "/")
}

// cutSpan returns the bytes [start, end) of a span.
func cutSpan(s span.Span, start, end int) span.Span {
	switch {
	case s.Kind == span.Literal && s.End-s.Start == s.TemplateEnd-s.TemplateStart:
		s.TemplateStart, s.TemplateEnd = s.TemplateStart+start-s.Start, s.TemplateStart+end-s.Start
	case s.Kind == span.Reference:
		from := s.Sources[0]
		from.Start += start - s.Start
		from.End = from.Start + end - start
		s.Sources = []span.ValueRef{from}
	}
	s.Start, s.End = start, end
	return s
}

// outputSpans returns the record of the origins of the texts in the task's output: in the outputs of a flow, or of
// a text that the call rendered.
func (t *task) outputSpans(output value.Value) span.Record {
	if t.step.Call == flow.CallFlow {
		return t.flowSpans
	}
	if len(t.collector.traced.members) == 0 {
		return nil
	}
	return t.run.secrets.recordSpans(t.collector.traced, output, prompt.Values{Map: t.params.Map()})
}
