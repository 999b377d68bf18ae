package scheduler

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// Explanation is the final prompt of a step with the source of every piece.
type Explanation struct {
	Step, Call string
	Messages   []ExplainedMessage
	// LeftOut are the pieces that upstream steps offered and did not include.
	LeftOut []LeftOut
	Tokens  int
}

// ExplainedMessage is one message of the prompt.
type ExplainedMessage struct {
	Role   string
	Tokens int
	// Pieces cover the text of the message without gaps.
	Pieces []Piece
}

// Piece is a piece of a message and where it comes from.
type Piece struct {
	Text   string
	Tokens int
	// Source is the way of the text from its origin to the prompt, origin first: a
	// place in the flow ("flow.yaml:12:9"), an input ("inputs.question"), a piece
	// that a step took from elsewhere ("prompt: file AGENTS.md"), then the steps
	// that passed it on.
	Source []string
}

// LeftOut is a piece that is not in the prompt.
type LeftOut struct {
	Step string
	Part calls.Part
}

// maxHops bounds how many steps a text is followed back through.
const maxHops = 64

// Explain tells the final prompt of a step, and where each piece of it comes
// from. It follows the flow's own references: parameters that are one expression
// to the output they name, templates piece by piece, outputs that say their
// provenance (parts, trace) part by part. It reads only what the run recorded, so
// that a run of last week is explained like one of now.
func Explain(ctx context.Context, flow *Flow, record *RunState, step string, counter llm.Counter) (*Explanation, error) {
	id, _, _ := strings.Cut(step, "[")
	s, ok := flow.Step(id)
	got := record.Step(step)
	if !ok || got == nil {
		return nil, calls.Errorf(calls.NotFound, "the run has no prompt of a step %q: it did not start", step)
	}
	x := &explainer{ctx: ctx, flow: flow, record: record, seen: map[int]bool{}}
	out := &Explanation{Step: step, Call: s.Call}
	for _, m := range finalPrompt(got) {
		message := ExplainedMessage{Role: m.role}
		for _, text := range m.texts {
			message.Pieces = append(message.Pieces, x.text(s, got, text.text, text.pointer, text.of, 0)...)
		}
		for i := range message.Pieces {
			p := &message.Pieces[i]
			p.Tokens = counter.Count(p.Text)
			message.Tokens += p.Tokens
		}
		out.Tokens += message.Tokens
		out.Messages = append(out.Messages, message)
	}
	out.LeftOut = x.leftOut
	return out, nil
}

// LastPrompt is the step whose prompt people want to see when they name none: the
// last one that asked the model, else the last that put a prompt out; "" where
// there is none.
func LastPrompt(flow *Flow, record *RunState) string {
	prompting := ""
	for i := len(flow.Steps) - 1; i >= 0; i-- {
		s := flow.Steps[i]
		got := record.Step(s.ID)
		if got == nil {
			continue
		}
		if s.Def.Info.UsesLLM {
			return s.ID
		}
		if prompting == "" && len(finalPrompt(got)) > 0 {
			prompting = s.ID
		}
	}
	return prompting
}

// promptMessage is one message with its texts: one, or several text parts.
type promptMessage struct {
	role  string
	texts []located
}

// located is a text at a pointer of a step's input or output.
type located struct {
	text, pointer string
	of            side
}

type side bool

const (
	ofInput  side = false
	ofOutput side = true
)

// finalPrompt finds the messages in what a step got (a chat) or gave (input,
// context, in-chat, template).
func finalPrompt(got *StepState) []promptMessage {
	if list, ok := got.Input.Get("messages"); ok && len(list.List()) > 0 {
		if _, builds := got.Output.Get("messages"); !builds {
			return messages(list, ofInput)
		}
	}
	if list, ok := got.Output.Get("messages"); ok {
		return messages(list, ofOutput)
	}
	for _, name := range []string{"prompt", "system", "text"} {
		v, _ := got.Output.Get(name)
		if text, ok := v.Str(); ok {
			return []promptMessage{{role: name, texts: []located{{text, "/" + name, ofOutput}}}}
		}
	}
	return nil
}

func messages(list value.Value, of side) []promptMessage {
	out := make([]promptMessage, 0, len(list.List()))
	for i, m := range list.List() {
		roleValue, _ := m.Get("role")
		role, _ := roleValue.Str()
		message := promptMessage{role: role}
		at := fmt.Sprintf("/messages/%d/content", i)
		content, _ := m.Get("content")
		if text, ok := content.Str(); ok {
			message.texts = append(message.texts, located{text, at, of})
		}
		for j, part := range content.List() {
			textValue, _ := part.Get("text")
			if text, ok := textValue.Str(); ok {
				message.texts = append(message.texts, located{text, fmt.Sprintf("%s/%d/text", at, j), of})
				continue
			}
			kind, _ := part.Get("type")
			name, _ := kind.Str()
			message.texts = append(message.texts, located{"[" + name + "]", fmt.Sprintf("%s/%d", at, j), of})
		}
		if calls, ok := m.Get("tool_calls"); ok {
			message.texts = append(message.texts, located{calls.JSON(), fmt.Sprintf("/messages/%d/tool_calls", i), of})
		}
		out = append(out, message)
	}
	return out
}

type explainer struct {
	ctx     context.Context //nolint:containedctx // lives for one Explain
	flow    *Flow
	record  *RunState
	seen    map[int]bool // steps whose left-out parts are listed
	leftOut []LeftOut
}

// text explains a text that a step has in its input or output at pointer.
func (x *explainer) text(s *Step, got *StepState, text, pointer string, of side, hops int) []Piece {
	if hops > maxHops || text == "" {
		return one(text, s.ID)
	}
	if of == ofOutput {
		x.collect(s, got)
		if pieces := x.parts(s, got, text, pointer, hops); pieces != nil {
			return pieces
		}
		if s.Def.Info.UsesLLM {
			return one(text, made(s, got)) // the model's words, whatever they quote
		}
	}
	if p, at, ok := findParam(s.With, got.Params, text, pointer); ok {
		return x.param(s, p, at, text, hops)
	}
	return tagged(x.quotes(s, got, text, hops), made(s, got))
}

// made names a step or an item as the maker of a text.
func made(s *Step, got *StepState) string { return got.ID + " (" + s.Call + ")" }

func one(text string, source ...string) []Piece {
	return []Piece{{Text: text, Source: source}}
}

// collect lists what a step left out, once.
func (x *explainer) collect(s *Step, got *StepState) {
	if x.seen[s.Index] {
		return
	}
	x.seen[s.Index] = true
	for _, part := range provenance(got.Output) {
		if !part.Included {
			x.leftOut = append(x.leftOut, LeftOut{Step: s.ID, Part: part})
		}
	}
}

func provenance(output value.Value) []calls.Part {
	for _, name := range []string{"parts", "trace"} {
		list, ok := output.Get(name)
		if !ok {
			continue
		}
		var parts []calls.Part
		if err := value.Decode(list, &parts); err == nil {
			return parts
		}
	}
	return nil
}

// parts explains a text by the provenance that the step put out with it. nil
// means that there is none for this text.
func (x *explainer) parts(s *Step, got *StepState, text, pointer string, hops int) []Piece {
	index := -1
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	switch {
	case tokens[0] == "messages" && len(tokens) > 2:
		index, _ = strconv.Atoi(tokens[1])
	case tokens[0] == "system":
		index = 0
	}
	var pieces []Piece
	end := 0
	for _, part := range provenance(got.Output) {
		mine := part.Message == nil && index < 0 || part.Message != nil && *part.Message == index
		if !part.Included || !mine || part.Start < end || part.End > len(text) || part.Start == part.End {
			continue
		}
		if part.Start > end {
			pieces = append(pieces, one(text[end:part.Start], made(s, got))...)
		}
		pieces = append(pieces, x.part(s, got, part, text[part.Start:part.End], hops)...)
		end = part.End
	}
	if pieces == nil {
		return nil
	}
	if end < len(text) {
		pieces = append(pieces, one(text[end:], made(s, got))...)
	}
	return pieces
}

// part explains one part: by the parameters that it was taken from, where there
// are some, and by its own word.
func (x *explainer) part(s *Step, got *StepState, part calls.Part, text string, hops int) []Piece {
	label := s.ID + ": " + part.Kind
	if part.Name != "" && part.Name != part.Kind {
		label += " " + part.Name
	}
	if p, at, ok := findParam(s.With, got.Params, text, ""); ok && len(text) > 1 {
		return tagged(x.param(s, p, at, text, hops), label)
	}
	return tagged(x.quotes(s, got, text, hops), label)
}

// tagged adds a hop to the way of every piece.
func tagged(pieces []Piece, label string) []Piece {
	for i := range pieces {
		pieces[i].Source = append(pieces[i].Source, label)
	}
	return pieces
}

// quotable says whether a parameter's text can be told from chance when it stands
// inside a longer text: words, not a name or a path.
func quotable(text string) bool {
	const shortest = 8 // bytes
	prose := func(r rune) bool { return r == ' ' || r == '\n' || r > unicode.MaxASCII }
	return len(text) >= shortest && strings.ContainsFunc(text, prose)
}

// quotes splits a text that a call put together at the places where it holds the
// text of a parameter word for word. The pieces between have no source of their
// own.
func (x *explainer) quotes(s *Step, got *StepState, text string, hops int) []Piece {
	var longest, place string
	eachText(got.Params, "", func(at, quote string) {
		if quotable(quote) && len(quote) > len(longest) && strings.Contains(text, quote) {
			longest, place = quote, at
		}
	})
	if longest == "" || s.With == nil {
		return []Piece{{Text: text}}
	}
	before, after, _ := strings.Cut(text, longest)
	var pieces []Piece
	if before != "" {
		pieces = x.quotes(s, got, before, hops)
	}
	p, at := descend(s.With, place)
	pieces = append(pieces, x.param(s, p, at, longest, hops)...)
	if after != "" {
		pieces = append(pieces, x.quotes(s, got, after, hops)...)
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

// findParam finds the parameter whose value, or a string in it, is text: first at
// the very pointer, for calls that pass a parameter on, then anywhere.
func findParam(with *Param, params value.Value, text, pointer string) (p *Param, at string, ok bool) {
	if with == nil {
		return nil, "", false
	}
	if v, has := params.At(pointer); pointer != "" && has {
		if s, isString := v.Str(); isString && s == text {
			p, at = descend(with, pointer)
			return p, at, true
		}
	}
	place, found := "", false
	eachText(params, "", func(where, have string) {
		if have == text && !found {
			place, found = where, true
		}
	})
	if !found {
		return nil, "", false
	}
	p, at = descend(with, place)
	return p, at, true
}

// descend follows pointer into the flow's tree of parameters as far as it is
// written out there; rest is the pointer inside the value of what it came to.
func descend(p *Param, pointer string) (at *Param, rest string) {
	for pointer != "" {
		token, tail, _ := strings.Cut(pointer[1:], "/")
		if tail != "" {
			tail = "/" + tail
		}
		var next *Param
		for _, m := range p.Map {
			if value.Escape(m.Key) == token {
				next = m.Param
			}
		}
		if i, err := strconv.Atoi(token); err == nil && i < len(p.List) {
			next = p.List[i]
		}
		if next == nil {
			return p, pointer
		}
		p, pointer = next, tail
	}
	return p, ""
}

// param explains a text that a parameter of a step gave.
func (x *explainer) param(s *Step, p *Param, at, text string, hops int) []Piece {
	place := p.Pos.String()
	if p.File != "" {
		return one(text, "file "+p.File+" ("+place+")")
	}
	switch {
	case p.Expr != nil:
		if path, ok := p.Expr.Path(); ok {
			return x.reference(s, append(path[:len(path):len(path)], tokens(at)...), text, place, hops)
		}
		return one(text, place+" (computed)")
	case p.Text != nil:
		rendered, pieces, err := p.Text.Trace(x.ctx, x.scope())
		if err != nil || rendered != text {
			return one(text, place)
		}
		var out []Piece
		for _, piece := range pieces {
			sub := rendered[piece.Start:piece.End]
			switch {
			case sub == "":
			case piece.Path != nil:
				out = append(out, x.reference(s, piece.Path, sub, place, hops)...)
			case piece.Expr != "":
				out = append(out, one(sub, place+" {{ "+piece.Expr+" }}")...)
			default:
				out = append(out, one(sub, place)...)
			}
		}
		return out
	}
	return one(text, place)
}

func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i := range list {
		list[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(list[i])
	}
	return list
}

// reference explains a text that a name with members gave.
func (x *explainer) reference(s *Step, path []string, text, place string, hops int) []Piece {
	if path[0] == "question" {
		path = []string{"inputs", "question"}
	}
	name := strings.Join(path, ".")
	if upstream, ok := x.flow.Step(path[0]); ok {
		id, members := upstream.ID, path[1:]
		if upstream.ForEach != nil && len(members) > 0 {
			id, members = id+"["+members[0]+"]", members[1:]
		}
		got := x.record.Step(id)
		if got == nil {
			return one(text, name)
		}
		pointer := ""
		for _, token := range members {
			pointer += "/" + value.Escape(token)
		}
		pieces := x.text(upstream, got, text, pointer, ofOutput, hops+1)
		return tagged(pieces, s.ID)
	}
	return one(text, name+" ("+place+")")
}

// scope holds what the run recorded under the names of templates.
func (x *explainer) scope() prompt.Scope {
	names := value.NewMap(len(x.record.Steps) + 2)
	names.Set("inputs", x.record.Inputs)
	if q, ok := x.record.Inputs.Get("question"); ok {
		names.Set("question", q)
	}
	for _, s := range x.record.Steps {
		if s.State == StepStatusFinished {
			names.Set(s.ID, s.Output)
		}
	}
	return prompt.Values{Map: names}
}
