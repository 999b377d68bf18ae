// Package guess finds which values of a step's parameters a model has written: such a value may only say that the
// model did not know it, for example "N/A", and then counts as missing. It only uses the flow: which output of
// which step a template uses, and which calls ask models.
package guess

import (
	"context"
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Place is a step of a flow, in the flows around it. The engine makes one for each step that it examines; it is
// used by one goroutine.
type Place struct {
	Flow *flow.Flow
	Step *flow.Step
	// Outer is the step that runs the flow; nil for the flow of the whole run.
	Outer *Place
}

// Pointers returns the JSON pointers of the values below a parameter of the step that a model has written. Values
// that a template computes or takes in this use of the step count, for example "/city" of {city: "{{
// read.json.city }}"}.
func (p *Place) Pointers(ctx context.Context, param *flow.Param, scope prompt.Scope) []string {
	return p.pointers(ctx, param, scope, "")
}

func (p *Place) pointers(ctx context.Context, param *flow.Param, scope prompt.Scope, at string) (found []string) {
	if !p.mentions(param) {
		return nil
	}
	for _, m := range traceParam(ctx, param, scope) {
		isWritten := func(of prompt.ValueRef) bool { return p.isWritten(of.Name, of.Pointer) }
		if slices.ContainsFunc(m.Spans, func(s prompt.Span) bool { return slices.ContainsFunc(s.Sources, isWritten) }) {
			found = append(found, at+m.Pointer)
		}
	}
	for _, member := range param.Map {
		found = append(found, p.pointers(ctx, member.Param, scope, at+"/"+value.Escape(member.Key))...)
	}
	for i, item := range param.List {
		found = append(found, p.pointers(ctx, item, scope, at+"/"+strconv.Itoa(i))...)
	}
	return append(found, p.pointers(ctx, param.Over, scope, at)...)
}

// traceParam returns the values of a template or expression with their sources. It returns none for other
// parameters, or for one that cannot be evaluated (the step has reported the error).
func traceParam(ctx context.Context, param *flow.Param, scope prompt.Scope) (members []prompt.Member) {
	switch {
	case param.Expr != nil:
		_, members, _ = param.Expr.Trace(ctx, scope)
	case param.Text != nil:
		_, spans, _ := param.Text.Trace(ctx, scope)
		members = []prompt.Member{{Spans: spans}}
	}
	return members
}

// mentions reports whether a parameter of the step uses anything that a model has written.
func (p *Place) mentions(param *flow.Param) bool { return search{}.mentions(p, param) }

// isWritten reports whether a model has written the value that a name of templates has at a pointer.
func (p *Place) isWritten(name, pointer string) bool { return search{}.isWritten(p, name, pointer) }

// search follows a value to the models that wrote it. It has the outputs that it searched in vain, and lives for
// one value.
type search map[output]bool

type output struct {
	step    *flow.Step
	pointer string
}

func (s search) mentions(at *Place, param *flow.Param) (found bool) {
	param.EachRef(func(ref prompt.Ref) {
		found = found || s.isWritten(at, ref.Path[0], value.FormatPointer(ref.Path[1:]...))
	})
	return found
}

func (s search) isWritten(at *Place, name, pointer string) bool {
	switch name {
	case "summary", "facts":
		return true
	case "inputs":
		return at.Outer != nil && s.gives(at.Outer, pointer)
	case "question":
		return at.Outer != nil && s.gives(at.Outer, "/question")
	case "item":
		return s.mentions(at, at.Step.ForEach)
	}
	step, ok := at.Flow.Step(name)
	if !ok || s[output{step, pointer}] {
		return false
	}
	s[output{step, pointer}] = true
	return s.writes(&Place{at.Flow, step, at.Outer}, pointer)
}

// gives reports whether a model has written an input of the flow that a step runs: an agent's input, or one whose
// text the step passes on.
func (s search) gives(at *Place, pointer string) bool {
	param, _ := flow.Descend(at.Step.With, "/inputs"+pointer)
	return at.Step.Def.Info.UsesLLM || s.mentions(at, param)
}

// writes reports whether a model has written the output of a step at a pointer: its call asks one, runs a flow that does,
// or makes the output of its parameters, as template does.
func (s search) writes(at *Place, pointer string) bool {
	info := at.Step.Def.Info
	switch {
	case info == nil || info.OmitsUnknown:
		return false
	case info.UsesLLM:
		return true
	case at.Step.Sub != nil:
		param, _ := flow.Descend(at.Step.Sub.Outputs, pointer)
		return s.mentions(&Place{at.Step.Sub, &flow.Step{}, at}, param)
	}
	return info.IsContained && !info.UsesMemory && s.mentions(at, at.Step.With)
}
