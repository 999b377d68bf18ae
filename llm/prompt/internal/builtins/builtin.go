package builtins

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// Def is a filter, a test or a function with its parameters, so that one
// place binds arguments as Python does.
type Def struct {
	// params are the names of the parameters after the input.
	params []string
	// chatParams has the same parameters in their order in the chat templates of models, if that differs.
	chatParams []string
	// need is how many of them must be given.
	need int
	// rest lets a call have more arguments than parameters; they come in argv.
	rest bool
	// lax lets the input be undefined.
	lax bool
	fn  func(m *pyvalue.Run, c *call) (pyvalue.Val, error)
}

// call is one use of a builtin: its input, and arguments in the order of the
// parameters, missing ones absent.
type call struct {
	in   pyvalue.Val
	args []pyvalue.Val
	argv pyvalue.CallArgs
	room [2]pyvalue.Val // of the few arguments that most have
}

// bindArgs puts the arguments in the order of the parameters, in room if it is large enough.
func (b *Def) bindArgs(m *pyvalue.Run, name string, a pyvalue.CallArgs, room []pyvalue.Val) ([]pyvalue.Val, error) {
	if b.rest {
		return nil, nil
	}
	params := b.params
	if m.Soft && b.chatParams != nil {
		params = b.chatParams
	}
	if len(a.Pos) > len(params) {
		return nil, fault.Errorf(fault.Type, "%s takes at most %d arguments, %d are given", name, len(params), len(a.Pos))
	}
	args := room
	if len(args) < len(params) {
		args = make([]pyvalue.Val, len(params))
	}
	args = args[:len(params)]
	copy(args, a.Pos)
	for i := len(a.Pos); i < len(args); i++ {
		args[i] = pyvalue.Missing
	}
next:
	for _, kw := range a.Kw {
		for i, p := range params {
			if p != kw.Name {
				continue
			}
			if !args[i].IsAbsent() {
				return nil, fault.Errorf(fault.Type, "%s has two values for argument %s", name, pyvalue.QuoteText(p))
			}
			args[i] = kw.V
			continue next
		}
		e := fault.Errorf(fault.Type, "%s has no argument %s", name, pyvalue.QuoteText(kw.Name))
		e.Hint = value.DidYouMean(kw.Name, params)
		return nil, e
	}
	for i := range b.need {
		if args[i].IsAbsent() {
			return nil, fault.Errorf(fault.Type, "%s needs the argument %s", name, pyvalue.QuoteText(params[i]))
		}
	}
	return args, nil
}

// ApplyTo runs a filter or a test.
func (b *Def) ApplyTo(m *pyvalue.Run, name string, in pyvalue.Val, a pyvalue.CallArgs) (pyvalue.Val, error) {
	if !b.lax {
		if err := in.CheckRead(); err != nil {
			return pyvalue.None, err
		}
	}
	c := &call{in: in, argv: a}
	var err error
	c.args, err = b.bindArgs(m, name, a, c.room[:])
	if err != nil {
		return pyvalue.None, err
	}
	if err := m.CountSteps(1 + in.ReadingSteps()); err != nil {
		return pyvalue.None, err
	}
	v, err := b.fn(m, c)
	if err != nil || !m.Trace {
		return v, err
	}
	return m.ComputeResult(v, in, a)
}

// hasArg reports whether argument i is there.
func (c *call) hasArg(i int) bool { return !c.args[i].IsAbsent() }

// stringArg is argument i as a string.
func (c *call) stringArg(i int, fallback string) (string, error) {
	if !c.hasArg(i) {
		return fallback, nil
	}
	if err := c.args[i].CheckDefined(); err != nil {
		return "", err
	}
	s, ok := c.args[i].AsString()
	if !ok {
		return "", fault.Errorf(fault.Type, "argument %d must be a string, not '%s'", i+1, c.args[i].PyType())
	}
	return s, nil
}

// intArg is argument i as an integer that fits 32 bits; bigger ones are clipped.
func (c *call) intArg(i, fallback int) (int, error) {
	if !c.hasArg(i) || c.args[i].IsNone() {
		return fallback, nil
	}
	return pyvalue.AsInt(c.args[i])
}

// widthArg is argument i as a number of columns within the bound.
func (c *call) widthArg(i, fallback int) (int, error) {
	n, err := c.intArg(i, fallback)
	if err == nil && n > fault.MaxPad {
		err = fault.Errorf(fault.Limit, "a width of more than %d", fault.MaxPad)
	}
	return n, err
}

// boolArg returns the truth of argument i.
func (c *call) boolArg(i int, fallback bool) (bool, error) {
	if !c.hasArg(i) {
		return fallback, nil
	}
	return pyvalue.IsTruthy(c.args[i])
}

// inputText returns the text of the input.
func (c *call) inputText() string {
	s, _ := c.in.AsString()
	return s
}

// FailingBuiltin returns a filter or test that fails when it is used.
func FailingBuiltin(use func() error) *Def {
	return &Def{rest: true, lax: true, fn: func(*pyvalue.Run, *call) (pyvalue.Val, error) { return pyvalue.None, use() }}
}
