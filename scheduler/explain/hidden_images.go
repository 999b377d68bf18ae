package explain

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// hiddenImage matches the text that a journal shows instead of an image: see [journal.EventReader]. Provenance
// counts the bytes of the text with the image.
var hiddenImage = regexp.MustCompile(`(^image)?;sha256=[0-9a-f]{64};size=([0-9]{1,15})`)

// layout maps bytes of a text with images to bytes of the text as it is shown. The zero layout is for a text
// without images.
type layout struct {
	hidden []hiddenRange
}

// hiddenRange is the range of an image in the whole text, and of its placeholder in the shown text.
type hiddenRange struct{ whole, shown value.ByteRange }

// layoutOf returns the layout of a shown text, in which an image was written as most are.
func layoutOf(text string) (l layout) {
	if !strings.Contains(text, ";sha256=") {
		return l
	}
	grown := 0 // how much longer the whole text is, so far
	for _, m := range hiddenImage.FindAllStringSubmatchIndex(text, -1) {
		size, _ := strconv.Atoi(text[m[4]:m[5]])
		length := base64.StdEncoding.EncodedLen(size)
		if isInURL := m[2] < 0; isInURL {
			length += len(";base64,")
		}
		start := m[0] + grown
		l.hidden = append(l.hidden, hiddenRange{value.ByteRange{Start: start, End: start + length}, value.ByteRange{Start: m[0], End: m[1]}})
		grown = start + length - m[1]
	}
	return l
}

// fittedLayout returns the layout of a shown text, which begins at a byte of its message and is described by
// parts; ok is false if the lengths of the images are not known.
func fittedLayout(text string, parts []calls.Part, first int) (l layout, ok bool) {
	l = layoutOf(text)
	if l.hidden == nil {
		return l, true
	}
	endsAt := func(end int) bool {
		return slices.ContainsFunc(parts, func(p calls.Part) bool { return p.End == first+end })
	}
	if endsAt(l.wholeLen(text)) {
		return l, true
	}
	return layout{}, endsAt(len(text)) // it only looks like a hidden image
}

// wholeLen returns the length of the text with its images.
func (l layout) wholeLen(text string) int {
	if len(l.hidden) == 0 {
		return len(text)
	}
	last := l.hidden[len(l.hidden)-1]
	return len(text) + last.whole.End - last.shown.End
}

// shownAt returns the byte of the shown text for a byte of the whole text; for an image, the end of its
// placeholder.
func (l layout) shownAt(offset int) int {
	shift := 0
	for _, h := range l.hidden {
		if offset <= h.whole.Start {
			break
		}
		if offset < h.whole.End {
			return h.shown.End
		}
		shift = h.shown.End - h.whole.End
	}
	return offset + shift
}

// shownSpans converts the spans of a whole text to spans of the shown text.
func (l layout) shownSpans(spans []span.Span, text string) []span.Span {
	if len(l.hidden) == 0 || len(spans) == 0 || spans[len(spans)-1].End != l.wholeLen(text) {
		return spans
	}
	shown := make([]span.Span, 0, len(spans))
	for _, s := range spans {
		s.Start, s.End = l.shownAt(s.Start), l.shownAt(s.End)
		if s.Start < s.End {
			shown = append(shown, s)
		}
	}
	return shown
}

// shownOrigins returns the origins of the shown piece for the origins of a piece that begins at a byte of the
// whole text. The placeholder of an image is no copy.
func (l layout) shownOrigins(origins []calls.Origin, start int) []calls.Origin {
	if l.hidden == nil {
		return origins
	}
	shown := make([]calls.Origin, 0, len(origins))
	add := func(o calls.Origin, from, to int, isHidden bool) {
		from, to = max(o.Start+start, from), min(o.End+start, to)
		if from >= to {
			return
		}
		if !o.Computed {
			o.From += from - start - o.Start
			if from > o.Start+start {
				o.Line = 0 // the text between is not known
			}
		}
		if isHidden {
			o.Computed, o.Size = true, to-from
		}
		o.Start, o.End = l.shownAt(from)-l.shownAt(start), l.shownAt(to)-l.shownAt(start)
		if o.Start < o.End {
			shown = append(shown, o)
		}
	}
	for _, o := range origins {
		if o.Computed || o.End == 0 {
			add(o, o.Start+start, o.End+start, false)
			continue
		}
		at := 0
		for _, h := range l.hidden {
			add(o, at, h.whole.Start, false)
			add(o, h.whole.Start, h.whole.End, true)
			at = h.whole.End
		}
		add(o, at, o.End+start, false)
	}
	return shown
}

// shownOrigin converts an origin whose bytes are counted in a whole text to bytes of the shown text.
func shownOrigin(o calls.Origin, source string) calls.Origin {
	l := layoutOf(source)
	if l.hidden == nil {
		return o
	}
	end := l.shownAt(o.From + o.Size)
	o.From = l.shownAt(o.From)
	o.Size = max(end-o.From, 0)
	return o
}

// computedWhole credits all origins of the parts to the whole text, for example for a filter such as `join` that
// mixes them: nothing is known about single bytes.
func computedWhole(parts []calls.Part, text string) (all []calls.Origin) {
	for _, part := range parts {
		for _, o := range part.Origins {
			o.Start, o.End, o.Computed, o.Size, o.From, o.Line = 0, len(text), true, 0, 0, 0
			all = append(all, o)
		}
	}
	return all
}

// shownText converts the origins of a whole text to origins of the shown text. The last origin marks the end of
// the whole text.
func shownText(origins []calls.Origin, text string) []calls.Origin {
	whole := calls.Part{Origins: origins}
	for _, o := range origins {
		whole.End = max(whole.End, o.End)
	}
	layout, ok := fittedLayout(text, []calls.Part{whole}, 0)
	if !ok && whole.End > 0 {
		return computedWhole([]calls.Part{whole}, text)
	}
	return layout.shownOrigins(origins, 0)
}
