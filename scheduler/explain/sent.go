package explain

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// explainBuilt explains the prompt that a step has in its input or output. ok is false if it has none, or if it
// has sent a prompt that continues it.
func (x *explainer) explainBuilt(at site, inside []*journal.StepState) (e *Explanation, ok bool) {
	if journal.IsPseudoStep(at.got.ID) && len(at.got.Prompts) > 0 {
		return nil, false
	}
	prompt := finalPrompt(at.step, at.got)
	if len(prompt) == 0 {
		return nil, false
	}
	for _, sender := range append(inside, at.got) {
		isOwn := x.callerOf(site{at.frame, at.step, sender}).got == at.got // and no call that the step ran inside itself
		if isOwn && slices.ContainsFunc(sender.Prompts, func(p journal.Prompt) bool { return goesOnFrom(p, at.got.Input) }) {
			return nil, false
		}
	}
	e = newExplanation(at.got)
	e.isSent = at.step != nil && at.step.Def.Info.UsesLLM
	if e.isSent && len(inside) == 0 {
		e.setTotal(at.got)
	} else if built, ok := at.got.Output.Get("tokens"); ok && !e.isSent {
		if n, ok := built.Int(); ok {
			e.Total, e.CountedBy = int(n), ByEstimate
		}
	}
	for _, m := range prompt {
		x.addMessage(e, m.role, m.texts, func(text located) []Piece {
			return orAnywhere(at, x.explainText(at, text.of, text.pointer, text.text, 0))
		})
	}
	return e, true
}

// goesOnFrom reports whether a prompt of a call begins with the messages of its input. The two are then one
// conversation, as are any two requests if one begins with all messages of the other: the prompt has them all, and
// the input is not shown again before it. No source is found by equal text here: each message of the prompt is
// explained by the parts of its own request.
func goesOnFrom(p journal.Prompt, input value.Value) bool {
	list, _ := input.Get("messages")
	n := len(list.List())
	return n > 0 && len(p.Messages) >= n && value.Equal(value.OfList(p.Messages[:n]...), list)
}

// explainSent explains the conversations that a step, or a call inside it, has sent.
func (x *explainer) explainSent(at site) (all []*Explanation) {
	for _, p := range at.got.Prompts {
		e := newExplanation(at.got)
		e.Shared, e.isSent = p.Shared, true
		if len(at.got.Prompts) == 1 {
			e.setTotal(at.got)
		}
		byMessage := partsByMessage(p.Parts)
		for i, m := range promptMessages(value.OfList(p.Messages...), ofInput) {
			parts := byMessage[i]
			before := 0
			x.addMessage(e, m.role, m.texts, func(text located) []Piece {
				pieces := x.explainSentText(at, parts, text, before)
				if text.isContent {
					before += layoutOf(text.text).wholeLen(text.text)
				}
				return orAnywhere(at, pieces)
			})
		}
		all = append(all, e)
	}
	return all
}

// orAnywhere marks the step's own words as coming from anywhere if the flow of the step is not known.
func orAnywhere(at site, pieces []Piece) []Piece {
	if at.step != nil {
		return pieces
	}
	pieces = completed(pieces, sourceOfMaker(at.got))
	for i := range pieces {
		if first := pieces[i].Sources[0]; first.Kind == SourceStep || first.Kind == SourcePart {
			withPossible(pieces[i:i+1], anywhere)
		}
	}
	return pieces
}

func newExplanation(got *journal.StepState) *Explanation {
	e := &Explanation{Messages: []ExplainedMessage{}, LeftOut: []LeftOut{}, Step: got.ID, Call: got.Call}
	if got.LLM != nil {
		e.Providers = got.LLM.Shares
	}
	return e
}

// setTotal sets the cost of the prompt from the usage of its step, if the step asked once.
func (e *Explanation) setTotal(got *journal.StepState) {
	askedOnce := got.LLM != nil && got.LLM.Requests == 1 && got.Attempts == 1
	if !askedOnce || got.Usage.InputTokens == 0 {
		return
	}
	e.Total, e.CountedBy = got.Usage.InputTokens, ByProvider
	if got.LLM.Estimated > 0 {
		e.CountedBy = ByEstimate
	}
}

// addMessage adds a message whose texts are explained by pieces.
func (x *explainer) addMessage(e *Explanation, role string, texts []located, pieces func(located) []Piece) {
	m := ExplainedMessage{Role: role, Pieces: []Piece{}}
	for _, text := range texts {
		for _, p := range pieces(text) {
			switch {
			case p.Tokens > 0: // who put it in has said so
			case text.media.IsNull():
				p.Tokens = x.counter.Count(p.Text)
			default:
				p.Tokens = x.mediaTokens(text.media)
			}
			if p.Sources == nil {
				p.Sources = []Source{}
			}
			m.Tokens += p.Tokens
			m.Pieces = append(m.Pieces, p)
		}
	}
	e.Tokens += m.Tokens
	e.Messages = append(e.Messages, m)
}

// mediaTokens returns the cost of an image, or other medium, in a message.
func (x *explainer) mediaTokens(media value.Value) int {
	message := value.OfMap(value.Pairs("content", value.OfList(media)))
	return llm.MessageTokens(x.counter, message.AppendJSON(nil)) - llm.MessageOverhead
}

// partsByMessage returns the parts of each message.
func partsByMessage(parts []calls.Part) map[int][]calls.Part {
	byMessage := map[int][]calls.Part{}
	for _, p := range parts {
		if p.Message != nil {
			byMessage[*p.Message] = append(byMessage[*p.Message], p)
		}
	}
	return byMessage
}

// explainSentText explains a text of a message by the parts that the call gave for the message; the rest is the
// call's words. first is the byte of the message's text at which the text begins.
func (x *explainer) explainSentText(at site, parts []calls.Part, text located, first int) (pieces []Piece) {
	maker := x.sourceOfWords(at, 0)
	if len(parts) > 0 && (parts[0].End == 0 || !text.isContent) {
		whole := parts[0]
		if i := slices.IndexFunc(parts, func(p calls.Part) bool { return p.At != "" && p.At == text.inMessage }); i >= 0 {
			whole = parts[i]
		}
		return x.explainWholeMessage(at, whole, text)
	}
	layout, ok := fittedLayout(text.text, parts, first)
	if !ok {
		return completed(x.explainOrigins(at, computedWhole(parts, text.text), text.text, 0), maker)
	}
	end := 0
	for _, part := range shownParts(at.got, parts, layout, text.text, first) {
		if part.Start > end {
			pieces = append(pieces, singlePiece(text.text[end:part.Start], maker)...)
		}
		pieces = append(pieces, x.explainSentPart(at, part, text.text[part.Start:part.End])...)
		end = part.End
	}
	if end < len(text.text) {
		pieces = append(pieces, singlePiece(text.text[end:], maker)...)
	}
	return pieces
}

// explainWholeMessage explains a text, an image or the tool calls of a message by the part that describes the
// whole message.
func (x *explainer) explainWholeMessage(at site, part calls.Part, text located) []Piece {
	maker := x.sourceOfWords(at, 0)
	if len(part.Origins) != 1 {
		return singlePiece(text.text, maker)
	}
	o := part.Origins[0]
	o.Start, o.End = 0, 0
	isPointer := (o.Kind == "" || o.Kind == calls.OriginConversation) && part.End == 0
	if isPointer {
		o.Pointer += text.inMessage
	}
	if isForeign(at.got.Call) && !isOfParam(at.got, o, text.text) {
		return singlePiece(text.text, maker)
	}
	if o.Kind != "" && pathOfOrigin(o) == nil && text.isContent {
		o.End = len(text.text)
	}
	pieces := x.explainOrigins(at, []calls.Origin{o}, text.text, 0)
	if o.Kind == calls.OriginAnswer {
		return withSource(pieces, maker)
	}
	return completed(pieces, maker)
}

// explainSentPart explains a part of a message that was sent: by the origins of its bytes, and by its kind.
func (x *explainer) explainSentPart(at site, part calls.Part, text string) []Piece {
	pieces := x.explainOrigins(at, part.Origins, text, 0)
	if isForeign(at.got.Call) {
		pieces = completed(pieces, x.sourceOfWords(at, 0))
	}
	switch part.Kind {
	case "":
		return completed(pieces, sourceOfMaker(at.got))
	case "text", "answer":
		return withSource(pieces, sourceOfMaker(at.got))
	case "refusal": // it quotes the model's words
		return withPossible(withSource(pieces, sourceOfMaker(at.got)), Source{Kind: SourceModel})
	case "tool":
		if part.Origins != nil {
			return withSource(pieces, sourceOfMaker(at.got))
		}
		if at.step != nil { // its purpose, by the step
			return singlePiece(text, at.sourceOfPlace(at.step.Pos), sourceOfPart(at.got, part.Kind))
		}
	}
	return withSource(pieces, sourceOfPart(at.got, part.Kind))
}
