package prompt

import (
	"context"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
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

// callValue calls a function, a macro or another callable.
func (m *run) callValue(f val, a callArgs) (val, error) {
	if err := m.countSteps(1); err != nil {
		return none, err
	}
	if x, ok := f.py().(callable); ok {
		return x.callWith(m, a)
	}
	return none, fault.Errorf(fault.Type, "'%s' cannot be called", f.pyType())
}

// funcValue wraps a function of the program.
func funcValue(name string, f Func) val {
	return ofFunc(name, func(m *run, a callArgs) (val, error) {
		if len(a.kw) > 0 {
			return none, fault.Errorf(fault.Type, "%s takes no arguments by name", name)
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
			err = fault.Errorf(fault.Other, "%s panicked: %v", name, r)
		}
	}()
	v.v, err = f(ctx, args)
	return v, err
}
