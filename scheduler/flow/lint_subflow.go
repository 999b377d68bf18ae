package flow

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// lintSubFlow checks the inputs that a step gives the flow which it runs. The problems
// of the sub-flow are its own.
func (u *unit) lintSubFlow(s *stepUnit, with value.Value, holes []hole) []paramProblem {
	isInputs := func(h hole) bool { return h.pointer == "/inputs" }
	if s.Sub == nil || slices.ContainsFunc(holes, isInputs) {
		return nil
	}
	path, _ := with.Get("path")
	text, _ := path.Str()
	inputs, given := with.Get("inputs")
	if !given {
		inputs = value.OfMap(nil)
	}
	var inner []hole
	for _, h := range holes {
		if rest, below := strings.CutPrefix(h.pointer, "/inputs/"); below {
			inner = append(inner, hole{"/" + rest, h.text})
		}
	}
	doc := s.Sub.Inputs.Doc()
	problems := paramProblems(u.checkSketch(s.Sub.Inputs, s.Sub.Inputs.ApplyDefaults(inputs), inner))
	if s.EnableFilling {
		problems = slices.DeleteFunc(problems, func(p paramProblem) bool { return p.Keyword == "required" })
	}
	for i := range problems {
		name := strings.TrimPrefix(problems[i].Pointer, "/")
		problems[i].Pointer = "/inputs" + problems[i].Pointer
		if problems[i].Keyword == "required" {
			problems[i].Keyword = "" // not a parameter of the call
			problems[i].message = say("the flow %s needs the input %q", text, name)
		}
	}
	if declared, ok := doc.Get("properties"); ok && !hasAny(doc, "additionalProperties", "patternProperties") {
		for name := range inputs.Map().All() {
			if _, has := declared.Get(name); has {
				continue
			}
			problems = append(problems, paramProblem{
				Problem: schema.Problem{Pointer: "/inputs/" + value.Escape(name)},
				message: say("the flow %s has no such input", text),
				hint:    wording.Of(value.DidYouMeanOrList(name, declared.Map().Keys())),
			})
		}
	}
	return problems
}
