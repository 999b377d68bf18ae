package explain

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// explainBuilt explains the prompt that a step has in its input or output. ok is false where
// it has none, or where what it ran inside itself, or it later sent, goes on from it.
func (x *explainer) explainBuilt(at *frame, s *flow.Step, got *journal.StepState, inside []*journal.StepState) (e *Explanation, ok bool) {
	if journal.IsPseudoStep(got.ID) && len(got.Prompts) > 0 {
		return nil, false
	}
	prompt := finalPrompt(s, got)
	if len(prompt) == 0 {
		return nil, false
	}
	list, _ := got.Input.Get("messages")
	for _, sender := range append(inside, got) {
		for _, p := range sender.Prompts {
			if n := len(list.List()); n > 0 && len(p.Messages) >= n && value.Equal(value.OfList(p.Messages[:n]...), list) {
				return nil, false
			}
		}
	}
	e = &Explanation{Messages: []ExplainedMessage{}, LeftOut: []LeftOut{}, Step: got.ID, Call: got.Call}
	for _, m := range prompt {
		x.addMessage(e, m.role, func(text located) []Piece { return x.explainText(at, s, got, text.text, text.pointer, text.of, 0) }, m.texts)
	}
	return e, true
}

// explainSent explains the conversations that a step, or what it ran inside itself, has sent.
func (x *explainer) explainSent(at *frame, s *flow.Step, got *journal.StepState) (all []*Explanation) {
	host := x.record.HostOf(got)
	input, _ := host.Input.Get("messages")
	for _, p := range got.Prompts {
		e := &Explanation{Messages: []ExplainedMessage{}, LeftOut: []LeftOut{}, Step: got.ID, Call: got.Call, Shared: p.Shared}
		for i, m := range promptMessages(value.OfList(p.Messages...), ofInput) {
			given := i < len(input.List()) && value.Equal(p.Messages[i], input.List()[i])
			x.addMessage(e, m.role, func(text located) []Piece {
				switch {
				case given:
					return x.explainText(at, s, host, text.text, text.pointer, ofInput, 0)
				case m.role == "assistant":
					return singlePiece(text.text, Source{Kind: SourceModel}, sourceOfMaker(got))
				case m.role == "tool":
					name, _ := p.Messages[i].Get("name")
					tool, _ := name.Str()
					return singlePiece(text.text, Source{Kind: SourceTool, Name: tool}, sourceOfMaker(got))
				}
				return x.piecesOf(at, s, got, text.text, partsOf(p.Parts, i))
			}, m.texts)
		}
		all = append(all, e)
	}
	return all
}

// addMessage adds a message whose texts are explained by pieces.
func (x *explainer) addMessage(e *Explanation, role string, pieces func(located) []Piece, texts []located) {
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

// mediaTokens returns what an image, or the like, costs in a message.
func (x *explainer) mediaTokens(media value.Value) int {
	message := value.OfMap(value.Pairs("content", value.OfList(media)))
	return llm.MessageTokens(x.counter, message.AppendJSON(nil)) - llm.MessageOverhead
}

// partsOf returns the parts of one message.
func partsOf(parts []calls.Part, message int) (mine []calls.Part) {
	for _, p := range parts {
		if p.Message != nil && *p.Message == message {
			mine = append(mine, p)
		}
	}
	return mine
}

// piecesOf explains a text by the parts that the call gave for it; without these, by the texts of the
// parameters that it quotes.
func (x *explainer) piecesOf(at *frame, s *flow.Step, got *journal.StepState, text string, parts []calls.Part) (pieces []Piece) {
	end := 0
	for _, part := range parts {
		if part.Start < end || part.End > len(text) || part.Start >= part.End {
			continue
		}
		if part.Start > end {
			pieces = append(pieces, x.explainUntold(at, s, got, text[end:part.Start])...)
		}
		pieces = append(pieces, x.explainOrigin(at, s, got, part, text[part.Start:part.End])...)
		end = part.End
	}
	if end < len(text) {
		pieces = append(pieces, x.explainUntold(at, s, got, text[end:])...)
	}
	return pieces
}

// explainUntold explains a text for which the call gave no parts.
func (x *explainer) explainUntold(at *frame, s *flow.Step, got *journal.StepState, text string) []Piece {
	host := x.declaringStep(got)
	if s == nil {
		return singlePiece(text, sourceOfMaker(got))
	}
	if p, rest, ok := findParam(s.With, host.Params, text, ""); ok {
		return withSource(x.explainParam(at, s, p, rest, text, 0), sourceOfMaker(got))
	}
	return withSource(x.explainByQuotes(at, s, host, text, 0), sourceOfMaker(got))
}

// declaringStep returns the step whose parameters stand in the flow: that around a pseudo-step.
func (x *explainer) declaringStep(got *journal.StepState) *journal.StepState {
	if host := x.record.HostOf(got); !host.Params.IsNull() {
		return host
	}
	return got
}

// explainOrigin explains a part of a prompt by its kind: the words of the call itself, what a
// step sees by name, a parameter.
func (x *explainer) explainOrigin(at *frame, s *flow.Step, got *journal.StepState, part calls.Part, text string) []Piece {
	if part.Kind == "text" {
		return singlePiece(text, Source{Kind: SourceText, Name: part.Name}, sourceOfMaker(got))
	}
	label := sourceOfPart(got, part.Kind)
	if s == nil {
		return singlePiece(text, label)
	}
	switch part.Kind {
	case "question":
		return withSource(x.explainReference(at, nil, []string{"question"}, text, s.Pos, 0), label)
	case "now":
		return singlePiece(text, Source{Kind: SourceClock}, label)
	case "tool":
		return singlePiece(text, sourceOfPlace(s.Pos), label)
	case "schema", "optional", "known", "purpose":
		if p, ok := x.filledParam(s, got, part.Kind); ok {
			return withSource(x.explainParam(at, s, p, "", text, 0), label)
		}
		if part.Kind != "known" {
			return singlePiece(text, Source{Kind: SourceParams, Name: s.Call}.at(s.Pos), label)
		}
	}
	if upstream := x.upstreamWith(at, s, text); upstream != nil {
		return singlePiece(text, sourceOfMaker(upstream), label)
	}
	pieces := x.explainUntold(at, s, got, text)
	for i := range pieces {
		pieces[i].Sources[len(pieces[i].Sources)-1] = label
	}
	return pieces
}

// filledParam returns the parameter that slot fills; ok is false where slot fills the
// parameters of another call.
func (x *explainer) filledParam(s *flow.Step, got *journal.StepState, kind string) (*flow.Param, bool) {
	if slot := x.record.Step(journal.OuterPath(got.ID)); got.Call != flow.CallSlot && slot != nil {
		got = slot // it has asked in a piece of its work
	}
	if s.With == nil || got.Call != s.Call {
		return nil, false
	}
	name := "current_schema"
	if kind == "known" {
		name = "data"
	}
	if _, given := s.With.Literal.Get(name); given {
		return s.With, true
	}
	p, rest := flow.Descend(s.With, "/"+name)
	return p, rest == ""
}

// upstreamWith returns the newest step before s that gave just that text, or lists it.
func (x *explainer) upstreamWith(at *frame, s *flow.Step, text string) *journal.StepState {
	for i := s.Index - 1; i >= 0; i-- {
		got := x.record.Step(at.prefix + at.flow.Steps[i].ID)
		if got == nil || got.Output.Map().Len() == 0 {
			continue
		}
		found := got.Output.JSON() == text
		eachText(got.Output, "", func(_, have string) { found = found || have == text })
		if found {
			return got
		}
	}
	return nil
}
