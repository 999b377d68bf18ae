package prompt

import (
	"context"
	"math"

	"github.com/callnode/scheduler/llm/value"
)

// Func is a function that the program offers to expressions. It must be safe for
// concurrent use; its panic becomes an error of the expression.
type Func func(ctx context.Context, args []value.Value) (value.Value, error)

// callArgs is the arguments of a call.
type callArgs struct {
	pos []val
	kw  []binding
}

type binding struct {
	name string
	v    val
}

// builtin is a filter, a test or a function with its parameters, so that one
// place binds arguments as Python does.
type builtin struct {
	// params are the names of the parameters after the input.
	params []string
	// need is how many of them must be given.
	need int
	// rest lets a call have more arguments than parameters; they come in argv.
	rest bool
	// lax lets the input be undefined.
	lax bool
	fn  func(m *evaluator, c *call) (val, error)
}

// call is one use of a builtin: its input, and arguments in the order of the
// parameters, missing ones absent.
type call struct {
	in   val
	args []val
	argv callArgs
}

// bindArgs puts the arguments where the parameters are.
func (b *builtin) bindArgs(name string, a callArgs) ([]val, error) {
	if b.rest {
		return nil, nil
	}
	if len(a.pos) > len(b.params) {
		return nil, errorf(Type, "%s takes at most %d arguments, %d are given", name, len(b.params), len(a.pos))
	}
	args := make([]val, len(b.params))
	copy(args, a.pos)
	for i := len(a.pos); i < len(args); i++ {
		args[i] = missing
	}
next:
	for _, kw := range a.kw {
		for i, p := range b.params {
			if p != kw.name {
				continue
			}
			if !args[i].isAbsent() {
				return nil, errorf(Type, "%s has two values for argument %s", name, quoteText(p))
			}
			args[i] = kw.v
			continue next
		}
		e := errorf(Type, "%s has no argument %s", name, quoteText(kw.name))
		e.Hint = value.DidYouMean(kw.name, b.params)
		return nil, e
	}
	for i := range b.need {
		if args[i].isAbsent() {
			return nil, errorf(Type, "%s needs the argument %s", name, quoteText(b.params[i]))
		}
	}
	return args, nil
}

// applyTo runs a filter or a test.
func (b *builtin) applyTo(m *evaluator, name string, in val, a callArgs) (val, error) {
	if !b.lax {
		if err := in.checkRead(); err != nil {
			return none, err
		}
	}
	args, err := b.bindArgs(name, a)
	if err != nil {
		return none, err
	}
	if err := m.countSteps(1 + in.readingSteps()); err != nil {
		return none, err
	}
	v, err := b.fn(m, &call{in: in, args: args, argv: a})
	if err != nil {
		return none, err
	}
	return m.computeResult(v, in, a)
}

func (m *evaluator) evalArgs(args []argument) (a callArgs, err error) {
	if len(args) == 0 {
		return a, nil
	}
	a.pos = make([]val, 0, len(args))
	for _, arg := range args {
		v, err := m.evalTraced(arg.x)
		if err != nil {
			return a, err
		}
		if arg.name != "" {
			a.kw = append(a.kw, binding{arg.name, v})
		} else {
			a.pos = append(a.pos, v)
		}
	}
	for i := range a.kw {
		for j := range i {
			if a.kw[i].name == a.kw[j].name {
				return a, errorf(Type, "the argument %s is given twice", quoteText(a.kw[i].name))
			}
		}
	}
	return a, nil
}

// evalOperands returns what a filter or test is applied to, and its arguments. pos is where
// the filter or test stands.
func (m *evaluator) evalOperands(in node, args []argument, pos int) (v val, a callArgs, err error) {
	v, err = in.eval(m)
	if err != nil {
		return none, a, err
	}
	a, err = m.evalArgs(args)
	if err != nil {
		return none, a, withPosition(err, pos)
	}
	return v, a, nil
}

func (n *filterNode) eval(m *evaluator) (val, error) {
	touched := len(m.touched)
	in, a, err := m.evalOperands(n.in, n.args, n.pos())
	if err != nil {
		return none, err
	}
	m.here = n.pos()
	v, err := n.def.applyTo(m, n.name, in, a)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	m.keepUsed(touched, v)
	return v, nil
}

func (n *testNode) eval(m *evaluator) (val, error) {
	in, a, err := m.evalOperands(n.in, n.args, n.pos())
	if err != nil {
		return none, err
	}
	v, err := n.def.applyTo(m, n.name, in, a)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	if n.not {
		t, _ := v.v.Bool()
		return ofBool(!t), nil
	}
	return v, nil
}

func (n *callNode) eval(m *evaluator) (val, error) {
	if attr, ok := n.fn.(*attrNode); ok {
		touched := len(m.touched)
		o, err := attr.obj.eval(m)
		if err != nil {
			return none, err
		}
		if hasMethod(o, attr.name) {
			return n.callMethodOf(m, o, attr.name, touched)
		}
		f, err := m.evalMember(o, attr)
		if err != nil {
			return none, err
		}
		return n.callWith(m, f)
	}
	f, err := n.fn.eval(m)
	if err != nil {
		return none, err
	}
	return n.callWith(m, f)
}

// callMethodOf calls a method of o; touched is how much was mentioned before o.
func (n *callNode) callMethodOf(m *evaluator, o val, name string, touched int) (val, error) {
	a, err := m.evalArgs(n.args)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	m.here = n.pos()
	v, err := m.callMethod(o, name, a)
	if err == nil {
		v, err = m.computeResult(v, o, a)
	}
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	m.keepUsed(touched, v)
	return v, nil
}

func (n *callNode) callWith(m *evaluator, f val) (val, error) {
	if err := f.checkDefined(); err != nil {
		return none, withPosition(err, n.pos())
	}
	a, err := m.evalArgs(n.args)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	v, err := m.callValue(f, a)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	return v, nil
}

// callValue calls a function, a macro or another callable.
func (m *evaluator) callValue(f val, a callArgs) (val, error) {
	if err := m.countSteps(1); err != nil {
		return none, err
	}
	switch x := f.py().(type) {
	case *function:
		return x.call(m, a)
	case *macro:
		return x.callMacro(m, a)
	case *loopState:
		return x.recurse(m, a)
	}
	return none, errorf(Type, "'%s' cannot be called", f.pyType())
}

// funcValue wraps a function of the program.
func funcValue(name string, f Func) val {
	return ofFunc(name, func(m *evaluator, a callArgs) (val, error) {
		if len(a.kw) > 0 {
			return none, errorf(Type, "%s takes no arguments by name", name)
		}
		args := make([]value.Value, len(a.pos))
		for i, x := range a.pos {
			v, err := m.exportValue(x)
			if err != nil {
				return none, err
			}
			args[i] = v
		}
		return callProgramFunc(m.ctx, name, f, args)
	})
}

// callProgramFunc calls a function of the program; its panic is an error.
func callProgramFunc(ctx context.Context, name string, f Func, args []value.Value) (v val, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errorf(Other, "%s panicked: %v", name, r)
		}
	}()
	v.v, err = f(ctx, args)
	return v, err
}

// hasArg reports whether argument i is there.
func (c *call) hasArg(i int) bool { return !c.args[i].isAbsent() }

// stringArg is argument i as a string.
func (c *call) stringArg(i int, fallback string) (string, error) {
	if !c.hasArg(i) {
		return fallback, nil
	}
	if err := c.args[i].checkDefined(); err != nil {
		return "", err
	}
	s, ok := c.args[i].asString()
	if !ok {
		return "", errorf(Type, "argument %d must be a string, not '%s'", i+1, c.args[i].pyType())
	}
	return s, nil
}

// intArg is argument i as an integer that fits 32 bits; bigger ones are clipped.
func (c *call) intArg(i, fallback int) (int, error) {
	if !c.hasArg(i) || c.args[i].isNone() {
		return fallback, nil
	}
	return asInt(c.args[i])
}

func asInt(v val) (int, error) {
	if err := v.checkDefined(); err != nil {
		return 0, err
	}
	n, ok := toNum(v)
	if !ok || n.kind == 'f' {
		return 0, errorf(Type, "'%s' is not an integer", v.pyType())
	}
	if n.kind == 'b' {
		return math.MaxInt32 * n.b.Sign(), nil
	}
	return int(max(min(n.i, math.MaxInt32), -math.MaxInt32)), nil
}

// widthArg is argument i as a number of columns within the bound.
func (c *call) widthArg(i int) (int, error) {
	n, err := c.intArg(i, 0)
	if err == nil && n > maxPad {
		err = errorf(Limit, "a width of more than %d", maxPad)
	}
	return n, err
}

// boolArg returns the truth of argument i.
func (c *call) boolArg(i int, fallback bool) (bool, error) {
	if !c.hasArg(i) {
		return fallback, nil
	}
	return isTruthy(c.args[i])
}
