package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// collectLeftOut lists the parts that a step left out, once.
func (x *explainer) collectLeftOut(got *journal.StepState) {
	if x.seen[got.ID] {
		return
	}
	x.seen[got.ID] = true
	for _, part := range x.partsOf(got).all {
		if !part.Included {
			x.leftOut = append(x.leftOut, LeftOut{
				Step: got.ID, Kind: part.Kind, Name: part.Name,
				Reason: part.Reason, Code: part.Code, Detail: part.Detail, Tokens: part.Tokens,
			})
		}
	}
}

// explainParts explains a text by the provenance that the step put out with it. It returns nil if there is none
// for this text.
func (x *explainer) explainParts(at site, text, pointer string, hops int) (pieces []Piece) {
	told := x.partsOf(at.got)
	if len(told.all) == 0 {
		return nil
	}
	if part, ok := partAt(at.got.Output, pointer); ok {
		if !isCredible(at.got, part.Origins, text) {
			return nil
		}
		return x.explainPart(at, part, text, hops)
	}
	if image, ok := told.imageAt(at.got.Output, pointer, text); ok {
		return []Piece{{Text: text, Tokens: image.Tokens, Sources: []Source{x.labelOf(at, image)}}}
	}
	place, ok := placeOfParts(at.got.Output, pointer)
	if !ok {
		return nil
	}
	parts := told.partsAt(place)
	layout, ok := fittedLayout(text, parts, place.first)
	if !ok && len(parts) > 0 {
		return completed(x.explainOrigins(at, computedWhole(parts, text), text, hops), sourceOfMaker(at.got))
	}
	if isAlone := place.first == 0 && place.message < 0; isAlone { // parts that end behind it describe another text
		size := layout.wholeLen(text)
		parts = slices.DeleteFunc(slices.Clone(parts), func(p calls.Part) bool { return p.End > size })
	}
	end := 0
	for _, part := range shownParts(at.got, parts, layout, text, place.first) {
		if part.Start > end {
			pieces = append(pieces, x.ownWords(at, pointer, text, end, part.Start, hops)...)
		}
		pieces = append(pieces, x.explainPart(at, part, text[part.Start:part.End], hops)...)
		end = part.End
	}
	if pieces != nil && end < len(text) {
		pieces = append(pieces, x.ownWords(at, pointer, text, end, len(text), hops)...)
	}
	return pieces
}

// ownWords returns the piece of the bytes [start, end) of a text in the output of a step that no part describes:
// the words of its call.
func (x *explainer) ownWords(at site, pointer, text string, start, end, hops int) []Piece {
	maker := x.sourceOfWords(at, hops)
	maker.Pointer = pointer
	return singlePiece(text[start:end], maker.withSpan(start, end-start))
}

// sourceOfWords returns the source of words of a call. A foreign call need not report everything, so its words may
// contain any value that the step was given.
func (x *explainer) sourceOfWords(at site, hops int) Source {
	maker := sourceOfMaker(at.got)
	if at.step == nil || !isForeign(at.got.Call) {
		return maker
	}
	given := Source{}.madeFrom(x.explainGivens(x.callerOf(at), hops+1))
	maker.Possible = slices.Concat(given.Origins, given.Possible)
	if isOfServer(at.got.Call) {
		maker.Possible = append(maker.Possible, Source{Kind: SourceStep, Call: callHTTP})
	}
	return maker
}

// labelOf returns the source of a part of an output.
func (x *explainer) labelOf(at site, part calls.Part) Source {
	return Source{Kind: SourcePart, Step: x.host(at).got.ID, Part: part.Kind, Name: part.Name}
}

// explainPart explains one part of an output: by the origins of its bytes, and by its own name.
func (x *explainer) explainPart(at site, part calls.Part, text string, hops int) []Piece {
	pieces := x.explainOrigins(at, part.Origins, text, hops)
	words := x.sourceOfWords(at, hops)
	if part.Kind == "" {
		return completed(pieces, words) // it was only passed on
	}
	label := x.labelOf(at, part)
	for i := range pieces {
		own := label
		if len(pieces[i].Sources) == 0 {
			own.Possible = words.Possible
		}
		if last := len(pieces[i].Sources) - 1; last > 0 && pieces[i].Sources[last].isHopTo(label) {
			pieces[i].Sources = pieces[i].Sources[:last]
		}
		if sources := pieces[i].Sources; len(sources) == 1 {
			switch sources[0].Kind {
			case SourceFile:
				own.Path, own.PathLine, own.PathCol = sources[0].Path, sources[0].PathLine, sources[0].PathCol
				own.Start, own.End = sources[0].Start, sources[0].End
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

// explainOrigins explains a text by the origins that its call reports. The bytes between origins are words of the
// call, and have no source here.
func (x *explainer) explainOrigins(at site, origins []calls.Origin, text string, hops int) (pieces []Piece) {
	if len(origins) == 1 && origins[0].End == 0 {
		if origins[0].Computed {
			return x.explainComputed(at, origins, text, hops)
		}
		return x.explainOrigin(at, origins[0], text, hops)
	}
	end := 0
	for i := 0; i < len(origins); i++ {
		o := origins[i]
		isInside := o.Start >= end && o.Start < o.End && o.End <= len(text)
		if !isInside || !isBetweenRunes(text, o.Start, o.End) {
			continue
		}
		if o.Start > end {
			pieces = append(pieces, singlePiece(text[end:o.Start])...)
		}
		stretch := text[o.Start:o.End]
		if o.Computed {
			first := i
			for i+1 < len(origins) && origins[i+1].Start == o.Start && origins[i+1].End == o.End {
				i++
			}
			pieces = append(pieces, x.explainComputed(at, origins[first:i+1], stretch, hops)...)
		} else {
			pieces = append(pieces, x.explainOrigin(at, o, stretch, hops)...)
		}
		end = o.End
	}
	if end < len(text) {
		pieces = append(pieces, singlePiece(text[end:])...)
	}
	return merged(pieces)
}

// explainComputed explains a stretch that a call has computed from all of these origins. An expression among them
// is the place of the computation, not a source.
func (x *explainer) explainComputed(at site, origins []calls.Origin, stretch string, hops int) []Piece {
	place := x.placeOfOrigin(at, origins[0])
	isExpression := false
	var from []Piece
	for _, o := range origins {
		if expression, ok := x.expressionOf(at, o); ok && (o.Size > 0 || len(origins) > 1) {
			place, isExpression = expression, true
			continue
		}
		from = append(from, x.explainOrigin(at, o, stretch, hops)...)
	}
	ways := waysOf(from)
	isPrinted := len(origins) == 1 && x.isPrinted(at, origins[0], stretch)
	isTold := len(ways) == 0 || len(ways) == 1 && (isPrinted || !isValue(ways[0]))
	if isTold && !isExpression {
		return x.placer.mergePieces(stretch, from, place)
	}
	return x.placer.computedPiece(stretch, from, place)
}

// isValue reports whether a way begins with a value; a text that a call computes from a value is no copy of it.
// Words of a file or of a call, in contrast, keep their source even if the call has rewritten them.
func isValue(way []Source) bool {
	switch way[0].Kind { //nolint:exhaustive // the others are no values
	case SourceInput, SourceName, SourceConversation, SourceStep, SourceModel, SourceTool, SourceMemory, SourceUser, SourceComputed:
		return true
	}
	return false
}

// isPrinted reports whether a stretch is a number, or the like, as it is written.
func (x *explainer) isPrinted(at site, o calls.Origin, stretch string) bool {
	v, _ := x.callerOf(at).got.Params.At(o.Pointer)
	if path := pathOfOrigin(o); path != nil && at.frame != nil {
		v, _ = x.valueOf(x.host(at), path)
	}
	isScalar := v.Kind() != value.String && v.Kind() < value.List && !v.IsNull()
	return isScalar && (v.JSON() == stretch || prompt.Text(v) == stretch)
}

// expressionOf returns the source of an expression in a template that the call expands itself; ok is false if the
// origin is no such expression.
func (x *explainer) expressionOf(at site, o calls.Origin) (source Source, ok bool) {
	caller := x.callerOf(at)
	isOfParam := o.Kind == "" && o.Pointer != ""
	isOfCall := at.step != nil && caller.got.Call == at.step.Call
	if !isOfParam || !isOfCall || !slices.Contains(at.step.Def.Info.Literal, flow.PointerTokens(o.Pointer)[0]) {
		return Source{}, false
	}
	given, _ := caller.got.Params.At(o.Pointer)
	text, _ := given.Str()
	if o.From < 0 || o.From+o.Size > len(text) {
		return Source{}, false
	}
	source = x.placeOf(caller, o.Pointer).withOffset(o.From)
	source.Kind = SourceComputed
	source.Name = expressionName(text[o.From : o.From+o.Size])
	return source, true
}

// merged joins neighbouring pieces if the sources of each continue the sources of the one before.
func merged(pieces []Piece) (all []Piece) {
	for _, p := range pieces {
		last := len(all) - 1
		if last >= 0 && len(p.Sources) > 0 && slices.EqualFunc(all[last].Sources, p.Sources, Source.continuesIn) {
			before := &all[last]
			before.Text += p.Text
			before.Tokens = 0
			before.Sources = slices.Clone(before.Sources)
			for i, s := range before.Sources {
				if s.Start != nil {
					before.Sources[i] = s.withSpan(*s.Start, len(before.Text))
				}
			}
			continue
		}
		all = append(all, p)
	}
	return all
}

// continuesIn reports whether another piece follows directly in the same source.
func (s Source) continuesIn(next Source) bool {
	if s.Start == nil || next.Start == nil {
		return s.Start == next.Start && s.equals(next)
	}
	next.PathLine = s.PathLine
	return *s.End == *next.Start && s.equals(next)
}

// pathOfOrigin returns the name of the step's templates, with members, that an origin points into; nil
// for other origins.
func pathOfOrigin(o calls.Origin) []string {
	switch o.Kind { //nolint:exhaustive // the others are no names
	case calls.OriginName:
		return append(strings.Split(o.Name, "."), flow.PointerTokens(o.Pointer)...)
	case calls.OriginConversation:
		return append([]string{"conversation"}, flow.PointerTokens(o.Pointer)...)
	}
	return nil
}

// explainNamed explains a stretch of the value that a name has in the step's templates.
func (x *explainer) explainNamed(at site, o calls.Origin, stretch string, hops int) []Piece {
	if at.frame == nil || at.step == nil {
		return singlePiece(stretch, sourceOfMaker(at.got))
	}
	at = x.host(at)
	place := at.sourceOfPlace(at.step.Pos)
	path := pathOfOrigin(o)
	v, _ := x.valueOf(at, path)
	whole, _ := v.Str()
	o = shownOrigin(o, whole)
	if o.From > 0 && o.From <= len(whole) && strings.Contains(whole[:o.From], secret.Mask) {
		o.Computed, o.Size = true, 0 // a mask may have moved the bytes after it
	}
	if !o.Computed {
		return x.explainReference(at, path, o.From, stretch, place, hops)
	}
	if isOfSome := o.Size > 0 && o.From >= 0 && o.From+o.Size <= len(whole); isOfSome {
		pieces := x.explainName(at, path, whole, place, hops)
		return x.placer.mergePieces(stretch, cutPieces(pieces, o.From, o.From+o.Size), place)
	}
	return x.explainReference(at, path, -1, stretch, place, hops)
}

// explainOrigin explains a stretch by its origin.
func (x *explainer) explainOrigin(at site, o calls.Origin, stretch string, hops int) []Piece {
	of := func(source Source) []Piece {
		if isCopy := !o.Computed && o.Start < o.End && o.From >= 0; isCopy {
			source = source.withSpan(o.From, len(stretch))
		}
		return singlePiece(stretch, source)
	}
	switch o.Kind {
	case calls.OriginName, calls.OriginConversation:
		return x.explainNamed(at, o, stretch, hops)
	case calls.OriginAnswer:
		return of(Source{Kind: SourceModel})
	case calls.OriginTool:
		return of(x.toolSource(at, o, hops))
	case calls.OriginMemory:
		return x.withSaved(of(Source{Kind: SourceMemory, Name: o.Name}), at, o.Name, hops)
	case calls.OriginUser:
		return of(Source{Kind: SourceKind(o.Kind), Name: o.Name})
	case calls.OriginText:
		return of(Source{Kind: SourceText, Name: o.Name, PathLine: o.Line})
	case calls.OriginClock:
		return singlePiece(stretch, Source{Kind: SourceClock})
	case calls.OriginParams:
		return singlePiece(stretch, at.placed(Source{Kind: SourceParams, Name: at.step.Call}, at.step.Pos))
	}
	if o.File != "" {
		return of(Source{Kind: SourceFile, Name: o.File, Path: o.File, PathLine: o.Line})
	}
	if o.Pointer == "" || at.step == nil {
		return singlePiece(stretch)
	}
	return x.explainPointer(at, o, stretch, hops)
}
