package explain

import (
	"strconv"
	"strings"
	"unicode"

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
	for _, part := range partsOfOutput(got.Output) {
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

// explainParts explains a text by the provenance that the step put out with it. nil
// means that there is none for this text.
func (x *explainer) explainParts(at *frame, s *flow.Step, got *journal.StepState, text, pointer string, hops int) []Piece {
	index := -1
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if tokens[0] == "messages" && len(tokens) > 2 {
		index, _ = strconv.Atoi(tokens[1])
	} else if tokens[0] == "system" {
		index = 0
	}
	if image, ok := imagePart(got.Output, pointer, index); ok {
		return []Piece{{Text: text, Tokens: image.Tokens, Sources: []Source{{Kind: SourcePart, Step: at.prefix + s.ID, Part: image.Kind, Name: image.Name}}}}
	}
	var pieces []Piece
	end := 0
	for _, part := range partsOfOutput(got.Output) {
		mine := part.Message == nil && index < 0 || part.Message != nil && *part.Message == index
		if !part.Included || !mine || part.Start < end || part.End > len(text) || part.Start == part.End {
			continue
		}
		if part.Start > end {
			pieces = append(pieces, singlePiece(text[end:part.Start], sourceOfMaker(got))...)
		}
		pieces = append(pieces, x.explainPart(at, s, got, part, text[part.Start:part.End], hops)...)
		end = part.End
	}
	if pieces == nil {
		return nil
	}
	if end < len(text) {
		pieces = append(pieces, singlePiece(text[end:], sourceOfMaker(got))...)
	}
	return pieces
}

// imagePart returns the part that tells of the image at a pointer into an output, in the
// message of that index: the images of a message are told in their order.
func imagePart(output value.Value, pointer string, message int) (image calls.Part, ok bool) {
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
	for _, part := range partsOfOutput(output) {
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

// explainPart explains one part: by the parameters that it was taken from, where there
// are some, and by its own word.
func (x *explainer) explainPart(at *frame, s *flow.Step, got *journal.StepState, part calls.Part, text string, hops int) []Piece {
	label := Source{Kind: SourcePart, Step: at.prefix + s.ID, Part: part.Kind, Name: part.Name}
	if part.Origins != nil && s.With != nil {
		pieces := x.explainOrigins(at, s, got, part.Origins, text, hops)
		if part.Kind == "" {
			return pieces // it was only passed on
		}
		return withSource(pieces, label)
	}
	if p, rest, ok := findParam(s.With, got.Params, text, ""); ok && len(text) > 1 {
		return withSource(x.explainParam(at, s, p, rest, text, hops), label)
	}
	return withSource(x.explainByQuotes(at, s, got, text, hops), label)
}

// explainOrigins explains a part by the parameters that, by its call, its bytes were
// taken from. The bytes between are of the part itself: of its file, or the call's own
// words.
func (x *explainer) explainOrigins(at *frame, s *flow.Step, got *journal.StepState, origins []calls.Origin, text string, hops int) (pieces []Piece) {
	end := 0
	for _, o := range origins {
		isNamed := o.Pointer != "" || o.Kind == "name"
		if !isNamed || o.Start < end || o.Start >= o.End || o.End > len(text) {
			continue
		}
		if o.Start > end {
			pieces = append(pieces, singlePiece(text[end:o.Start])...)
		}
		pieces = append(pieces, x.explainStretch(at, s, got, o, text[o.Start:o.End], hops)...)
		end = o.End
	}
	if end < len(text) {
		pieces = append(pieces, singlePiece(text[end:])...)
	}
	return pieces
}

// explainStretch explains a stretch that was taken from a parameter, by the pieces of
// the whole parameter cut to the stretch, or from a name that templates have.
func (x *explainer) explainStretch(at *frame, s *flow.Step, got *journal.StepState, o calls.Origin, stretch string, hops int) []Piece {
	if o.Pointer == "" {
		return x.explainReference(at, nil, strings.Split(o.Name, "."), stretch, s.Pos, hops)
	}
	p, rest := flow.Descend(s.With, o.Pointer)
	if isLiteral := p.Expr == nil && p.Text == nil && p.File == ""; isLiteral && rest != "" {
		pos, _ := s.With.Place(o.Pointer, o.From)
		return singlePiece(stretch, sourceOfPlace(pos))
	}
	v, _ := got.Params.At(o.Pointer)
	whole, isText := v.Str()
	isCopy := !o.Computed && isText && o.From <= len(whole) && strings.HasPrefix(whole[o.From:], stretch)
	if !isCopy {
		return x.explainParam(at, s, p, rest, stretch, hops)
	}
	return cutPieces(x.explainParam(at, s, p, rest, whole, hops), o.From, o.From+len(stretch))
}

// cutPieces returns the pieces of the bytes [start, end) of the text that they make.
func cutPieces(pieces []Piece, start, end int) (cut []Piece) {
	at := 0
	for _, p := range pieces {
		from, to := max(start-at, 0), min(end-at, len(p.Text))
		at += len(p.Text)
		if from < to {
			if to-from < len(p.Text) {
				p.Tokens = 0 // what the whole piece costs
			}
			p.Text = p.Text[from:to]
			cut = append(cut, p)
		}
	}
	return cut
}

// isQuotable reports whether a parameter's text can be told from chance when it stands
// inside a longer text: words, not a name or a path.
func isQuotable(text string) bool {
	const shortest = 8 // bytes
	prose := func(r rune) bool { return r == ' ' || r == '\n' || r > unicode.MaxASCII }
	return len(text) >= shortest && strings.ContainsFunc(text, prose)
}

// explainByQuotes splits a text that a call put together at the places where it holds the
// text of a parameter word for word. The pieces between have no source of their
// own.
func (x *explainer) explainByQuotes(at *frame, s *flow.Step, got *journal.StepState, text string, hops int) []Piece {
	var longest, place string
	eachText(got.Params, "", func(at, quote string) {
		if isQuotable(quote) && len(quote) > len(longest) && strings.Contains(text, quote) {
			longest, place = quote, at
		}
	})
	if longest == "" || s.With == nil {
		return []Piece{{Text: text}}
	}
	before, after, _ := strings.Cut(text, longest)
	var pieces []Piece
	if before != "" {
		pieces = x.explainByQuotes(at, s, got, before, hops)
	}
	p, rest := flow.Descend(s.With, place)
	pieces = append(pieces, x.explainParam(at, s, p, rest, longest, hops)...)
	if after != "" {
		pieces = append(pieces, x.explainByQuotes(at, s, got, after, hops)...)
	}
	return pieces
}

// eachText visits the strings in v with their pointers.
func eachText(v value.Value, at string, visit func(at, text string)) {
	if text, ok := v.Str(); ok {
		visit(at, text)
	}
	for i, item := range v.List() {
		eachText(item, at+"/"+strconv.Itoa(i), visit)
	}
	for k, member := range v.Map().All() {
		eachText(member, at+"/"+value.Escape(k), visit)
	}
}
