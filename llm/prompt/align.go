package prompt

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// AlignSpans returns the spans of a rendered text as those of a recorded one, which was rendered
// with other values, such as secrets in the place of their masks. Spans that vary may have any text
// there, all others have the one that they were rendered to; neighbours that vary become one. ok is
// false where the text between does not stand in the recorded text, or may stand there in more than
// one way.
func AlignSpans(spans []Span, rendered, recorded string, varies func(Span) bool) (aligned []Span, ok bool) {
	return placeSpans(joinVaried(spans, varies), rendered, recorded, varies)
}

// joinVaried joins neighbouring spans that vary: the joined span was computed from all of them.
func joinVaried(spans []Span, varies func(Span) bool) (joined []Span) {
	for _, span := range spans {
		last := len(joined) - 1
		if last < 0 || !varies(span) || !varies(joined[last]) {
			joined = append(joined, span)
			continue
		}
		before := &joined[last]
		before.End, before.Kind = span.End, Computed
		before.TemplateEnd = max(before.TemplateEnd, span.TemplateEnd)
		before.Sources = slices.Concat(before.Sources, span.Sources)
	}
	return joined
}

// placeSpans returns the spans of a rendered text as those of the recorded one: the texts between
// those that vary stand there as they are, in their order. ok is false unless there is just one way
// to place them.
func placeSpans(spans []Span, rendered, recorded string, varies func(Span) bool) (placed []Span, ok bool) {
	fixed := []string{""} // before, between and after what varies
	for _, span := range spans {
		if varies(span) {
			fixed = append(fixed, "")
			continue
		}
		fixed[len(fixed)-1] += rendered[span.Start:span.End]
	}
	ranges, ok := gapsBetween(fixed, recorded)
	if !ok || len(fixed) == 1 {
		return nil, false
	}
	shift := 0
	for _, span := range spans {
		span.Start += shift
		if varies(span) {
			shift += ranges[0].End - (span.End + shift)
			span.End = ranges[0].End
			ranges = ranges[1:]
		} else {
			span.End += shift
		}
		if span.Start < span.End {
			placed = append(placed, span)
		}
	}
	return placed, true
}

// gapsBetween returns the bytes of a text between parts of it: the first is its beginning, the
// last its end. ok is false unless there is just one way to find them.
func gapsBetween(parts []string, text string) (gaps []value.ByteRange, ok bool) {
	first, last := parts[0], parts[len(parts)-1]
	hasEnds := strings.HasPrefix(text, first) && strings.HasSuffix(text, last)
	limit := len(text) - len(last)
	if !hasEnds || len(first) > limit {
		return nil, false
	}
	inner := parts[1:max(len(parts)-1, 1)]
	latest := make([]int, len(inner))
	end := limit
	for i, part := range slices.Backward(inner) {
		at := strings.LastIndex(text[len(first):end], part)
		if at < 0 {
			return nil, false
		}
		end = len(first) + at
		latest[i] = end
	}
	at := len(first)
	for i, part := range inner {
		earliest := at + strings.Index(text[at:], part)
		if earliest != latest[i] {
			return nil, false
		}
		gaps = append(gaps, value.ByteRange{Start: at, End: earliest})
		at = earliest + len(part)
	}
	return append(gaps, value.ByteRange{Start: at, End: limit}), true
}
