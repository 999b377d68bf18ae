package scheduler

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
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

// FindStep finds the step that an id of a run's record means, also one of a
// sub-flow: outer/inner, outer[1]/inner[2].
func (f *Flow) FindStep(id string) (*Step, bool) {
	for {
		segment, rest, inner := strings.Cut(id, "/")
		name, _, _ := strings.Cut(segment, "[")
		s, ok := f.Step(name)
		if !inner || !ok {
			return s, ok
		}
		if s.Sub == nil {
			return nil, false
		}
		f, id = s.Sub, rest
	}
}

var itemIndex = regexp.MustCompile(`\[\d+\]`)

// Explain tells the final prompt of a step, and where each piece of it comes
// from. It follows the flow's own references: parameters that are one expression
// to the output they name, templates piece by piece, outputs that say their
// provenance (parts, trace) part by part, inputs of a sub-flow to the step that
// gave them. It reads only what the run recorded, so that a run of last week is
// explained like one of now. Of a flow whose path was only known in the run it
// tells the prompts, and no more of where they come from than the step.
func Explain(ctx context.Context, flow *Flow, record *RunState, step string, counter llm.Counter) (*Explanation, error) {
	got := record.Step(step)
	if got == nil {
		err := calls.Errorf(calls.NotFound, "the run has no prompt of a step %q: it did not start", step)
		for _, s := range record.Steps {
			if itemIndex.ReplaceAllString(s.ID, "") == step {
				return nil, err.WithHint("it ran for several items: name one, as in %s", s.ID)
			}
		}
		return nil, err
	}
	x := &explainer{ctx: ctx, record: record, seen: map[string]bool{}}
	at, s := x.locate(flow, step)
	out := &Explanation{Step: step, Call: got.Call}
	for _, m := range finalPrompt(got) {
		message := ExplainedMessage{Role: m.role}
		for _, text := range m.texts {
			message.Pieces = append(message.Pieces, x.text(at, s, got, text.text, text.pointer, text.of, 0)...)
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
// last one that asked the model, in the order of the flow and of the flows in it,
// else the last that put a prompt out; "" where there is none.
func LastPrompt(flow *Flow, record *RunState) string {
	asked, built := lastPrompt(flow, record, "")
	if asked != "" {
		return asked
	}
	return built
}

// lastPrompt looks in the flow whose steps have the prefix in the record.
func lastPrompt(flow *Flow, record *RunState, prefix string) (asked, built string) {
	for _, s := range slices.Backward(flow.Steps) {
		got := record.Step(prefix + s.ID)
		if got == nil {
			continue
		}
		runs := []*StepState{got}
		if s.ForEach != nil {
			runs = got.Items
		}
		for _, run := range slices.Backward(runs) {
			inAsked, inBuilt := lastInside(s, run, record)
			if built == "" {
				built = inBuilt
			}
			if inAsked != "" {
				return inAsked, built
			}
		}
	}
	return "", built
}

// lastInside looks in a step, or in an item of one, and in what it ran.
func lastInside(s *Step, got *StepState, record *RunState) (asked, built string) {
	builds := len(finalPrompt(got)) > 0
	switch {
	case s.Def.Info.UsesLLM && builds:
		return got.ID, ""
	case s.Sub != nil:
		asked, built = lastPrompt(s.Sub, record, got.ID+"/")
	default: // a flow that is only known when it runs
		for _, inner := range slices.Backward(record.Steps) {
			if strings.HasPrefix(inner.ID, got.ID+"/") && inner.Input.Map().Len() > 0 && len(finalPrompt(inner)) > 0 {
				if inner.Usage.Total() > 0 {
					return inner.ID, ""
				}
				built = cmp.Or(built, inner.ID)
			}
		}
	}
	if built == "" && builds {
		built = got.ID
	}
	return asked, built
}
