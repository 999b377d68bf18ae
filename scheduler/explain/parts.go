package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// collectLeftOut lists what a step left out, once.
func (x *explainer) collectLeftOut(got *journal.StepState) {
	if x.seen[got.ID] {
		return
	}
	x.seen[got.ID] = true
	for _, part := range x.partsOf(got) {
		if !part.Included {
			x.leftOut = append(x.leftOut, LeftOut{
				Step: got.ID, Kind: part.Kind, Name: part.Name,
				Reason: part.Reason, Code: part.Code, Detail: part.Detail, Tokens: part.Tokens,
			})
		}
	}
}

func partsOfOutput(output value.Value) (all []calls.Part) {
	for _, name := range []string{"parts", "trace"} {
		list, ok := output.Get(name)
		if !ok {
			continue
		}
		var parts []calls.Part
		if err := value.Decode(list, &parts); err == nil {
			all = append(all, parts...)
		}
	}
	return all
}

// partPlace is which text of an output parts tell of: a message, the prompt, or the text at
// a pointer.
type partPlace struct {
	message int // -1: none
	at      string
	// first is the byte of the message's text at which the text begins.
	first int
}

// placeOfParts returns the place of the text at a pointer of an output; ok is false where
// no part can tell of it.
func placeOfParts(output value.Value, pointer string) (place partPlace, ok bool) {
	const withContent = 3 // messages, index, content
	tokens := flow.PointerTokens(pointer)
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
	content, _ := output.At("/messages/" + tokens[1] + "/content")
	until, _ := atoi(tokens[withContent])
	for _, part := range content.List()[:min(until, len(content.List()))] {
		before, _ := part.Get("text")
		text, _ := before.Str()
		place.first += len(text)
	}
	return place, isIndex
}

// holds reports whether a part tells of the text at a place.
func (p partPlace) holds(part calls.Part) bool {
	message := -1
	if part.Message != nil {
		message = *part.Message
	}
	return part.Included && message == p.message && part.At == p.at
}

// explainParts explains a text by the provenance that the step put out with it. nil
// means that there is none for this text.
func (x *explainer) explainParts(at site, text, pointer string, hops int) (pieces []Piece) {
	parts := x.partsOf(at.got)
	if len(parts) == 0 {
		return nil
	}
	if part, ok := partAt(at.got.Output, pointer); ok {
		return x.explainPart(at, part, part.Origins, text, hops)
	}
	place, ok := placeOfParts(at.got.Output, pointer)
	if !ok {
		return nil
	}
	if image, ok := imagePart(parts, at.got.Output, pointer, place.message); ok {
		return []Piece{{Text: text, Tokens: image.Tokens, Sources: []Source{x.labelOf(at, image)}}}
	}
	end := 0
	for _, part := range parts {
		start, stop := max(part.Start-place.first, 0), min(part.End-place.first, len(text))
		isLong := place.first == 0 && place.message < 0 && part.End > len(text)
		if !place.holds(part) || start < end || start >= stop || isLong {
			continue
		}
		if start > end {
			pieces = append(pieces, singlePiece(text[end:start], sourceOfMaker(at.got))...)
		}
		inner := cutOrigins(part.Origins, start+place.first-part.Start, stop-start)
		pieces = append(pieces, x.explainPart(at, part, inner, text[start:stop], hops)...)
		end = stop
	}
	if pieces != nil && end < len(text) {
		pieces = append(pieces, singlePiece(text[end:], sourceOfMaker(at.got))...)
	}
	return pieces
}

// partAt returns the part whose own text stands at a pointer of an output.
func partAt(output value.Value, pointer string) (part calls.Part, ok bool) {
	above, isText := strings.CutSuffix(pointer, "/text")
	isOfList := strings.HasPrefix(above, "/parts/") || strings.HasPrefix(above, "/trace/")
	v, found := output.At(above)
	if !isText || !isOfList || !found {
		return part, false
	}
	return part, value.Decode(v, &part) == nil
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
		if !o.Computed {
			o.From += skipped
		}
		if o.Start < o.End {
			cut = append(cut, o)
		}
	}
	return cut
}

// imagePart returns the part that tells of the image at a pointer into an output, in the
// message of that index: the images of a message are told in their order.
func imagePart(parts []calls.Part, output value.Value, pointer string, message int) (image calls.Part, ok bool) {
	slash := strings.LastIndexByte(pointer, '/')
	index, err := strconv.Atoi(pointer[slash+1:])
	v, _ := output.At(pointer)
	if err != nil || v.Kind() != value.Object {
		return image, false
	}
	content, _ := output.At(pointer[:slash])
	before := 0
	for _, other := range content.List()[:index] {
		if _, isText := other.Get("text"); !isText {
			before++
		}
	}
	for _, part := range parts {
		if part.Kind != "image" || !part.Included || part.Message == nil || *part.Message != message {
			continue
		}
		before--
		if before < 0 {
			return part, true
		}
	}
	return image, false
}

// labelOf returns the source of a part of an output.
func (x *explainer) labelOf(at site, part calls.Part) Source {
	return Source{Kind: SourcePart, Step: x.host(at).got.ID, Part: part.Kind, Name: part.Name}
}

// explainPart explains one part of an output: by what its bytes were taken from, and by its
// own name.
func (x *explainer) explainPart(at site, part calls.Part, origins []calls.Origin, text string, hops int) []Piece {
	pieces := x.explainOrigins(at, origins, text, hops)
	if part.Kind == "" {
		return completed(pieces, sourceOfMaker(at.got)) // it was only passed on
	}
	label := x.labelOf(at, part)
	for i := range pieces {
		own := label
		if sources := pieces[i].Sources; len(sources) == 1 {
			switch sources[0].Kind {
			case SourceFile:
				own.Path, own.PathLine = sources[0].Path, sources[0].PathLine
			case SourceText, SourceClock:
			default:
				pieces[i].Sources = append(slices.Clip(sources), own)
				continue
			}
			if sources[0].File == "" {
				pieces[i].Sources = []Source{own}
				continue
			}
		}
		pieces[i].Sources = append(slices.Clip(pieces[i].Sources), own)
	}
	return pieces
}

// explainOrigins explains a text by what, by its call, its bytes were taken from. The bytes
// between have no source.
func (x *explainer) explainOrigins(at site, origins []calls.Origin, text string, hops int) (pieces []Piece) {
	if len(origins) == 1 && origins[0].End == 0 {
		return x.explainOrigin(at, origins[0], text, hops)
	}
	end := 0
	for i := 0; i < len(origins); i++ {
		o := origins[i]
		if o.Start < end || o.Start >= o.End || o.End > len(text) {
			continue
		}
		if o.Start > end {
			pieces = append(pieces, singlePiece(text[end:o.Start])...)
		}
		stretch := text[o.Start:o.End]
		piece := x.explainOrigin(at, o, stretch, hops)
		for o.Computed && i+1 < len(origins) && origins[i+1].Start == o.Start && origins[i+1].End == o.End {
			i++
			piece = append(piece, x.explainOrigin(at, origins[i], stretch, hops)...)
		}
		if o.Computed {
			piece = collapsed(stretch, piece, x.placeOf(x.callerOf(at), o.Pointer))
		}
		pieces = append(pieces, piece...)
		end = o.End
	}
	if end < len(text) {
		pieces = append(pieces, singlePiece(text[end:])...)
	}
	return merged(pieces)
}

// merged joins neighbouring pieces that have the same sources: a string and the quotes
// around it.
func merged(pieces []Piece) (all []Piece) {
	for _, p := range pieces {
		last := len(all) - 1
		if last >= 0 && len(p.Sources) > 0 && slices.EqualFunc(p.Sources, all[last].Sources, Source.equals) {
			all[last].Text += p.Text
			all[last].Tokens = 0
			continue
		}
		all = append(all, p)
	}
	return all
}

// explainOrigin explains a stretch by its origin.
func (x *explainer) explainOrigin(at site, o calls.Origin, stretch string, hops int) []Piece {
	switch o.Kind {
	case calls.OriginName:
		from := o.From
		if o.Computed {
			from = -1
		}
		path := append(strings.Split(o.Name, "."), flow.PointerTokens(o.Pointer)...)
		if at.frame == nil || at.step == nil {
			return singlePiece(stretch, sourceOfMaker(at.got))
		}
		return x.explainReference(x.host(at), path, from, stretch, sourceOfPlace(at.step.Pos), hops)
	case calls.OriginAnswer:
		return singlePiece(stretch, Source{Kind: SourceModel})
	case calls.OriginTool, calls.OriginMemory, calls.OriginUser:
		return singlePiece(stretch, Source{Kind: SourceKind(o.Kind), Name: o.Name})
	case calls.OriginText:
		return singlePiece(stretch, Source{Kind: SourceText, Name: o.Name, PathLine: o.Line})
	case calls.OriginClock:
		return singlePiece(stretch, Source{Kind: SourceClock})
	case calls.OriginParams:
		return singlePiece(stretch, Source{Kind: SourceParams, Name: at.step.Call}.at(at.step.Pos))
	}
	if o.File != "" {
		return singlePiece(stretch, Source{Kind: SourceFile, Name: o.File, Path: o.File, PathLine: o.Line})
	}
	if o.Pointer == "" || at.step == nil {
		return singlePiece(stretch)
	}
	return x.explainPointer(at, o, stretch, hops)
}
