package flow

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// lintInside checks the calls and flows that a step's call runs inside itself, such as the
// tools of an agent.
func (u *unit) lintInside(s *stepUnit) {
	for _, in := range u.askInside(s) {
		at := u.positionOf(nodeAt(s.with, in.Pointer))
		if def, ok := u.loading.Registry.Call(in.Call); ok {
			u.lintMemory(at, def)
		}
		if in.Flow != "" {
			inner := u.loading.loadInnerFlow(u, at, in.Flow)
			if inner != nil {
				s.Inner = append(s.Inner, inner)
			}
			u.lintInnerInputs(s, in, inner)
		}
	}
}

// lintInnerInputs checks what a step fixes of the inputs of a flow that its call runs.
func (u *unit) lintInnerInputs(s *stepUnit, in calls.Inside, inner *Flow) {
	if inner == nil || in.With == "" {
		return
	}
	var holes []hole
	params := sketchParam(s.With, "", &holes)
	isHole := func(h hole) bool { return h.pointer == in.With }
	if given, ok := params.At(in.With); !ok || given.Kind() != value.Object || slices.ContainsFunc(holes, isHole) {
		return
	}
	problems := u.checkInputs(inner, in.Flow, params, in.With, holes)
	for _, p := range slices.DeleteFunc(problems, isMissingInput) { // the model gives the rest
		u.reportParam(s, p)
	}
}

// askInside asks the call of a step what it runs inside itself. A panic there is reported
// by askCall, which asks it the like.
func (u *unit) askInside(s *stepUnit) (inside []calls.Inside) {
	if s.Def.Runs == nil || s.With == nil || s.With.Expr != nil {
		return nil
	}
	defer func() { _ = recover() }()
	params := s.With.Written()
	if params.Kind() != value.Object {
		return nil
	}
	return s.Def.Runs(params)
}

// loadInnerFlow reports what is wrong with a flow that a call runs inside itself. Unlike
// those of flow steps it may run the flow that names it. A run reads it when it needs it. It
// returns nil where the flow is wrong, or is being loaded.
func (ld *loading) loadInnerFlow(u *unit, at Position, path string) *Flow {
	full := u.pathBeside(path)
	if known, ok := ld.inner[full]; ok {
		return known
	}
	ld.inner[full] = nil
	src, err := ld.read("", full)
	if ld.recorded && errors.Is(err, fs.ErrNotExist) { // a journal has only those that have run
		return nil
	}
	if err != nil {
		u.problems = append(u.problems, unreadableProblem(at, path, err))
		return nil
	}
	files, stack, needed := maps.Clone(ld.files), ld.stack, ld.needed
	ld.stack, ld.needed = nil, nil
	ld.inner[full] = ld.loadFlow(full, src, around{u.language, u.messages, false})
	ld.files, ld.stack, ld.needed = files, stack, needed
	return ld.inner[full]
}
