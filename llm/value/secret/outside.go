package secret

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// Text from outside (an answer of a server, the last words of a process, the result of a
// tool) goes into messages, logs and prompts through the functions of this file. They decode it, mask it, make it
// readable and only then cut it: masking could not find half a secret after a cut.

type contextKey struct{}

// NewContext returns a context that carries the secrets of a run, for all code that works for it: providers,
// calls, hosts of plugins.
func NewContext(ctx context.Context, s *Set) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// FromContext returns the secrets that a context carries; nil, which masks nothing, without any.
func FromContext(ctx context.Context) *Set {
	s, _ := ctx.Value(contextKey{}).(*Set)
	return s
}

// Message returns text from outside as a part of a message of at most limit characters:
// masked, with everything quoted that steers a terminal. Line breaks stay.
func (s *Set) Message(text string, limit int) string {
	return value.Truncate(value.Visible(s.maskWhole(text)), limit)
}

// Line is [Set.Message] on one line.
func (s *Set) Line(text string, limit int) string {
	return value.Truncate(value.Visible(strings.Join(strings.Fields(s.maskWhole(text)), " ")), limit)
}

// FirstLine is [Set.Line] of the first line that has text.
func (s *Set) FirstLine(text string, limit int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s.maskWhole(text)), "\n")
	return value.Truncate(value.Visible(strings.TrimSpace(line)), limit)
}

// maskWhole returns valid text without secrets.
func (s *Set) maskWhole(text string) string {
	return s.MaskText(strings.ToValidUTF8(text, "\uFFFD"))
}

// MaskCut is [Set.MaskText] for a text whose end was not read, such as the first 64 KiB of an answer: a possible
// beginning of a secret at its end is left out.
func (s *Set) MaskCut(text string) string {
	text = s.MaskText(text)
	return text[:s.OpenEnd(text)]
}

// KeepWhole returns end, or the beginning of the secret that a cut there would split.
func (s *Set) KeepWhole(text string, end int) int {
	if s.IsEmpty() {
		return end
	}
	f := s.known.Load()
	for _, r := range f.findAll(text[max(end-f.reach(), 0):min(end+f.reach(), len(text))]) {
		start := max(end-f.reach(), 0) + r.Start
		if start < end && end < start+r.End-r.Start {
			return start
		}
	}
	return end
}

// Margin is the number of extra bytes to keep with the end of a long text, beyond the shown ones: with them
// [Set.End] recognises a secret in whose middle the text now begins.
const Margin = 16 << 10

// End returns the end of text from outside, at most limit bytes of it before they are masked.
// isCut says that the text had a beginning that is lost.
func (s *Set) End(text string, limit int, isCut bool) string {
	start := max(len(text)-limit, 0)
	if isCut && !s.IsEmpty() {
		start = max(start, min(Margin, len(text)))
	}
	var ranges []value.ByteRange
	if !s.IsEmpty() {
		for _, r := range s.find(text) {
			if r.Start < start {
				start = max(start, r.End)
				continue
			}
			ranges = append(ranges, value.ByteRange{Start: r.Start, End: r.End})
		}
	}
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	for i := range ranges {
		ranges[i].Start -= start
		ranges[i].End -= start
	}
	return strings.ToValidUTF8(maskRanges(text[start:], ranges), "\uFFFD")
}
