package prompt

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/flosch/pongo2/v6"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// evaluator is the state of one evaluation or rendering. Eval and Render take one
// from a pool and return it at their end; one goroutine uses it.
type evaluator struct {
	ctx   context.Context
	scope Scope
	frame *frame
	slots []slot // outer names that were looked up
	steps int
	check int // the step at which the context is asked next
	calls int // macros inside each other

	here    int // offset of the filter or call that runs
	walking int // generators inside each other

	// of templates
	prog     *program
	pctx     *pongo2.ExecutionContext
	root     *frame
	out      []byte
	captured val // by a filter block

	// of traces
	trace   bool
	touched []*origin // what the expression mentions
	parts   []part    // of the text written so far
	masked  bool      // secrets are masks: see traceMasked
	decided []*origin // what is made of secrets and has decided that this is evaluated
	err     error
}

type slot struct {
	v    val
	seen bool
}

// frame is one scope of variables: the template, a loop's body, a macro.
type frame struct {
	parent *frame
	vars   []binding
	kept   bool // a macro sees it
}

func (f *frame) setVar(name string, v val) error {
	for i := range f.vars {
		if f.vars[i].name == name {
			f.vars[i].v = v
			return nil
		}
	}
	if len(f.vars) >= maxVars {
		return errorf(Limit, "more than %d variables", maxVars)
	}
	f.vars = append(f.vars, binding{name, v})
	return nil
}

var evaluators = sync.Pool{New: func() any { return new(evaluator) }}

func newEvaluator(ctx context.Context, scope Scope, slots int) *evaluator {
	m := evaluators.Get().(*evaluator)
	m.ctx, m.scope = ctx, scope
	if cap(m.slots) < slots {
		m.slots = make([]slot, slots)
	}
	m.slots = m.slots[:slots]
	return m
}

// maxKept is the size up to which the buffer of a machine is used again.
const maxKept = 64 << 10

func (m *evaluator) release() {
	clear(m.slots)
	out := m.out[:0]
	if cap(out) > maxKept {
		out = nil
	}
	*m = evaluator{slots: m.slots[:0], out: out}
	evaluators.Put(m)
}

// lookupOuter returns the value of a name that the template does not define itself.
func (m *evaluator) lookupOuter(n *nameNode) (val, error) {
	s := &m.slots[n.slot]
	if s.seen {
		if u := s.v.asUndefined(); u != nil {
			c := *u
			c.off = n.pos()
			return ofPython(&c), nil
		}
		m.touch(s.v.origin())
		return s.v, nil
	}
	v, ok, err := m.scope.Lookup(n.name)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	s.seen, s.v = true, val{v: v}
	if m.trace && ok {
		s.v = s.v.withOrigin(&origin{kind: Reference, key: n.name, value: v})
		m.touch(s.v.origin())
	}
	if !ok {
		if g, ok := findGlobal(n.name); ok {
			s.v = g
			return g, nil
		}
		f, ok := m.scope.(LenientScope)
		s.v = m.undefined(&undefinedValue{
			class: Undefined, name: n.name, format: "%s is undefined", args: []any{n.name}, off: n.pos(), deep: ok && f.IsAbsent(n.name),
			hint: wording.Of(unsupported["function"][n.name]),
		})
	}
	return s.v, nil
}

// exportValue turns a value into JSON data for the world outside: tuples and what
// can be walked become lists, keys become strings.
func (m *evaluator) exportValue(v val) (value.Value, error) { return m.exportNested(v, 0) }

func (m *evaluator) exportNested(v val, depth int) (value.Value, error) {
	if depth > maxNesting {
		return value.Value{}, errorf(Limit, "a value nested deeper than %d", maxNesting)
	}
	if err := m.countSteps(1); err != nil {
		return value.Value{}, err
	}
	switch x := v.py().(type) {
	case nil:
		return v.v, nil
	case *undefinedValue:
		if x.soft {
			return value.Value{}, nil
		}
		return value.Value{}, x.toError()
	case markup:
		return value.OfString(string(x)), nil
	case nonFinite:
		return value.Value{}, errorf(Other, "%s cannot leave a template", floatText(float64(x)))
	case *pyDict:
		out := value.NewMap(len(x.keys))
		for i, k := range x.keys {
			key, err := keyText(k)
			if err != nil {
				return value.Value{}, err
			}
			member, err := m.exportNested(x.vals[i], depth+1)
			if err != nil {
				return value.Value{}, err
			}
			out.Set(key, member)
		}
		return value.OfMap(out), nil
	case tuple, *pyList, *rangeOf, *dictView, *generator, *groupTuple:
		items, err := m.itemsOf(v)
		if err != nil {
			return value.Value{}, err
		}
		list := make([]value.Value, len(items))
		for i, item := range items {
			list[i], err = m.exportNested(item, depth+1)
			if err != nil {
				return value.Value{}, err
			}
		}
		return value.OfList(list...), nil
	}
	return value.Value{}, wrongTypeError(v, "a '%s' cannot leave a template", v.pyType())
}

// keyText returns the JSON form of a dict's key, as Python's json module writes it.
func keyText(k val) (string, error) {
	if s, ok := k.asString(); ok {
		return s, nil
	}
	if k.isNone() {
		return "null", nil
	}
	n, ok := toNum(k)
	if !ok {
		return "", errorf(Type, "a '%s' cannot be a key in JSON", k.pyType())
	}
	if k.py() == nil && k.v.Kind() == value.Bool {
		return strconv.FormatBool(n.i != 0), nil
	}
	if n.kind == 'f' {
		if math.IsNaN(n.f) {
			return "NaN", nil
		}
		if math.IsInf(n.f, 0) {
			return map[bool]string{true: "Infinity", false: "-Infinity"}[n.f > 0], nil
		}
		return floatText(n.f), nil
	}
	return n.key(), nil
}

// Bounds of every template and rendering. They stop runaway templates long
// before memory or the stack run out, and are far above what a prompt needs.
const (
	maxSource    = 256 << 10 // bytes of a template
	maxNesting   = 300       // parentheses, operators and subscripts inside each other
	maxBlocks    = 100       // statements inside each other
	maxSteps     = 2_000_000 // loop iterations, elements walked, calls, and one per 256 bytes made
	maxCalls     = 100       // macros, callers and recursive loops inside each other
	maxBytes     = 16 << 20  // of the rendered text, and of any string made on the way
	maxItems     = 1_000_000 // of a list made on the way
	maxRange     = 100_000   // of a range, as in Jinja2's sandbox
	maxDigits    = 5000      // of an integer that is written or read
	maxValue     = 1200      // lists and objects inside each other
	maxArguments = 250       // of a call
	maxVars      = 1000      // of a frame or a namespace
	maxPad       = 1 << 20   // columns of a width, an indent or a precision
)

// checkEvery is the number of steps after which the context is asked again.
const checkEvery = 1024

// countSteps counts n steps and ends the rendering at the bound or the deadline.
func (m *evaluator) countSteps(n int) error {
	m.steps += n
	if m.steps < m.check {
		return nil
	}
	return m.checkSteps()
}

func (m *evaluator) checkSteps() error {
	if m.steps > maxSteps {
		return errorf(Limit, "the template takes more than %d steps", maxSteps)
	}
	m.check = m.steps + checkEvery
	if err := m.ctx.Err(); err != nil {
		e := errorf(Limit, "the template was stopped: %v", err)
		if errors.Is(err, context.DeadlineExceeded) {
			e.setMessage("the template takes too long")
		}
		e.Err = err
		return e
	}
	return nil
}

// checkTextSize checks the size of a string before it is made.
func (m *evaluator) checkTextSize(n int) error {
	if n < 0 || n > maxBytes {
		return errorf(Limit, "a text of more than %d bytes", maxBytes)
	}
	return m.countSteps(n >> 8)
}

// checkListSize checks the size of a list before it is made.
func (m *evaluator) checkListSize(n int) error {
	if n < 0 || n > maxItems {
		return errorf(Limit, "a list of more than %d elements", maxItems)
	}
	return m.countSteps(n)
}
