// Package eval evaluates expressions and renders templates: the state of one rendering, the actions of nodes and
// statements, traces of the result and the secrets in it. Package prompt gives it the templates that package
// syntax has compiled. For example, it prints "A" for {{ a | upper }} if a is "a".
package eval

import (
	"context"
	"sync"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

// evaluator is the state of one evaluation or rendering. Eval and Render take one
// from a pool and return it at their end; one goroutine uses it.
type evaluator struct {
	pyvalue.Run
	frame *frame
	slots []slot // outer names that were looked up
	calls int    // macros inside each other
	// inCondition is set in a condition of a rendering that is traced: Trace is off meanwhile.
	inCondition bool

	// of templates
	prog     *ast.Program
	walk     pongo2tree.Execution
	out      []byte
	captured pyvalue.Val  // by a filter block
	parts    []trace.Part // of the text written so far, while it is traced
}

type slot struct {
	v    pyvalue.Val
	seen bool
}

// frame is one scope of variables: the template, a loop's body, a macro.
type frame struct {
	parent *frame
	vars   []pyvalue.Binding
	kept   bool // a macro sees it
	macro  bool // the parameters of a macro
}

// isInMacro reports whether the frame is a macro's, or inside one.
func (f *frame) isInMacro() bool {
	for ; f != nil; f = f.parent {
		if f.macro {
			return true
		}
	}
	return false
}

func (f *frame) setVar(name string, v pyvalue.Val) error {
	for i := range f.vars {
		if f.vars[i].Name == name {
			f.vars[i].V = v
			return nil
		}
	}
	if len(f.vars) >= fault.MaxVars {
		return fault.Errorf(fault.Limit, "more than %d variables", fault.MaxVars)
	}
	f.vars = append(f.vars, pyvalue.Binding{Name: name, V: v})
	return nil
}

var evaluators = sync.Pool{New: func() any { return new(evaluator) }}

func newEvaluator(ctx context.Context, scope Scope, src *fault.Source, slots int) *evaluator {
	m := evaluators.Get().(*evaluator)
	m.Ctx, m.Scope, m.Source = ctx, scope, &src.Text
	if cap(m.slots) < slots {
		m.slots = make([]slot, slots)
	}
	m.slots = m.slots[:slots]
	return m
}

// maxKept is the size up to which the buffer of an evaluator is used again.
const maxKept = 64 << 10

func (m *evaluator) release() {
	clear(m.slots)
	out := m.out[:0]
	if cap(out) > maxKept {
		out = nil
	}
	m.slots, m.out = m.slots[:0], out
	m.Run = pyvalue.Run{}
	m.frame, m.prog, m.calls, m.inCondition = nil, nil, 0, false
	m.walk = pongo2tree.Execution{}
	m.captured, m.parts = pyvalue.None, nil
	evaluators.Put(m)
}

// lookupOuter returns the value of a name that the template does not define itself.
func (m *evaluator) lookupOuter(n *ast.NameNode) (pyvalue.Val, error) {
	s := &m.slots[n.Slot]
	if s.seen {
		if u := s.v.AsUndefined(); u != nil {
			if err := m.checkSupportedName(n); err != nil {
				return pyvalue.None, err
			}
			c := *u
			c.Off = n.Pos()
			return pyvalue.OfPython(&c), nil
		}
		m.Touch(s.v.Origin())
		return s.v, nil
	}
	v, ok, err := m.Scope.Lookup(n.Name)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	s.seen, s.v = true, pyvalue.Val{V: v}
	if (m.Trace || m.inCondition) && ok { // the template may print it later
		s.v = s.v.WithOrigin(trace.NameOrigin(n.Name, v))
		m.Touch(s.v.Origin())
	}
	if !ok {
		if g, ok := builtins.FindGlobal(n.Name); ok {
			s.v = g
			return g, nil
		}
		if err := m.checkSupportedName(n); err != nil {
			return pyvalue.None, err
		}
		f, ok := m.Scope.(LenientScope)
		s.v = m.Undefined(&pyvalue.UndefinedValue{
			Class: fault.Undefined, Name: n.Name, Format: "%s is undefined", Args: []any{n.Name}, Off: n.Pos(), Deep: ok && f.IsAbsent(n.Name),
			Hint: builtins.NameRemedy(n.Name),
		})
	}
	return s.v, nil
}

// checkSupportedName returns the error of a name that Jinja2 has and templates do not, or nil:
// it is not merely undefined, which a template may ask for.
func (m *evaluator) checkSupportedName(n *ast.NameNode) error {
	remedy, ok := builtins.Remedy("function", n.Name)
	isOfMacro := n.Name == "varargs" || n.Name == "kwargs"
	if !ok || isOfMacro && !m.frame.isInMacro() {
		return nil
	}
	e := fault.ErrorAt(fault.Undefined, n.Pos(), "%s is undefined", n.Name)
	e.Name, e.Hint = n.Name, remedy
	return e
}

// tracePrinted records the origin of a text of that length, just written.
func (m *evaluator) tracePrinted(v pyvalue.Val, length, start, stop int) {
	if length == 0 {
		return
	}
	for _, p := range trace.PartsOf(pyvalue.PrintedOrigin(v), length) {
		if p.Stop == 0 {
			p.Start, p.Stop = start, stop
		}
		m.addPart(p)
	}
}

// addPart records the origin of the text that was just written.
func (m *evaluator) addPart(p trace.Part) {
	const room = 32
	if m.parts == nil {
		m.parts = make([]trace.Part, 0, room)
	}
	p.From = p.From.DecidedBy(m.Decided)
	m.parts = append(m.parts, p)
}
