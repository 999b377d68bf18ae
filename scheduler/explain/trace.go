package explain

import (
	"context"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxHops bounds how many steps a text is followed back through.
const maxHops = 64

// explainer follows texts back through the flows of one run.
type explainer struct {
	ctx     context.Context //nolint:containedctx // lives for one Explain
	record  *journal.RunState
	counter llm.Counter
	seen    map[string]bool // steps whose left-out parts are listed
	leftOut []LeftOut
}

// frame is one flow of the run: the outermost, or one that a step runs.
type frame struct {
	flow   *flow.Flow
	inputs value.Value
	prefix string // of its steps in the record: outer[1]/
	// step runs the flow in the frame around; nil for the outermost.
	step   *flow.Step
	got    *journal.StepState
	around *frame
}

func (x *explainer) rootFrame(flow *flow.Flow) *frame {
	return &frame{flow: flow, inputs: x.record.Inputs}
}

// subFlowFrame returns the frame of the flow that a step runs, nil where that flow is not
// known.
func (at *frame) subFlowFrame(s *flow.Step, got *journal.StepState) *frame {
	if s.Sub == nil || got == nil {
		return nil
	}
	inputs, _ := got.Params.Get("inputs")
	return &frame{
		flow: s.Sub, inputs: s.Sub.Inputs.ApplyDefaults(inputs), prefix: got.ID + "/",
		step: s, got: got, around: at,
	}
}

var onlyPseudo = regexp.MustCompile(`^[a-z][a-z0-9_-]*-[0-9]+(/[a-z][a-z0-9_-]*-[0-9]+)*$`)

// findStep finds the step that an id of the record means, or that a pseudo-step ran in;
// nil where its flow is not known.
func (x *explainer) findStep(flow *flow.Flow, id string) (*frame, *flow.Step) {
	at := x.rootFrame(flow)
	for {
		segment, rest, inner := strings.Cut(id, "/")
		name, _, _ := strings.Cut(segment, "[")
		s, ok := at.flow.Step(name)
		if !ok || !inner || onlyPseudo.MatchString(rest) {
			return at, s
		}
		at = at.subFlowFrame(s, x.record.Step(at.prefix+segment))
		if at == nil {
			return nil, nil
		}
		id = rest
	}
}

// explainText explains a text that a step has in its input or output at pointer.
func (x *explainer) explainText(at *frame, s *flow.Step, got *journal.StepState, text, pointer string, of side, hops int) []Piece {
	if hops > maxHops || text == "" || s == nil {
		return singlePiece(text, sourceOfMaker(got))
	}
	if of == ofOutput {
		x.collectLeftOut(got)
		if pieces := x.explainParts(at, s, got, text, pointer, hops); pieces != nil {
			return pieces
		}
		if s.Def.Info.UsesLLM {
			return singlePiece(text, sourceOfMaker(got)) // the model's words, whatever they quote
		}
		if sub := at.subFlowFrame(s, got); sub != nil && sub.flow.Outputs != nil {
			p, rest := flow.Descend(sub.flow.Outputs, pointer)
			return withSource(x.explainParam(sub, nil, p, rest, text, hops+1), sourceOfMaker(got))
		}
	}
	if p, rest, ok := findParam(s.With, got.Params, text, pointer); ok {
		return x.explainParam(at, s, p, rest, text, hops)
	}
	return withSource(x.explainByQuotes(at, s, got, text, hops), sourceOfMaker(got))
}

func singlePiece(text string, sources ...Source) []Piece {
	return []Piece{{Text: text, Sources: sources}}
}

// withSource adds a hop to the way of every piece.
func withSource(pieces []Piece, source Source) []Piece {
	for i := range pieces {
		pieces[i].Sources = append(pieces[i].Sources, source)
	}
	return pieces
}

// explainParam explains a text that a parameter of a step gave, or an output of the flow
// where s is nil.
func (x *explainer) explainParam(at *frame, s *flow.Step, p *flow.Param, rest, text string, hops int) []Piece {
	place := p.Pos
	if p.File != "" {
		return singlePiece(text, Source{Kind: SourceFile, Name: p.File}.at(place))
	}
	if p.Expr != nil {
		if path, ok := p.Expr.Path(); ok {
			return x.explainReference(at, s, append(path[:len(path):len(path)], flow.PointerTokens(rest)...), text, place, hops)
		}
		return singlePiece(text, Source{Kind: SourceComputed}.at(place))
	}
	if p.Text != nil {
		rendered, spans, err := p.Text.Trace(x.ctx, x.scopeOf(at))
		if err != nil || rendered != text {
			return singlePiece(text, sourceOfPlace(place))
		}
		var out []Piece
		for _, span := range spans {
			sub := rendered[span.Start:span.End]
			switch span.Kind {
			case prompt.Reference:
				source := span.Sources[0]
				path := append([]string{source.Name}, flow.PointerTokens(source.Pointer)...)
				out = append(out, x.explainReference(at, s, path, sub, place, hops)...)
			case prompt.Computed:
				expr := p.Text.Source().Text[span.TemplateStart:span.TemplateEnd]
				out = append(out, singlePiece(sub, Source{Kind: SourceComputed, Name: expr}.at(place))...)
			default:
				out = append(out, singlePiece(sub, sourceOfPlace(place))...)
			}
		}
		return out
	}
	return singlePiece(text, sourceOfPlace(place))
}

// explainReference explains a text that a name with members gave.
func (x *explainer) explainReference(at *frame, s *flow.Step, path []string, text string, place flow.Position, hops int) []Piece {
	if path[0] == "question" {
		path = []string{"inputs", "question"}
	}
	source := Source{Kind: SourceName, Name: strings.Join(path, ".")}.at(place)
	if path[0] == "inputs" {
		source.Kind = SourceInput
	}
	if path[0] == "inputs" && at.step != nil {
		return withSource(x.explainInput(at, path, text, hops), source)
	}
	upstream, ok := at.flow.Step(path[0])
	if !ok {
		return singlePiece(text, source)
	}
	id, members := at.prefix+upstream.ID, path[1:]
	if upstream.ForEach != nil && len(members) > 0 {
		id, members = id+"["+members[0]+"]", members[1:]
	}
	got := x.record.Step(id)
	if got == nil {
		return singlePiece(text, Source{Kind: SourceName, Name: source.Name})
	}
	pieces := x.explainText(at, upstream, got, text, pointerTo(members), ofOutput, hops+1)
	if s == nil {
		return pieces
	}
	return withSource(pieces, Source{Kind: SourceStep, Step: at.prefix + s.ID})
}

// explainInput explains the text of an input of a flow that a step runs: by what the step
// gave, or else it is the default of the flow.
func (x *explainer) explainInput(at *frame, path []string, text string, hops int) []Piece {
	pointer := pointerTo(path)
	if v, ok := at.got.Params.At(pointer); ok && at.step.With != nil && hops < maxHops {
		if given, isText := v.Str(); isText && given == text {
			p, rest := flow.Descend(at.step.With, pointer)
			return x.explainParam(at.around, at.step, p, rest, text, hops+1)
		}
	}
	return singlePiece(text)
}

func pointerTo(members []string) string {
	pointer := ""
	for _, m := range members {
		pointer += "/" + value.Escape(m)
	}
	return pointer
}

// scopeOf holds what the run recorded under the names of a flow's templates.
func (x *explainer) scopeOf(at *frame) prompt.Scope {
	names := value.NewMap(len(at.flow.Steps) + 2)
	names.Set("inputs", at.inputs)
	if q, ok := at.inputs.Get("question"); ok {
		names.Set("question", q)
	}
	for _, s := range at.flow.Steps {
		if got := x.record.Step(at.prefix + s.ID); got != nil && got.State == journal.StepStatusFinished {
			names.Set(s.ID, got.Output)
		}
	}
	return prompt.Values{Map: names}
}
