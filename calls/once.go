package calls

import (
	"context"

	"github.com/callnode/scheduler/llm/value"
)

// Recorder keeps finished pieces of a call's work with the run. Calls use it by
// [Once]. The engine makes one for each attempt of a step; it is safe for concurrent use.
type Recorder interface {
	// Once returns what the run has of the piece, else what work gives. params is what
	// the piece depends on: what was recorded under others is of no use. name is made
	// of lower-case letters, digits, - and _.
	Once(ctx context.Context, name string, params value.Value, work Work) (output value.Value, err error)
}

// Work is a piece of a call's work. env is the call's but for its Path, which names
// the piece; what is asked of its model, and run by it, belongs to the piece.
type Work func(ctx context.Context, env *Env) (output value.Value, err error)

// Once does a piece of work of a call that need not be done twice, such as one
// request of several to a model. Events show the piece as a step of its own,
// STEP/NAME-N, where N counts the pieces of that name; so a call has to ask for its
// pieces in an order that depends on nothing but its input and their outputs.
//
// When Once returns, the output is as safe as that of a finished step: when the step
// is tried again, or the run is resumed after a crash, Once returns the same output for
// the same params without doing the work, and nothing is paid again. An error is not
// kept: a piece that failed, or was cut short, is done again. One whose failure is to
// stay has it in its output. An output that holds a secret does not outlive the
// process. Outside of a flow the work is simply done.
//
// params and T must be what [value.Of] and [value.Decode] understand: T comes out of
// its JSON in any case.
func Once[T any](ctx context.Context, env *Env, name string, params any, work func(ctx context.Context, env *Env) (T, error)) (T, error) {
	var result T
	if env.Recorder == nil {
		return work(ctx, env)
	}
	asked, err := value.Of(params)
	if err != nil {
		return result, Errorf(Internal, "encoding the parameters of %s: %w", name, err)
	}
	output, err := env.Recorder.Once(ctx, name, asked, func(ctx context.Context, env *Env) (value.Value, error) {
		done, err := work(ctx, env)
		if err != nil {
			return value.Value{}, err
		}
		v, err := value.Of(done)
		if err != nil {
			return value.Value{}, Errorf(Internal, "encoding the output of %s: %w", name, err)
		}
		return v, nil
	})
	if err != nil {
		return result, err
	}
	if err := value.Decode(output, &result); err != nil {
		return result, Errorf(Internal, "decoding the output of %s: %w", name, err)
	}
	return result, nil
}
