package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// alignSecrets returns the trace with the text at a pointer as it is on record. A parameter is
// rendered again with masks in the place of secrets, so whatever was made of one may differ: its
// mask, or its length. ok is false where the rest does not stand in the recorded text, or may
// stand there in more than one way.
func (t *trace) alignSecrets(pointer, rendered, recorded string) (aligned *trace, ok bool) {
	at := slices.IndexFunc(t.members, func(m prompt.Member) bool { return m.Pointer == pointer })
	if at < 0 {
		return nil, false
	}
	placed, ok := placeSpans(joinSecretSpans(t.members[at].Spans), rendered, recorded)
	if !ok {
		return nil, false
	}
	copied := *t
	copied.members = slices.Clone(t.members)
	copied.members[at].Spans = placed
	return &copied, true
}

// isOfSecret reports whether a secret has gone into a span.
func isOfSecret(span prompt.Span) bool {
	return slices.ContainsFunc(span.Sources, func(from prompt.ValueRef) bool { return from.Name == "secrets" })
}

// joinSecretSpans joins neighbouring spans of secrets: the joined span was computed from all of
// them.
func joinSecretSpans(spans []prompt.Span) (joined []prompt.Span) {
	for _, span := range spans {
		last := len(joined) - 1
		if last < 0 || !isOfSecret(span) || !isOfSecret(joined[last]) {
			joined = append(joined, span)
			continue
		}
		before := &joined[last]
		before.End, before.Kind = span.End, prompt.Computed
		before.TemplateEnd = max(before.TemplateEnd, span.TemplateEnd)
		before.Sources = slices.Concat(before.Sources, span.Sources)
	}
	return joined
}

// placeSpans returns the spans of a rendered text as those of the recorded one: the texts
// between secrets stand there as they are, in their order. ok is false unless there is just one
// way to place them.
func placeSpans(spans []prompt.Span, rendered, recorded string) (placed []prompt.Span, ok bool) {
	fixed := []string{""} // before, between and after what was made of secrets
	for _, span := range spans {
		if isOfSecret(span) {
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
		if isOfSecret(span) {
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
