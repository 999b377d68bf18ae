package flow

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// lintSubFlow loads the flow that a step runs, when its path is known, and checks
// the inputs that it gets. The problems of the sub-flow are its own.
func (u *unit) lintSubFlow(s *stepUnit, with value.Value, holes []hole) []schema.Problem {
	path, _ := with.Get("path")
	text, ok := path.Str()
	isHole := func(pointer string) bool {
		return slices.ContainsFunc(holes, func(h hole) bool { return h.pointer == pointer })
	}
	if !ok || text == "" || isHole("/path") {
		return nil
	}
	if s.Sub = u.loading.subFlow(u, u.of(u.nodeAt(s.with, "/path")), text); s.Sub == nil || isHole("/inputs") {
		return nil
	}
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
	problems := u.checkSketch(s.Sub.Inputs, s.Sub.Inputs.ApplyDefaults(inputs), inner)
	if s.EnableFilling {
		problems = slices.DeleteFunc(problems, func(p schema.Problem) bool { return p.Keyword == "required" })
	}
	for i := range problems {
		name := strings.TrimPrefix(problems[i].Pointer, "/")
		problems[i].Pointer = "/inputs" + problems[i].Pointer
		if problems[i].Keyword == "required" {
			problems[i].Keyword = "" // not a parameter of the call
			problems[i].Message = fmt.Sprintf("the flow %s needs the input %q", text, name)
		}
	}
	if declared, ok := doc.Get("properties"); ok && !says(doc, "additionalProperties", "patternProperties") {
		for name := range inputs.Map().All() {
			if _, has := declared.Get(name); has {
				continue
			}
			p := schema.Problem{Pointer: "/inputs/" + value.Escape(name), Message: fmt.Sprintf("the flow %s has no such input", text)}
			if near := value.Nearest(name, declared.Map().Keys()); near != "" {
				p.Hint = fmt.Sprintf("did you mean %q?", near)
			}
			problems = append(problems, p)
		}
	}
	return problems
}

// subFlow gives the flow at path, relative to the flow that names it, nil where it
// has errors. Each file is read once.
func (ld *loading) subFlow(u *unit, at Position, path string) *Flow {
	full := filepath.Clean(filepath.FromSlash(path))
	if !filepath.IsAbs(full) {
		full = filepath.Join(u.dir, full)
	}
	if i := slices.Index(ld.stack, full); i >= 0 {
		u.add(at, "flows run each other in a circle: %s", strings.Join(append(slices.Clone(ld.stack[i:]), full), " -> ")).
			hint("a flow cannot run itself; use for_each, or the call agent, to repeat work")
		return nil
	}
	if flow, seen := ld.flows[full]; seen {
		return flow
	}
	if len(ld.stack) >= maxFlowDepth {
		u.add(at, "flows stand in flows more than %d deep", maxFlowDepth)
		return nil
	}
	src, err := ld.also("", full)
	if err != nil {
		u.problems = append(u.problems, unreadable(at, path, err))
		return nil
	}
	flow := ld.flow(full, src, u.language)
	ld.flows[full] = flow
	return flow
}
