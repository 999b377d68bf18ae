package flow

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// lintSubFlow checks the inputs that a step passes to the flow which it runs. The problems
// of the sub-flow are its own.
func (u *unit) lintSubFlow(s *stepUnit, with value.Value, holes []hole) []paramProblem {
	isInputs := func(h hole) bool { return h.pointer == "/inputs" }
	if s.Sub == nil || slices.ContainsFunc(holes, isInputs) {
		return nil
	}
	path, _ := with.Get("path")
	text, _ := path.Str()
	problems := u.checkInputs(s.Sub, text, with, "/inputs", holes)
	if s.EnableFilling {
		problems = slices.DeleteFunc(problems, isMissingInput)
	}
	return problems
}

// missingInput is the keyword of problems with inputs that a flow needs and that are not given.
const missingInput = "missing input"

func isMissingInput(p paramProblem) bool { return p.Keyword == missingInput }

// checkInputs checks the call's parameters at a pointer against the inputs of the flow that it runs; name is the
// call's name for the flow.
func (u *unit) checkInputs(sub *Flow, name string, with value.Value, at string, holes []hole) []paramProblem {
	inputs, given := with.At(at)
	if !given {
		inputs = value.OfMap(nil)
	}
	var inner []hole
	for _, h := range holes {
		if rest, below := strings.CutPrefix(h.pointer, at+"/"); below {
			inner = append(inner, hole{pointer: "/" + rest, text: h.text})
		}
	}
	doc := sub.Inputs.Doc()
	problems := paramProblems(u.checkSketch(sub.Inputs, sub.Inputs.ApplyDefaults(inputs), inner))
	for i := range problems {
		input := strings.TrimPrefix(problems[i].Pointer, "/")
		problems[i].Pointer = at + problems[i].Pointer
		if problems[i].Keyword == "required" {
			problems[i].Keyword = missingInput // not a parameter of the call
			problems[i].message = say("the flow %s needs the input %q", name, input)
		}
	}
	if declared, ok := doc.Get("properties"); ok && !hasAny(doc, "additionalProperties", "patternProperties") {
		for input := range inputs.Map().All() {
			if _, has := declared.Get(input); has {
				continue
			}
			problems = append(problems, paramProblem{
				Problem: schema.Problem{Pointer: at + "/" + value.Escape(input)},
				message: say("the flow %s has no such input", name),
				hint:    wording.Of(value.DidYouMeanOrList(input, declared.Map().Keys())),
			})
		}
	}
	return problems
}
