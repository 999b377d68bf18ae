package trace

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// AlignSpans returns the spans of a text that was rendered with masks, which may be otherwise where
// they are [Span] Secret, as those of the text of the run with its masks. Neighbours of which is not
// known which bytes are of which become one, that was computed from all of them. Where the text
// between stands there in more than one way, that is all from the first to the last that is secret.
// ok is false where not even the ends are the same, and the sources are those of the whole text.
func AlignSpans(spans []Span, rendered, recorded, mask string) (aligned []Span, ok bool) {
	isMade := func(s Span) bool {
		return s.Secret && s.Start < s.End && (s.Kind == Computed || s.Kind == Reference && len(s.Decided) == 0)
	}
	isSecret := func(s Span) bool { return s.Secret }
	for _, varies := range []func(Span) bool{isMade, isSecret} {
		joined := joinVaried(spans, varies)
		if gaps := maskGaps(joined, rendered, recorded, mask, varies); gaps != nil {
			return placeSpans(joined, rendered, recorded, gaps, varies), true
		}
	}
	joined := joinVaried(spans, isSecret)
	gaps, ok := GapsBetween(fixedTexts(joined, rendered, isSecret), recorded)
	if ok && len(gaps) > 0 {
		return placeSpans(joined, rendered, recorded, gaps, isSecret), true
	}
	joined = joinMiddle(spans, isSecret)
	gaps, ok = GapsBetween(fixedTexts(joined, rendered, isSecret), recorded)
	if ok && len(gaps) > 0 {
		return placeSpans(joined, rendered, recorded, gaps, isSecret), true
	}
	return nil, false
}

// joinVaried joins neighbouring spans that vary.
func joinVaried(spans []Span, varies func(Span) bool) (joined []Span) {
	for _, span := range spans {
		last := len(joined) - 1
		if last < 0 || !varies(span) || !varies(joined[last]) {
			joined = append(joined, span)
			continue
		}
		joined[last] = join(joined[last], span)
	}
	return joined
}

// joinMiddle joins all from the first span that varies to the last.
func joinMiddle(spans []Span, varies func(Span) bool) (joined []Span) {
	first := slices.IndexFunc(spans, varies)
	if first < 0 {
		return spans
	}
	last := first
	for i, s := range spans {
		if varies(s) {
			last = i
		}
	}
	middle := spans[first]
	for _, s := range spans[first+1 : last+1] {
		middle = join(middle, s)
	}
	return slices.Concat(spans[:first], []Span{middle}, spans[last+1:])
}

// join returns the span of two neighbours that was computed from both.
func join(s, next Span) Span {
	s.End, s.Kind, s.Secret = next.End, Computed, true
	s.TemplateStart, s.TemplateEnd = min(s.TemplateStart, next.TemplateStart), max(s.TemplateEnd, next.TemplateEnd)
	s.Sources = slices.Concat(s.Sources, next.Sources)
	s.Decided = slices.Concat(s.Decided, next.Decided)
	return s
}

// maskGaps returns the ranges in the recorded text of the spans that vary, where it is the rendered
// text with a mask for each of them; else nil.
func maskGaps(spans []Span, rendered, recorded, mask string, varies func(Span) bool) (gaps []value.ByteRange) {
	var text strings.Builder
	for _, s := range spans {
		if !varies(s) {
			text.WriteString(rendered[s.Start:s.End])
			continue
		}
		start := text.Len()
		text.WriteString(mask)
		gaps = append(gaps, value.ByteRange{Start: start, End: text.Len()})
	}
	if text.String() != recorded {
		return nil
	}
	return gaps
}

// fixedTexts returns the texts before, between and after the spans that vary.
func fixedTexts(spans []Span, rendered string, varies func(Span) bool) []string {
	fixed := []string{""}
	for _, span := range spans {
		if varies(span) {
			fixed = append(fixed, "")
			continue
		}
		fixed[len(fixed)-1] += rendered[span.Start:span.End]
	}
	return fixed
}

// placeSpans returns the spans of a rendered text as those of the recorded one, where those that
// vary have the ranges gaps. One that has another text there is no copy.
func placeSpans(spans []Span, rendered, recorded string, gaps []value.ByteRange, varies func(Span) bool) (placed []Span) {
	at := 0
	for _, span := range spans {
		was := rendered[span.Start:span.End]
		end := at + len(was)
		if varies(span) {
			end = gaps[0].End
			gaps = gaps[1:]
		}
		span.Start, span.End = at, end
		if at < end && recorded[at:end] != was {
			span.Kind = Computed
		}
		if span.Kind == Computed {
			span.Sources = slices.Concat(span.Sources, span.Decided)
			for i := range span.Sources {
				span.Sources[i].Start, span.Sources[i].End = 0, 0
			}
		}
		if at < end {
			placed = append(placed, span)
		}
		at = end
	}
	return placed
}

// GapsBetween returns the bytes of a text between parts of it: the first is its beginning, the
// last its end. ok is false unless there is just one way to find them.
func GapsBetween(parts []string, text string) (gaps []value.ByteRange, ok bool) {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return nil, first == text
	}
	hasEnds := strings.HasPrefix(text, first) && strings.HasSuffix(text, last)
	limit := len(text) - len(last)
	if !hasEnds || len(first) > limit {
		return nil, false
	}
	inner := parts[1 : len(parts)-1]
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
