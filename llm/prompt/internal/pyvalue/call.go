package pyvalue

import (
	"context"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// Func is a function that the program offers to expressions. It must be safe for
// concurrent use; its panic becomes an error of the expression.
type Func func(ctx context.Context, args []value.Value) (value.Value, error)

// CallValue calls a function, a macro or another callable.
func (m *Run) CallValue(f Val, a CallArgs) (Val, error) {
	if err := m.CountSteps(1); err != nil {
		return None, err
	}
	if x, ok := f.Py().(callable); ok {
		return x.CallWith(m, a)
	}
	return None, fault.Errorf(fault.Type, "'%s' cannot be called", f.PyType())
}

// FuncValue wraps a function of the program.
func FuncValue(name string, f Func) Val {
	return OfFunc(name, func(m *Run, a CallArgs) (Val, error) {
		if len(a.Kw) > 0 {
			return None, fault.Errorf(fault.Type, "%s takes no arguments by name", name)
		}
		args := make([]value.Value, len(a.Pos))
		for i, x := range a.Pos {
			v, err := m.ExportValue(x)
			if err != nil {
				return None, err
			}
			args[i] = v
		}
		return callProgramFunc(m.Ctx, name, f, args)
	})
}

// callProgramFunc calls a function of the program; its panic is an error.
func callProgramFunc(ctx context.Context, name string, f Func, args []value.Value) (v Val, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.Errorf(fault.Other, "%s panicked: %v", name, r)
		}
	}()
	v.V, err = f(ctx, args)
	return v, err
}
