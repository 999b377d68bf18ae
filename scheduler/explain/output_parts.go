package explain

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// partsOfOutput returns the provenance in the output of a call. A flow's output is chosen by its author, and may
// hold the parts of a step in it; it returns none for a flow.
func partsOfOutput(call string, output value.Value) (all []calls.Part) {
	if call == flow.CallFlow {
		return nil
	}
	for _, name := range []string{"parts", "trace"} {
		list, ok := output.Get(name)
		if !ok {
			continue
		}
		if isForeign(call) {
			all = append(all, foreignParts(output, list)...)
			continue
		}
		var parts []calls.Part
		if err := value.Decode(list, &parts); err == nil {
			all = append(all, parts...)
		}
	}
	return all
}

// partPlace is the text of an output that parts describe: a message, the prompt, or the text at a pointer.
type partPlace struct {
	message int // -1: none
	at      string
	// first is the byte of the message's text at which the text begins.
	first int
}

// placeOfParts returns the place of the text at a pointer of an output; ok is false if no part can describe it:
// parts describe the texts of a message, not the names and kinds around them.
func placeOfParts(output value.Value, pointer string) (place partPlace, ok bool) {
	const withContent, withText = 3, 5 // messages, index, content; and the text of an item of the content
	tokens := flow.PointerTokens(pointer)
	if v, _ := output.At(pointer); v.Kind() != value.String {
		return place, false // a number, or the name of a member
	}
	switch {
	case len(tokens) == 0:
		return place, false
	case pointer == "/prompt" || pointer == "/text":
		return partPlace{message: -1}, true
	case pointer == "/system":
		return partPlace{}, true
	case tokens[0] != "messages":
		return partPlace{message: -1, at: pointer}, true
	case len(tokens) < withContent || tokens[2] != "content":
		return place, false
	}
	index, isIndex := atoi(tokens[1])
	place.message = index
	if len(tokens) == withContent {
		return place, isIndex
	}
	if len(tokens) != withText || tokens[withText-1] != "text" {
		return place, false
	}
	content, _ := output.At("/messages/" + tokens[1] + "/content")
	until, _ := atoi(tokens[withContent])
	for _, part := range content.List()[:min(until, len(content.List()))] {
		before, _ := part.Get("text")
		text, _ := before.Str()
		place.first += layoutOf(text).wholeLen(text)
	}
	return place, isIndex
}

// outputParts are the parts of an output, also grouped by the text that they describe: there may be many thousands
// of messages.
type outputParts struct {
	all     []calls.Part
	byPlace map[partPlace][]calls.Part
}

func newOutputParts(all []calls.Part) outputParts {
	parts := outputParts{all, map[partPlace][]calls.Part{}}
	for _, part := range all {
		if !part.Included {
			continue
		}
		place := partPlace{message: -1, at: part.At}
		if part.Message != nil {
			place.message = *part.Message
		}
		parts.byPlace[place] = append(parts.byPlace[place], part)
	}
	return parts
}

// partsAt returns the parts that describe the text at a place.
func (p outputParts) partsAt(place partPlace) []calls.Part {
	place.first = 0
	return p.byPlace[place]
}

// partAt returns the part whose own text is at a pointer of an output.
func partAt(output value.Value, pointer string) (part calls.Part, ok bool) {
	above, isText := strings.CutSuffix(pointer, "/text")
	isOfList := strings.HasPrefix(above, "/parts/") || strings.HasPrefix(above, "/trace/")
	v, found := output.At(above)
	if !isText || !isOfList || !found {
		return part, false
	}
	return part, value.Decode(v, &part) == nil
}

// imageAt returns the part that describes an image whose placeholder is at a pointer of an output: the images of a
// message are described in order.
func (p outputParts) imageAt(output value.Value, pointer, text string) (image calls.Part, ok bool) {
	const withItem = 4 // messages, index, content, index
	tokens := flow.PointerTokens(pointer)
	if len(tokens) != withItem || tokens[0] != "messages" || tokens[2] != "content" {
		return image, false
	}
	message, isMessage := atoi(tokens[1])
	index, isItem := atoi(tokens[3])
	content, _ := output.At("/messages/" + tokens[1] + "/content")
	if !isMessage || !isItem || index >= len(content.List()) || mediaMark(content.List()[index]) != text {
		return image, false
	}
	before := 0
	for _, other := range content.List()[:index] {
		if _, isText := other.Get("text"); !isText {
			before++
		}
	}
	for _, part := range p.partsAt(partPlace{message: message}) {
		if part.Kind != "image" {
			continue
		}
		before--
		if before < 0 {
			return part, true
		}
	}
	return image, false
}

// cutOrigins returns the origins of the size bytes of a piece from one on.
func cutOrigins(origins []calls.Origin, from, size int) []calls.Origin {
	isWhole := len(origins) == 1 && origins[0].End == 0
	if from == 0 || isWhole {
		return origins
	}
	cut := make([]calls.Origin, 0, len(origins))
	for _, o := range origins {
		skipped := max(from-o.Start, 0)
		o.Start, o.End = o.Start+skipped-from, min(o.End-from, size)
		if skipped > 0 && !o.Computed {
			o.From += skipped
			o.Line = 0 // the text between is not known here
		}
		if o.Start < o.End {
			cut = append(cut, o)
		}
	}
	return cut
}

// shownParts returns the parts of a text that begins at a byte of its message, in their order, as the text is
// shown: Start and End, also of the origins, are bytes of the shown text. Parts that overlap the one before, or
// that the call cannot have reported correctly, are left out.
func shownParts(got *journal.StepState, parts []calls.Part, l layout, text string, first int) (shown []calls.Part) {
	end, size := 0, l.wholeLen(text)
	for _, part := range parts {
		start, stop := max(part.Start-first, 0), min(part.End-first, size)
		if start >= stop {
			continue
		}
		part.Origins = l.shownOrigins(cutOrigins(part.Origins, start+first-part.Start, stop-start), start)
		part.Start, part.End = l.shownAt(start), l.shownAt(stop)
		isInside := part.Start >= end && part.Start < part.End && isBetweenRunes(text, part.Start, part.End)
		if isInside && isCredible(got, part.Origins, text[part.Start:part.End]) {
			shown = append(shown, part)
			end = part.End
		}
	}
	return shown
}
