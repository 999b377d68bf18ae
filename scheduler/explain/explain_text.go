package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// explainText explains a text at a pointer of a step's input or output. If the value there is not text, text is
// its printed form.
func (x *explainer) explainText(at site, of side, pointer, text string, hops int) []Piece {
	maker := sourceOfMaker(at.got)
	if of == ofOutput {
		maker.Pointer = pointer
		if v, _ := at.got.Output.At(pointer); isText(v, text) {
			maker = maker.withSpan(0, len(text))
		}
	}
	if text == "" {
		return singlePiece(text, maker)
	}
	if hops > maxHops || at.step == nil {
		return withPossible(singlePiece(text, maker), anywhere)
	}
	return x.explainOnce(explained{at, of, pointer, text, false}, hops, func() []Piece { return x.explainRecorded(at, of, pointer, text, maker, hops) })
}

// explainRecorded explains a text that is on record; maker is the source of the parts without a known source.
func (x *explainer) explainRecorded(at site, of side, pointer, text string, maker Source, hops int) []Piece {
	made := func() []Piece {
		if of == ofInput {
			return x.explainTaken(at, text, maker, hops)
		}
		return singlePiece(text, x.makerOf(at, maker, of, pointer, hops))
	}
	if of == ofOutput && at.got.IsGiven { // the call, or the flow, has not run
		return made()
	}
	if of == ofOutput {
		x.collectLeftOut(at.got)
		if pieces := x.explainParts(at, text, pointer, hops); pieces != nil {
			return pieces
		}
		isError := at.got.Error != nil && strings.HasPrefix(pointer, "/error/") // of on_error: continue
		if sub, ok := x.subFlow(at); ok && !isError {
			return withSource(x.explainOutput(sub, pointer, text, hops+1), sourceOfMaker(at.got))
		}
	}
	if at.isInside() && of == ofOutput {
		return withPossible(singlePiece(text, maker), anywhere)
	}
	def, isKnown := at.definitionOf(at.got)
	recorded, _ := at.record(of).At(pointer)
	isOwnName := of == ofOutput && isMemberName(recorded, text)
	if !isKnown || def.Origins == nil || isOwnName {
		return made()
	}
	record := calls.Record{Params: at.got.Params, Input: at.got.Input, Output: at.got.Output, Spans: textSpans(at.got), Seen: func() *calls.Vars { return x.seenBy(at) }}
	origins := def.Origins(x.ctx, record, string(of)+pointer)
	if origins == nil {
		return made()
	}
	if isText(recorded, text) {
		origins = wholeText(origins, text)
	}
	origins = shownText(origins, text)
	pieces := x.explainOrigins(at, origins, text, hops)
	if of == ofOutput {
		return withSource(pieces, sourceOfMaker(at.got))
	}
	return completed(pieces, sourceOfMaker(at.got))
}

// textSpans returns the spans of the text that a step's call has put out; nil if the call reported none.
func textSpans(got *journal.StepState) []span.Span {
	members, err := got.OutputSpans.Members()
	if err != nil || len(members) != 1 || members[0].Pointer != "/text" {
		return nil
	}
	return members[0].Spans
}

// seenBy returns the question, the messages before it and the finished steps that a step saw.
func (x *explainer) seenBy(at site) *calls.Vars {
	var upstream calls.FixedUpstream
	for _, s := range x.upstream(at) {
		got := x.record.Step(at.prefix + s.ID)
		upstream.Steps = append(upstream.Steps, calls.FinishedStep{ID: s.ID, Name: s.Name, Description: s.Description, Output: got.Output})
	}
	vars := &calls.Vars{Upstream: upstream}
	question, _ := x.scopeOf(at).valueOf("question")
	vars.Question, _ = question.Str()
	vars.Conversation = x.record.Conversation
	return vars
}

// explainTaken explains a text in the input of a step whose call does not report its sources: the call made it
// from its parameters, the inputs of the flow and the outputs of the steps before. The input of a call that a step
// ran inside itself may come from anywhere.
func (x *explainer) explainTaken(at site, text string, maker Source, hops int) []Piece {
	if hops > maxHops || at.isInside() {
		return withPossible(singlePiece(text, maker), anywhere)
	}
	seen := slices.Concat(x.explainGivens(at, hops+1), x.explainUsed(at, []string{"inputs"}, hops+1))
	for _, s := range x.upstream(at) {
		seen = append(seen, x.explainUsed(at, []string{s.ID}, hops+1)...)
	}
	return withPossibleFrom(singlePiece(text, maker), seen)
}

// explainOutput explains a text of the outputs of a flow. A flow that declares none has the outputs of its steps
// by their ids.
func (x *explainer) explainOutput(of site, pointer, text string, hops int) []Piece {
	if of.flow.Outputs != nil {
		return x.explainBelow(of, of.flow.Outputs, pointer, text, hops)
	}
	path := flow.PointerTokens(pointer)
	if len(path) == 0 {
		return singlePiece(text)
	}
	if s, ok := of.flow.Step(path[0]); ok {
		if run, members := x.stepOf(of.frame, s, path[1:]); run.got != nil {
			return x.explainText(run, ofOutput, pointerTo(members), text, hops+1)
		}
	}
	return singlePiece(text)
}

// isText reports whether a value is this text.
func isText(v value.Value, text string) bool {
	s, ok := v.Str()
	return ok && s == text
}

// isMemberName reports whether a text is the name of a member of a value, not its content.
func isMemberName(v value.Value, text string) bool {
	_, ok := v.Map().Get(text)
	return ok
}

// wholeText returns the origins of a text. A single origin without a range of bytes stands for the whole text,
// even if its source is not text.
func wholeText(origins []calls.Origin, text string) []calls.Origin {
	if len(origins) != 1 || origins[0].End > 0 {
		return origins
	}
	whole := origins[0]
	whole.End = len(text)
	return []calls.Origin{whole}
}

// explainReference explains a stretch of the value of a name with members; from is the byte at which the stretch
// begins in its text, or below 0 for a text that was computed from it.
func (x *explainer) explainReference(at site, path []string, from int, stretch string, place Source, hops int) []Piece {
	v, _ := x.valueOf(at, path)
	whole, isText := v.Str()
	if !isText && v.Kind() != value.Object && v.Kind() != value.List {
		whole = stretch // however it is printed
	}
	if isText && standsAt(whole, from, stretch) {
		return cutPieces(x.explainName(at, path, whole, place, hops), from, from+len(stretch))
	}
	if isText || v.Kind() == value.Object || v.Kind() == value.List {
		if from >= 0 && !isText {
			pieces := x.explainName(at, path, stretch, place, hops) // the text is the printed form of the value
			return withOrigins(pieces, x.explainUsed(at, path, hops+1))
		}
		return x.placer.mergePieces(stretch, x.explainLeaves(v, func(pointer, text string) []Piece {
			return x.explainName(at, append(slices.Clip(path), flow.PointerTokens(pointer)...), text, place, hops)
		}), place)
	}
	return x.explainName(at, path, stretch, place, hops)
}

// maxLeaves bounds how many texts of a value are followed for a text computed from it.
const maxLeaves = 200

// explainLeaves explains the texts in a value.
func (x *explainer) explainLeaves(v value.Value, explain func(pointer, text string) []Piece) (all []Piece) {
	left := maxLeaves
	var visit func(v value.Value, pointer string)
	visit = func(v value.Value, pointer string) {
		switch v.Kind() {
		case value.List, value.Object:
			if v.Map().Len()+len(v.List()) == 0 {
				break // the keys that lead to it may have a source
			}
			for i, item := range v.List() {
				visit(item, pointer+"/"+strconv.Itoa(i))
			}
			for key, member := range v.Map().All() {
				visit(member, pointer+"/"+value.Escape(key))
			}
			return
		}
		left--
		text, _ := v.Str()
		isEmpty := text == "" && slices.Contains([]value.Kind{value.String, value.List, value.Object}, v.Kind())
		if text == "" {
			text = v.JSON()
		}
		if left < 0 || isEmpty && pointer == "" {
			return
		}
		if pieces := explain(pointer, text); !isEmpty || hasOrigins(pieces) {
			all = append(all, pieces...)
		}
	}
	visit(v, "")
	if left < 0 {
		all = append(all, singlePiece("", Source{Kind: SourceFlow, Possible: []Source{anywhere}})...)
	}
	return all
}

// explainName explains the whole text of a name with members.
func (x *explainer) explainName(at site, path []string, text string, place Source, hops int) []Piece {
	if hops > maxHops {
		return withPossible(singlePiece(text, place), anywhere)
	}
	path = ofInputs(path)
	source := place.withoutSpan()
	source.offset = place.offset
	source.Kind, source.Name, source.From = SourceName, strings.Join(path, "."), nil
	if v, _ := x.valueOf(at, path); isText(v, text) && path[0] != "secrets" {
		source = source.withSpan(0, len(text))
	}
	switch path[0] {
	case "inputs":
		source.Kind = SourceInput
		return withSource(x.explainInput(at, path, text, hops), source)
	case "conversation":
		source.Kind = SourceConversation
		return singlePiece(text, source)
	case "item":
		return withSource(x.explainItem(at, path[1:], text, hops), source)
	case "summary", "facts":
		run, members := x.upstreamPlace(at, path[0])
		if run.step == nil {
			return x.explainName(at, append([]string{"inputs"}, path...), text, place, hops+1)
		}
		return x.explainText(run, ofOutput, pointerTo(append(members, path[1:]...)), text, hops+1)
	case "history":
		return x.explainHistory(at, path, text, source, hops)
	}
	s, ok := at.flow.Step(path[0])
	if !ok && path[0] == "vars" {
		return x.explainVariable(at, path, singlePiece(text, source), hops)
	}
	if !ok {
		return singlePiece(text, source)
	}
	run, members := x.stepOf(at.frame, s, path[1:])
	if run.got == nil {
		return singlePiece(text, Source{Kind: SourceName, Name: source.Name})
	}
	return x.explainText(run, ofOutput, pointerTo(members), text, hops+1)
}

// ofInputs returns the one name of values with two: question is short for inputs.question.
func ofInputs(path []string) []string {
	if path[0] == "question" {
		return append([]string{"inputs"}, path...)
	}
	return path
}

// explainInput explains the text of an input of a flow that a step runs: by the value that the step gave; else it
// is the flow's default.
func (x *explainer) explainInput(at site, path []string, text string, hops int) []Piece {
	around := at.around
	if around.frame == nil {
		return singlePiece(text)
	}
	pointer := pointerTo(path)
	if _, given := around.got.Params.At(pointer); !given {
		return singlePiece(text)
	}
	return x.explainGiven(around, pointer, text, hops+1)
}

// explainItem explains a text of the item that a step runs for.
func (x *explainer) explainItem(at site, members []string, text string, hops int) []Piece {
	index, ok := at.item()
	if !ok {
		return singlePiece(text)
	}
	pointer := pointerTo(append([]string{index}, members...))
	whole := site{at.frame, at.step, x.record.Step(at.prefix + at.step.ID)}
	return x.explainBelow(whole, at.step.ForEach, pointer, text, hops+1)
}

// explainHistory explains a text from the inputs and outputs of earlier steps.
func (x *explainer) explainHistory(at site, path []string, text string, source Source, hops int) []Piece {
	steps := x.upstream(at)
	const members = 3 // history, index, member
	if len(path) < members {
		return singlePiece(text, source)
	}
	i, ok := atoi(path[1])
	if !ok || i >= len(steps) {
		return singlePiece(text, source)
	}
	run, rest := x.stepOf(at.frame, steps[i], path[members:])
	switch {
	case run.got == nil:
		return singlePiece(text, source)
	case path[2] == "output":
		return x.explainText(run, ofOutput, pointerTo(rest), text, hops+1)
	case path[2] == "input":
		return withStep(x.explainText(run, ofInput, pointerTo(rest), text, hops+1), run.got)
	}
	return singlePiece(text, at.sourceOfPlace(steps[i].Pos))
}

// partsOf returns the provenance in the output of a step.
func (x *explainer) partsOf(got *journal.StepState) outputParts {
	if known, ok := x.parts[got]; ok {
		return known
	}
	parts := newOutputParts(partsOfOutput(got.Call, got.Output))
	x.parts[got] = parts
	return parts
}
