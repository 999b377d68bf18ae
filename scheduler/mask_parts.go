package scheduler

import (
	"fmt"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// maskRanges maps the bytes of a text to the bytes of the text with its secrets masked. It has the stretches that
// a mask replaces.
type maskRanges []value.ByteRange

// at returns the offset of a byte of the text in the masked text; one inside a secret is at the end of the mask.
func (m maskRanges) at(offset int) int {
	moved := offset
	for _, secret := range m {
		if offset <= secret.Start {
			break
		}
		if offset < secret.End {
			return moved - offset + secret.Start + len(masked)
		}
		moved += len(masked) - (secret.End - secret.Start)
	}
	return moved
}

// partsMask moves the parts of texts to the places of their bytes once the secrets in them are masked.
type partsMask struct {
	secrets *secrets
	params  value.Value // of the call, into which origins point
}

// maskRangesOf returns the map of a text.
func (s *secrets) maskRangesOf(text value.Value) maskRanges { return s.set.MaskedRanges(text) }

// maskPart returns a part of a text as one of the masked text.
func (m partsMask) maskPart(p calls.Part, text maskRanges) calls.Part {
	start, end := text.at(p.Start), text.at(p.End)
	var origins []calls.Origin
	for _, o := range p.Origins {
		if o.Start == o.End { // it describes all of the message
			origins = append(origins, o)
			continue
		}
		for _, o := range m.maskOrigin(o, p.Start, text) {
			o.Start, o.End = o.Start-start, min(o.End, end)-start
			if o.Start < o.End {
				origins = append(origins, o)
			}
		}
	}
	p.Start, p.End, p.Origins = start, end, origins
	return p
}

// maskOrigin returns an origin of a part that begins at a byte of a text, with the bytes that it takes in the
// masked text. A file is not masked: a mask counts as computed from the secret there, and the text after it is a
// copy again.
func (m partsMask) maskOrigin(o calls.Origin, partStart int, text maskRanges) (list []calls.Origin) {
	start, end := partStart+o.Start, partStart+o.End
	add := func(from, to int, o calls.Origin) {
		o.Start, o.End = text.at(from), text.at(to)
		list = append(list, o)
	}
	if isOfFile := o.File != "" || o.Kind == calls.OriginText; !isOfFile || o.Computed {
		if !o.Computed && m.isMaskedOtherwise(o, start, end, text) {
			return m.splitOrigin(o, start, end, text)
		}
		add(start, end, m.maskSource(o, text))
		return list
	}
	first := o.From - start
	o.Line = 0 // the lines of masked text are not known
	for _, secret := range text {
		from, to := max(secret.Start, start), min(secret.End, end)
		if from >= to {
			continue
		}
		o.From = first + start
		add(start, from, o)
		made := o
		made.From, made.Computed = 0, true
		add(from, to, made)
		start = to
	}
	o.From = first + start
	add(start, end, o)
	return list
}

// isMaskedOtherwise reports whether the bytes [start, end) of a text, a copy of a parameter, have
// other masks than that has there: a few bytes between two secrets may be masked with them in one
// of the two.
func (m partsMask) isMaskedOtherwise(o calls.Origin, start, end int, text maskRanges) bool {
	v, _ := m.params.At(o.Pointer)
	if _, isText := v.Str(); o.Kind != "" || o.File != "" || !isText {
		return false
	}
	return !slices.Equal(text.within(start, end), m.secrets.maskRangesOf(v).within(o.From, end-start+o.From))
}

// splitOrigin returns the origin of the bytes [start, end) of a text, a copy of a parameter that has other masks,
// in pieces: copies, and stretches masked in one of the two, which are computed from the same bytes of the other.
func (m partsMask) splitOrigin(o calls.Origin, start, end int, text maskRanges) (list []calls.Origin) {
	v, _ := m.params.At(o.Pointer)
	source := m.secrets.maskRangesOf(v)
	add := func(from, to int, isMasked bool) {
		piece := o
		piece.Start, piece.End = text.at(start+from), text.at(start+to)
		piece.From = source.at(o.From + from)
		if isMasked {
			piece.Computed, piece.Size = true, source.at(o.From+to)-piece.From
		}
		if piece.Start < piece.End {
			list = append(list, piece)
		}
	}
	masked := slices.Concat(text.within(start, end), source.within(o.From, o.From+end-start))
	slices.SortFunc(masked, func(a, b value.ByteRange) int { return a.Start - b.Start })
	at := 0
	for i := 0; i < len(masked); i++ {
		r := masked[i]
		for i+1 < len(masked) && masked[i+1].Start < r.End {
			i++
			r.End = max(r.End, masked[i].End)
		}
		add(at, r.Start, false)
		add(r.Start, r.End, true)
		at = r.End
	}
	add(at, end-start, false)
	return list
}

// within returns the stretches that are masked in the bytes [start, end) of a text, counted from
// start.
func (m maskRanges) within(start, end int) (list []value.ByteRange) {
	for _, secret := range m {
		from, to := max(secret.Start, start), min(secret.End, end)
		if from < to {
			list = append(list, value.ByteRange{Start: from - start, End: to - start})
		}
	}
	return list
}

// maskSource returns an origin in a text whose bytes refer to the masked source. The bytes of an unknown source
// are left out if the text has secrets.
func (m partsMask) maskSource(o calls.Origin, text maskRanges) calls.Origin {
	if o.From == 0 && o.Size == 0 {
		return o
	}
	v, _ := m.params.At(o.Pointer)
	_, isText := v.Str()
	isKnown := o.Kind == "" && isText
	if !isKnown && len(text) == 0 {
		return o
	}
	if !isKnown {
		o.Computed, o.From, o.Size = true, 0, 0
		return o
	}
	source := m.secrets.maskRangesOf(v)
	from, to := source.at(o.From), source.at(o.From+o.Size)
	o.From, o.Size = from, to-from
	return o
}

// maskMessages returns the parts of messages adjusted to the messages with their secrets masked.
func (m partsMask) maskMessages(parts []calls.Part, messages []value.Value) []calls.Part {
	if m.secrets.set.IsEmpty() {
		return parts
	}
	masks := map[int]maskRanges{}
	moved := make([]calls.Part, len(parts))
	for i, p := range parts {
		moved[i] = p
		if p.Message == nil || *p.Message >= len(messages) || *p.Message < 0 {
			continue
		}
		mask, known := masks[*p.Message]
		if !known {
			content, _ := messages[*p.Message].Get("content")
			mask = m.secrets.maskContent(content)
			masks[*p.Message] = mask
		}
		moved[i] = m.maskPart(p, mask)
	}
	return moved
}

// maskContent returns the map of the text of a message's content: a text, or its text parts
// one after the other.
func (s *secrets) maskContent(content value.Value) (mask maskRanges) {
	if content.Kind() == value.String {
		return s.maskRangesOf(content)
	}
	before := 0
	for _, part := range content.List() {
		member, _ := part.Get("text")
		text, _ := member.Str()
		for _, secret := range s.maskRangesOf(member) {
			mask = append(mask, value.ByteRange{Start: before + secret.Start, End: before + secret.End})
		}
		before += len(text)
	}
	return mask
}

// maskOutput is maskWithPointers of the output of a call with those parameters. The parts in it are moved to the
// places of their bytes in the masked texts.
func (s *secrets) maskOutput(output, params value.Value) (clear value.Value, changed []string) {
	clear, changed = s.maskWithPointers(output)
	if len(changed) == 0 || clear.Kind() != value.Object {
		return clear, changed
	}
	m := partsMask{s, params}
	for _, name := range []string{"parts", "trace"} {
		list, _ := output.Get(name)
		var parts []calls.Part
		if len(list.List()) == 0 || value.Decode(list, &parts) != nil {
			continue
		}
		shown, _ := clear.Get(name)
		moved := make([]value.Value, len(parts))
		for i, p := range parts {
			moved[i] = shown.List()[i]
			p = m.maskPart(p, s.maskContent(textOfPart(p, output)))
			if p.Included {
				item := moved[i].Map().Clone()
				item.Set("start", value.OfInt(int64(p.Start)))
				item.Set("end", value.OfInt(int64(p.End)))
				if len(p.Origins) > 0 {
					item.Set("origins", s.maskValue(value.Must(p.Origins)))
				}
				moved[i] = value.OfMap(item)
			}
		}
		with := clear.Map().Clone()
		with.Set(name, value.OfList(moved...))
		clear = value.OfMap(with)
	}
	return clear, changed
}

// textOfPart returns the value of an output that holds a part: the content of a message, or a text.
func textOfPart(p calls.Part, output value.Value) (content value.Value) {
	at := p.At
	if p.Message != nil {
		at = fmt.Sprintf("/messages/%d/content", *p.Message)
	} else if at == "" {
		at = "/prompt"
		if _, ok := output.Get("prompt"); !ok {
			at = "/text"
		}
	}
	content, _ = output.At(at)
	return content
}
