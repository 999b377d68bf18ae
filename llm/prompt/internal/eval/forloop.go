package eval

import "github.com/callnode/scheduler/llm/prompt/internal/pyvalue"

const forLoopName = "forloop"

// forLoop is the variable forloop, pongo2's and Django's name for Jinja2's loop.
type forLoop struct {
	loop   *loopState
	parent pyvalue.Val // forloop of the loop around; absent without one
}

// PyType returns the name of the type.
func (*forLoop) PyType() string { return "ForLoop" }

// newForLoop returns the variable forloop of a loop.
func (m *evaluator) newForLoop(l *loopState) pyvalue.Val {
	around := pyvalue.Missing
	for f := l.frame; f != nil && around.IsAbsent(); f = f.parent {
		for i := range f.vars {
			if _, isLoop := f.vars[i].V.Py().(*forLoop); isLoop && f.vars[i].Name == forLoopName {
				around = f.vars[i].V
			}
		}
	}
	return pyvalue.OfPython(&forLoop{loop: l, parent: around})
}

// loopNames are the members of loop by the names that they have in forloop: pongo2 begins them with
// a capital letter, Django does not.
var loopNames = map[string]string{
	"Counter": "index", "Counter0": "index0", "Revcounter": "revindex", "Revcounter0": "revindex0", "First": "first", "Last": "last",
	"counter": "index", "counter0": "index0", "revcounter": "revindex", "revcounter0": "revindex0", "first": "first", "last": "last",
}

// Member returns a member of forloop.
func (f *forLoop) Member(m *pyvalue.Run, name string) (pyvalue.Val, bool, error) {
	isParent := name == "Parentloop" || name == "parentloop"
	if isParent && !f.parent.IsAbsent() {
		return f.parent, true, nil
	}
	member, ok := loopNames[name]
	if !ok {
		return pyvalue.None, false, nil
	}
	return f.loop.Member(m, member)
}
