package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// explainPointer explains a stretch of the value that the parameters have at the pointer of an origin; all of it
// if the origin has no bytes.
func (x *explainer) explainPointer(at site, o calls.Origin, stretch string, hops int) []Piece {
	caller := x.callerOf(at)
	v, found := caller.got.Params.At(o.Pointer)
	given, isText := v.Str()
	o = shownOrigin(o, given)
	isWhole := o.Start == o.End && isText && given == stretch
	hasContent := !v.IsNull() || o.Start == o.End
	isValue := !isText && hasContent
	standsForValue := isWhole || isValue
	if standsForValue && !o.Computed {
		return x.explainGiven(caller, o.Pointer, stretch, hops)
	}
	if isText && !o.Computed && standsAt(given, o.From, stretch) {
		pieces := x.explainGiven(caller, o.Pointer, given, hops)
		return cutPieces(pieces, o.From, o.From+len(stretch))
	}
	place := x.placeOfOrigin(at, o)
	if !found { // it is a default of the call
		return singlePiece(stretch)
	}
	if x.isLiteral(caller, o.Pointer) {
		return singlePiece(stretch, place)
	}
	isInText := isText && o.From >= 0 && o.From+o.Size <= len(given)
	if isInText && o.Size > 0 {
		pieces := x.explainGiven(caller, o.Pointer, given, hops)
		return x.placer.mergePieces(stretch, cutPieces(pieces, o.From, o.From+o.Size), place)
	}
	// Many stretches may be computed from the same parameter.
	all := x.explainOnce(usedKey(caller, ofParams, o.Pointer), hops, func() []Piece {
		return x.placer.mergePieces("", x.explainLeaves(v, func(pointer, text string) []Piece {
			return x.explainGiven(caller, o.Pointer+pointer, text, hops)
		}), place)
	})
	all[0].Text = stretch
	return all
}

// fillerOf returns the call slot that filled the parameters of a step.
func (x *explainer) fillerOf(at site) (filler site, ok bool) {
	if !at.step.EnableFilling {
		return site{}, false
	}
	got := x.record.Step(at.got.ID + "/" + flow.CallSlot + "-1")
	return site{at.frame, at.step, got}, got != nil && got.Call == flow.CallSlot
}

// isFiller reports whether a site is the call slot that filled the parameters of its step.
func (x *explainer) isFiller(at site) bool {
	return at.step.EnableFilling && at.got.ID == x.host(at).got.ID+"/"+flow.CallSlot+"-1"
}

// explainGiven explains the text that the parameters of a site have at a pointer.
func (x *explainer) explainGiven(at site, pointer, text string, hops int) []Piece {
	if at.step == nil || hops > maxHops {
		return withPossible(singlePiece(text, sourceOfMaker(at.got)), anywhere)
	}
	if journal.IsPseudoStep(at.got.ID) || x.agents[at.step] != nil {
		return x.explainInside(at, pointer, text, hops)
	}
	if filler, ok := x.fillerOf(at); ok && filler.got.Output.Map().Len() > 0 {
		return x.explainFilled(filler, pointer, text, hops)
	}
	if at.step.With == nil {
		return singlePiece(text, at.sourceOfPlace(at.step.Pos))
	}
	key := explained{at, ofParams, pointer, text, false}
	return x.explainOnce(key, hops, func() []Piece { return x.explainBelow(at, at.step.With, pointer, text, hops) })
}

// explainBelow explains the text at a pointer into the parameters or items of a step, or into outputs.
func (x *explainer) explainBelow(at site, root *flow.Param, pointer, text string, hops int) []Piece {
	p, rest := flow.Descend(root, pointer)
	if name, place, ok := root.FileAt(pointer); ok {
		source := at.placed(Source{Kind: SourceFile, Name: name, Pointer: pointer}, place)
		if pos, exact := root.Place(pointer, 0); exact {
			start, _ := root.FileOffset(pointer, 0)
			source.Path, source.PathLine = pos.File, pos.Line
			source = source.withSpan(start, len(text))
		} else if pos, start, ok := root.DataPlace(pointer, text); ok {
			source.Path, source.PathLine, source.PathCol = pos.File, pos.Line, pos.Col
			if start >= 0 {
				source = source.withSpan(start, len(text))
			}
		}
		return singlePiece(text, source)
	}
	if p.Expr == nil && p.Text == nil {
		if pos, isName := root.NamePlace(pointer, text); isName {
			place := at.sourceOfPlace(pos)
			place.Pointer = pointer
			return singlePiece(text, place)
		}
		place := x.sourceOfParam(at, root, pointer)
		if v, _ := p.Literal.At(rest); isText(v, text) {
			place = place.withSpan(0, len(text))
		}
		if isWritten := p.Map != nil || p.List != nil; isWritten { // with its computed members
			return singlePiece(text, x.madeOfRefs(at, p, place, hops))
		}
		return singlePiece(text, place)
	}
	return x.explainRendered(at, root, p, pointer, rest, text, hops)
}

// explainInside explains a text of the parameters of a call that a step ran inside itself.
func (x *explainer) explainInside(at site, pointer, text string, hops int) []Piece {
	if !x.isFiller(at) {
		return x.explainOfTool(at, pointer, text, hops)
	}
	below, isDatum := cutPointer(pointer, "/data")
	if !isDatum {
		return singlePiece(text, at.placed(Source{Kind: SourceParams, Name: at.step.Call}, at.step.Pos))
	}
	host := x.host(at)
	if at.step.With == nil {
		return singlePiece(text, at.sourceOfPlace(at.step.Pos))
	}
	return x.explainBelow(host, at.step.With, below, text, hops)
}

// explainOfTool explains a text of the parameters of a call that a tool of an agent runs: it is fixed in the parameters of the agent, or
// an argument that the model has given.
func (x *explainer) explainOfTool(at site, pointer, text string, hops int) []Piece {
	maker := sourceOfMaker(at.got)
	use := x.record.Step(journal.OuterPath(at.got.ID))
	if use == nil || !journal.IsPseudoStep(use.ID) {
		return withPossible(singlePiece(text, maker), anywhere)
	}
	name, _ := textAt(use.Params, "name")
	agent := site{at.frame, x.agentStep(at.step), x.record.Step(journal.OuterPath(use.ID))}
	tool, ok := toolOf(agent, name)
	if !ok {
		return withPossible(singlePiece(text, maker), anywhere)
	}
	if tool.Call == flow.CallFlow {
		below, isInput := cutPointer(pointer, "/inputs")
		if !isInput {
			return withSource(x.explainGiven(agent, tool.Pointer+"/path", text, hops+1), maker)
		}
		pointer = below
	}
	written, _ := textAt(use.Params, "arguments")
	arguments, err := value.ParseJSON([]byte(written))
	argument, isArgument := arguments.At(pointer)
	isArgument = isArgument && err == nil
	fixed := tool.Pointer + "/with" + pointer
	given, isFixed := agent.got.Params.At(fixed)
	switch {
	case isFixed && argument.Map().Len() > 0 && given.Kind() == value.Object:
		return x.explainOverlaid(agent, fixed, text, hops)
	case isFixed:
		return completed(x.explainGiven(agent, fixed, text, hops+1), maker)
	case isArgument:
		return withSource(singlePiece(text, Source{Kind: SourceModel}), Source{Kind: SourceStep, Step: at.got.ID})
	}
	return withPossible(singlePiece(text, maker), anywhere)
}

// explainOverlaid explains an object at a pointer in which the agent's parameters fix some members, and the model
// gave others.
func (x *explainer) explainOverlaid(agent site, pointer, text string, hops int) []Piece {
	fixed := x.explainGiven(agent, pointer, text, hops+1)
	source := x.placeOf(agent, pointer)
	source.Kind = SourceComputed
	for _, p := range fixed {
		source.From = append(source.From, p.Sources[0].From...)
	}
	model := Source{Kind: SourceModel}
	source.From = append(source.From, model.String())
	return withOrigins(singlePiece(text, source), append(fixed, Piece{Sources: []Source{model}}))
}

// explainFilled explains a text of parameters that the call slot has filled.
func (x *explainer) explainFilled(filler site, pointer, text string, hops int) []Piece {
	sources, _ := filler.got.Output.Get("sources")
	kind := SourceModel
	for at := pointer; ; {
		if v, ok := sources.Get(at); ok {
			switch source, _ := v.Str(); source {
			case "known":
				return x.explainInside(filler, "/data"+pointer, text, hops)
			case "default":
				kind = SourceFlow
			case "user":
				kind = SourceUser
			}
			break
		}
		if at == "" {
			break
		}
		at = at[:strings.LastIndexByte(at, '/')]
	}
	maker := sourceOfMaker(filler.got)
	maker.Origins = []Source{{Kind: kind}}
	return singlePiece(text, maker)
}

// isLiteral reports whether the flow itself has the value that a site's parameters have at a pointer.
func (x *explainer) isLiteral(at site, pointer string) bool {
	if at.step == nil || journal.IsPseudoStep(at.got.ID) || at.step.With == nil || at.step.EnableFilling {
		return false
	}
	p, _ := flow.Descend(at.step.With, pointer)
	_, isStatic := p.Static()
	_, _, isFile := at.step.With.FileAt(pointer)
	return isStatic && !isFile
}

// placeOf returns the place in the flow that sets the parameter at a pointer.
func (x *explainer) placeOf(at site, pointer string) Source {
	if at.step == nil {
		return sourceOfMaker(at.got)
	}
	if journal.IsPseudoStep(at.got.ID) {
		if !x.isFiller(at) {
			return sourceOfMaker(at.got)
		}
		below, isDatum := cutPointer(pointer, "/data")
		if !isDatum {
			return at.placed(Source{Kind: SourceParams, Name: at.step.Call}, at.step.Pos)
		}
		pointer = below
	}
	if at.step.With == nil {
		return at.sourceOfPlace(at.step.Pos)
	}
	return x.sourceOfParam(at, at.step.With, pointer)
}

// placeOfOrigin returns the place in the flow at which an origin of a call begins: in a parameter, the place of
// the words or of the expression that gave its first byte.
func (x *explainer) placeOfOrigin(at site, o calls.Origin) Source {
	caller := x.callerOf(at)
	if isParam := o.Kind == "" && o.File == ""; !isParam {
		return x.placeOf(caller, "")
	}
	place := x.placeOf(caller, o.Pointer)
	if at.step == nil || at.step.With == nil || at.step.EnableFilling || journal.IsPseudoStep(caller.got.ID) {
		return place
	}
	p, rest := flow.Descend(at.step.With, o.Pointer)
	isPart := !o.Computed || o.Size > 0 || o.From > 0
	if isLiteral := p.Expr == nil && p.Text == nil; isLiteral {
		if isPart && o.From > 0 {
			return place.withOffset(o.From)
		}
		return place
	}
	offset, ok := x.offsetIn(caller, p, o, rest, isPart)
	if !ok {
		return place
	}
	return x.sourceOfParam(at, at.step.With, strings.TrimSuffix(o.Pointer, rest)).withOffset(offset)
}

// offsetIn returns the byte of a template, or of an expression, that gave the first byte of an origin in the
// rendered text; ok is false if it is not known. isPart reports that the origin is only a part of the text.
func (x *explainer) offsetIn(at site, p *flow.Param, o calls.Origin, rest string, isPart bool) (offset int, ok bool) {
	if p.Expr != nil {
		if _, isPath := p.Expr.Path(); isPath {
			return p.TextOffset, rest == ""
		}
	}
	t := x.traceOf(at, at.step.With, p, strings.TrimSuffix(o.Pointer, rest))
	if t == nil {
		return 0, false
	}
	m, isKnown := t.memberAt(rest)
	if !isKnown || m.Pointer != rest || !isPart && len(m.Spans) != 1 {
		return 0, false
	}
	for _, s := range m.Spans {
		if isPart && (o.From < s.Start || o.From >= s.End) {
			continue
		}
		offset = t.offset + s.TemplateStart
		isCopy := s.Kind == span.Literal && s.End-s.Start == s.TemplateEnd-s.TemplateStart
		if isPart && isCopy {
			offset += o.From - s.Start
		}
		return offset, true
	}
	return 0, false
}

// explainRendered explains the text that a template or an expression gave at a pointer of a root, with the parameters of a step for
// example; rest is the part of the pointer below the template.
func (x *explainer) explainRendered(at site, root, p *flow.Param, pointer, rest, text string, hops int) []Piece {
	pointer = strings.TrimSuffix(pointer, rest)
	place := x.sourceOfParam(at, root, pointer)
	if p.Expr != nil {
		if path, ok := p.Expr.Path(); ok {
			path = append(path[:len(path):len(path)], flow.PointerTokens(rest)...)
			if refs := p.Expr.Refs(); len(refs) > 0 {
				place = place.withOffset(p.TextOffset + refs[0].Offset)
			}
			return x.hopInto(at, x.explainReference(at, path, 0, text, place, hops), path)
		}
	}
	t := x.traceOf(at, root, p, pointer)
	if t == nil {
		x.unrecorded = x.unrecorded || text != "" // an empty text has no spans
		return singlePiece(text, x.unknownSource(at, p, place, hops))
	}
	v := t.valueAt(rest)
	m, isOfMember := t.memberAt(rest)
	switch {
	case !isOfMember && isMemberName(v, text):
		return x.explainMemberName(at, t, rest+"/"+value.Escape(text), text, place, hops)
	case !isOfMember && len(t.membersBelow(rest)) == 0:
		return singlePiece(text, x.unknownSource(at, p, place, hops))
	case !isOfMember:
		return x.placer.mergePieces(text, x.explainMembers(at, t, rest, place, hops), place)
	}
	below := rest[len(m.Pointer):]
	if v.Kind() == value.String && below == "" {
		m.Spans = layoutOf(text).shownSpans(m.Spans, text)
	}
	if v.Kind() == value.String && below == "" && !t.isOfTemplate(m.Spans, text) {
		return singlePiece(text, x.unknownSource(at, p, place, hops))
	}
	var out []Piece
	for _, s := range m.Spans {
		stretch := text
		if s.End > s.Start && below == "" && s.End <= len(text) {
			stretch = text[s.Start:s.End]
		}
		out = append(out, x.explainSpan(at, t, s, below, stretch, place, hops)...)
	}
	if len(out) == 0 {
		out = singlePiece(text, place)
	}
	return x.withKeys(at, out, m.Keys, hops)
}

// explainMembers explains the texts of an expression's result below a pointer.
func (x *explainer) explainMembers(at site, t *trace, rest string, place Source, hops int) (all []Piece) {
	for _, m := range t.membersBelow(rest) {
		var own []Piece
		for _, s := range m.Spans {
			own = append(own, x.explainSpan(at, t, s, "", " ", place, hops)...)
		}
		if len(own) == 0 {
			own = singlePiece("", place)
		}
		all = append(all, x.withKeys(at, own, m.Keys, hops)...)
	}
	return all
}

// explainMemberName explains the name of the member at a pointer into an expression's result: a constant of the expression, or computed.
func (x *explainer) explainMemberName(at site, t *trace, pointer, text string, place Source, hops int) []Piece {
	pieces := singlePiece(text, place.withOffset(t.offset))
	for _, m := range t.membersBelow(pointer) {
		pieces = x.withKeys(at, pieces, m.Keys, hops)
	}
	return pieces
}

// withKeys adds the sources of the keys that lead to a member to its pieces: a text computed from the whole may
// contain the keys.
func (x *explainer) withKeys(at site, pieces []Piece, keys []span.ValueRef, hops int) []Piece {
	var from []Piece
	for _, key := range keys {
		from = append(from, x.explainUsed(at, append([]string{key.Name}, flow.PointerTokens(key.Pointer)...), hops+1)...)
	}
	return withPossibleFrom(pieces, from)
}

// explainSpan explains a stretch of a rendered text. If the span is a whole value, below is the pointer of the
// text in that value, else "".
func (x *explainer) explainSpan(at site, t *trace, s span.Span, below, stretch string, place Source, hops int) []Piece {
	place = place.withOffset(t.offset + s.TemplateStart)
	switch s.Kind {
	case span.Literal:
		isCopy := below == "" && len(stretch) == s.End-s.Start && len(stretch) == s.TemplateEnd-s.TemplateStart
		if isCopy { // else the constant has escapes
			place = place.withSpan(t.offset+s.TemplateStart, len(stretch))
		}
	case span.Reference:
		from := s.Sources[0]
		path := append([]string{from.Name}, flow.PointerTokens(from.Pointer+below)...)
		start := from.Start
		if start > 0 { // an image before it may be hidden
			source, _ := x.valueOf(at, path)
			text, _ := source.Str()
			start = layoutOf(text).shownAt(start)
		}
		return x.hopInto(at, x.explainReference(at, path, start, stretch, place, hops), path)
	case span.Computed:
		place.Kind = SourceComputed
		if t.source != "" && s.TemplateEnd <= len(t.source) {
			place.Name = expressionName(t.source[s.TemplateStart:s.TemplateEnd])
		}
		for _, from := range s.Sources {
			if name := nameOf(from); !slices.Contains(place.From, name) {
				place.From = append(place.From, name)
			}
			path := append([]string{from.Name}, flow.PointerTokens(from.Pointer)...)
			place = place.madeFrom(x.explainUsed(at, path, hops+1))
		}
	}
	return singlePiece(stretch, place)
}

// expressionName returns the text of an expression as a name; "" if it is more than one expression.
func expressionName(text string) string {
	name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "{{"), "}}"))
	if strings.Contains(name, "{%") || strings.Count(name, "{{") != strings.Count(name, "}}") {
		return ""
	}
	return name
}

// withRefs adds the names that a text may also have been computed from to its source.
func (x *explainer) withRefs(at site, source Source, refs []prompt.Ref, hops int) Source {
	for _, ref := range refs {
		name := strings.Join(ofInputs(ref.Path), ".")
		isKnown := slices.ContainsFunc(source.From, func(known string) bool { return name == known || strings.HasPrefix(name, known+".") })
		if !isKnown {
			source.From = append(source.From, name)
			source = source.madeFrom(x.explainUsed(at, ref.Path, hops+1))
		}
	}
	return source
}

// nameOf writes a value of the scope as templates do.
func nameOf(ref span.ValueRef) string {
	return strings.Join(ofInputs(append([]string{ref.Name}, flow.PointerTokens(ref.Pointer)...)), ".")
}

// hopInto adds the step that took a text from another step.
func (x *explainer) hopInto(at site, pieces []Piece, path []string) []Piece {
	_, isStep := at.flow.Step(path[0])
	isFromSteps := isStep || slices.Contains([]string{"summary", "facts", "history"}, path[0])
	if !isFromSteps || at.step == nil {
		return pieces
	}
	return withSource(pieces, Source{Kind: SourceStep, Step: at.prefix + at.step.ID})
}

// unknownSource returns the source of a text that cannot be rendered again: all the names
// that may be in it.
func (x *explainer) unknownSource(at site, p *flow.Param, source Source, hops int) Source {
	source.Kind = SourceComputed
	var refs []prompt.Ref
	p.EachRef(func(ref prompt.Ref) { refs = append(refs, ref) })
	if len(refs) == 1 {
		source = source.withOffset(p.TextOffset + refs[0].Offset)
	}
	return x.madeOfRefs(at, p, source, hops)
}

// madeOfRefs returns the source of a text computed from all the names in a parameter, if it has any.
func (x *explainer) madeOfRefs(at site, p *flow.Param, source Source, hops int) Source {
	var refs []prompt.Ref
	p.EachRef(func(ref prompt.Ref) { refs = append(refs, ref) })
	if len(refs) > 0 {
		source.Kind = SourceComputed
	}
	return x.withRefs(at, source, refs, hops)
}

// sourceOfParam returns the source of the value that the parameters or items of a step, or outputs, have at a
// pointer.
func (x *explainer) sourceOfParam(at site, root *flow.Param, pointer string) Source {
	p, rest := flow.Descend(root, pointer)
	pos := p.Pos
	if rest != "" {
		pos, _ = root.Place(pointer, 0)
	}
	source := at.sourceOfPlace(pos)
	source.Pointer = pointer
	key := scalarPlace{pos, pointer, source.Seq}
	if _, isKnown := x.placer[key]; !isKnown {
		x.placer[key] = root.Scalar(pointer)
	}
	return source
}
