package refs

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
)

// assignedRefs follows references through the names that a template sets itself: an assigned value is not used
// until the name is read. Names of different scopes are not distinguished, so it may follow more than needed.
type assignedRefs struct {
	// targets are the names to which the expression being read is assigned, innermost last; none and "" are the text.
	targets []string
	// made lists, by name, the references that get into it, as indexes.
	made map[string][]int
	// uses lists, by name, the names that get into it; "" is the text.
	uses map[string][]assignedUse
}

// assignedUse is a place at which a name is read.
type assignedUse struct {
	name   string
	offset int
}

// Target returns the name to which the expression being read is assigned; "" is the text.
func (a *assignedRefs) Target() string {
	if len(a.targets) == 0 {
		return ""
	}
	return a.targets[len(a.targets)-1]
}

// PushTarget begins expressions that are assigned to a name.
func (a *assignedRefs) PushTarget(name string) { a.targets = append(a.targets, name) }

// PopTarget ends the expressions of the last PushTarget.
func (a *assignedRefs) PopTarget() { a.targets = a.targets[:len(a.targets)-1] }

// addRef notes that a reference is read.
func (a *assignedRefs) addRef(i int) {
	if name := a.Target(); name != "" {
		if a.made == nil {
			a.made = map[string][]int{}
		}
		a.made[name] = append(a.made[name], i)
	}
}

// addUse notes that a name gets into another one, or into the text.
func (a *assignedRefs) addUse(into, name string, offset int) {
	if a.uses == nil {
		a.uses = map[string][]assignedUse{}
	}
	a.uses[into] = append(a.uses[into], assignedUse{name, offset})
}

// MarkPrinted sets [Ref.Printed] and [Ref.Decides] of the assigned references.
func (a *assignedRefs) MarkPrinted(refs []Ref) {
	for _, use := range a.uses[""] {
		for _, name := range a.namesIn(use.name) {
			for _, i := range a.made[name] {
				refs[i].Printed = append(refs[i].Printed, use.offset)
			}
		}
	}
	for _, list := range a.made {
		for _, i := range list {
			if len(refs[i].Printed) == 0 {
				refs[i].Decides = true
			}
		}
	}
}

// namesIn lists a name and all that get into it.
func (a *assignedRefs) namesIn(name string) []string {
	names := []string{name}
	for i := 0; i < len(names); i++ {
		for _, use := range a.uses[names[i]] {
			if !slices.Contains(names, use.name) {
				names = append(names, use.name)
			}
		}
	}
	return names
}

// AddAssigned is AddExpr for the value assigned to a target.
func (r *RefCollector) AddAssigned(n ast.Node, t *ast.AssignTarget) {
	names := t.AllNames()
	r.Assigned.PushTarget(names[0])
	r.AddExpr(n)
	r.Assigned.PopTarget()
	for _, name := range names[1:] {
		r.Assigned.addUse(name, names[0], t.Off)
	}
}
