package scheduler

import (
	"context"
	"runtime/debug"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Invoke runs one call outside of a flow: parameters are checked, the call is
// constructed, Init and Exec run, and the output is checked. env.Vars is what the
// call sees. Parameters are taken as they are; nothing in them is a template. A
// panic of the call becomes an error of kind Internal.
func Invoke(ctx context.Context, def calls.Definition, params value.Value, env *calls.Env) (output value.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			env.Log.Error("a panic", "call", def.Info.Name, "panic", p, "stack", string(debug.Stack()))
			err = calls.Errorf(calls.Internal, "panic: %v", p)
		}
	}()
	if problems := def.Info.Params.Check(params); problems != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", def.Info.Name, problems)
	}
	var f outputCollector
	return f.run(ctx, def, params, env)
}
