package scheduler

import (
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/scheduler/flow"
)

// checkUserNamed refuses a new run in which a step that is sure to run works in a memory, and it is the memory of no user: else the
// run would fail only there, when the steps before it were paid. Tests of flows have an interceptor, which may answer the step; a run that is
// played, or that stops at a step, may not come to it.
func (r *run) checkUserNamed() error {
	e := r.exec
	isPlayed := e.Start != nil && e.Start.ID != ""
	if isPlayed || e.Interceptor != nil || e.Until != "" {
		return nil
	}
	return r.checkUserIn(r.flow, r.vars.Scope.IsNone(), &knownInputs{members: r.vars.Inputs.Map()})
}

// checkUserIn is [run.checkUserNamed] for a flow with inputs, and the flows that its steps run. isNone is set where its memory is
// the memory of no user.
func (r *run) checkUserIn(f *flow.Flow, isNone bool, inputs *knownInputs) error {
	sure := sureSteps(f)
	for i, step := range f.Steps {
		if !sure[i] {
			continue
		}
		if isNone && step.Def.Info.UsesMemory && !r.mayReadAllUsers(step, inputs) {
			err := calls.Errorf(calls.Invalid, "step %s: the flow names no user whose memories would be meant", step.ID).
				WithHint(`write memory: {user: "{{ run.user }}"} in the flow, and name the user of the run, as run --user does`)
			return r.failureOf(err, step.Pos)
		}
		if step.Sub == nil || step.Sub.User == nil {
			continue
		}
		inner := r.inputsInside(step, inputs)
		user, isKnown := r.renderKnown(step.Sub.User, inner)
		isBlank := isKnown && strings.TrimSpace(prompt.Text(user)) == ""
		if err := r.checkUserIn(step.Sub, isBlank, inner); err != nil {
			return err
		}
	}
	return nil
}

// mayReadAllUsers reports whether the parameters of a step let it read the memories of every user, or may do so: it needs no
// user then.
func (r *run) mayReadAllUsers(step *flow.Step, inputs *knownInputs) bool {
	for _, name := range step.Def.Info.AllUsers {
		if step.EnableFilling {
			return true
		}
		if step.With == nil {
			continue
		}
		param, rest := flow.Descend(step.With, "/"+name)
		isLeftOut := rest != "" && param.Map != nil
		if isLeftOut {
			continue
		}
		v, isKnown := r.renderKnown(param, inputs)
		v, _ = v.At(rest)
		if isSet, _ := v.Bool(); isSet || !isKnown {
			return true
		}
	}
	return false
}

// sureSteps tells which steps of a flow run, and fail the run where they fail, if none before them fails: no condition skips
// them, and no list without items. A step is skipped where all those are that it needs.
func sureSteps(f *flow.Flow) []bool {
	skips := make([]func() bool, len(f.Steps)) // whether the step may be skipped
	sure := make([]bool, len(f.Steps))
	for i, step := range f.Steps {
		skips[i] = sync.OnceValue(func() bool {
			isRun := func(need int) bool { return !skips[need]() }
			return step.When != nil || len(step.Needs) > 0 && !slices.ContainsFunc(step.Needs, isRun)
		})
	}
	for i, step := range f.Steps {
		sure[i] = !skips[i]() && step.ForEach == nil && !step.Continue
	}
	return sure
}
