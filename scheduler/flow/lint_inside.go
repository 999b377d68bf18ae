package flow

import (
	"maps"
	"path/filepath"

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
		if in.Flow != "" && !u.loading.recorded { // a journal has only those that have run
			u.loading.loadInnerFlow(u, at, in.Flow)
		}
	}
}

// askInside asks the call of a step what it runs inside itself. A panic there is reported
// by askCall, which asks it the like.
func (u *unit) askInside(s *stepUnit) (inside []calls.Inside) {
	if s.Def.Runs == nil || s.With == nil || s.With.Expr != nil {
		return nil
	}
	defer func() { _ = recover() }()
	params := knownValue(s.With)
	if params.Kind() != value.Object {
		return nil
	}
	return s.Def.Runs(params)
}

// loadInnerFlow reports what is wrong with a flow that a call runs inside itself. Unlike
// those of flow steps it may run the flow that names it. A run reads it when it needs it.
func (ld *loading) loadInnerFlow(u *unit, at Position, path string) {
	full := ld.pathBeside(u, path)
	if ld.inner[full] {
		return
	}
	ld.inner[full] = true
	src, err := ld.read("", full)
	if err != nil {
		u.problems = append(u.problems, unreadableProblem(at, path, err))
		return
	}
	files, stack := maps.Clone(ld.files), ld.stack
	ld.stack = nil
	ld.loadFlow(full, src, around{u.language, u.hasUser})
	ld.files, ld.stack = files, stack
}

// pathBeside returns the path of a flow that another names.
func (ld *loading) pathBeside(u *unit, path string) string {
	full := filepath.Clean(filepath.FromSlash(path))
	if !filepath.IsAbs(full) {
		full = filepath.Join(u.dir, full)
	}
	return full
}
