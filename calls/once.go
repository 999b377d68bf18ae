package calls

import (
	"context"
	"errors"

	"github.com/callnode/scheduler/llm/value"
)

// SurvivedError is the failure of a piece of work after which its call continues: the output of the piece reports
// it. [Survived] makes it.
type SurvivedError struct{ Err error }

func (e *SurvivedError) Error() string { return e.Err.Error() }
func (e *SurvivedError) Unwrap() error { return e.Err }

// Survived lets a piece of work fail and keep its output, as for an agent that reports a failed tool to its model.
// Events show the error beside the output, and it counts as a warning.
func Survived(err error) error { return &SurvivedError{err} }

// Once does a piece of work of a call that need not be done twice, such as one
// request of several to a model. Events show the piece as a step of its own, STEP/NAME-N, in which N counts the
// pieces of that name; so a call must ask for its pieces in an order that only depends on its input and their
// outputs.
//
// When Once returns, the output is as safe as a finished step's: when the step is tried again, or the run is
// resumed after a crash, Once returns the same output for the same params without doing the work, and without
// paying again. An error is not kept: a piece that failed, or was cut short, is done again. A piece whose failure
// is final returns its output with [Survived]. An output that holds a secret does not outlive the process. Outside
// of a flow the work is simply done.
//
// params and T must be types that [value.Of] and [value.Decode] understand: T comes out of its JSON in any case.
func Once[T any](ctx context.Context, env *Env, name string, params any, work func(ctx context.Context, env *Env) (T, error)) (T, error) {
	var result T
	if env.Recorder == nil {
		result, err := work(ctx, env)
		if errors.As(err, new(*SurvivedError)) {
			err = nil
		}
		return result, err
	}
	asked, err := value.Of(params)
	if err != nil {
		return result, Errorf(Internal, "encoding the parameters of %s: %w", name, err)
	}
	output, err := env.Recorder.Once(ctx, name, asked, func(ctx context.Context, env *Env) (value.Value, error) {
		done, failed := work(ctx, env)
		if failed != nil && !errors.As(failed, new(*SurvivedError)) {
			return value.Value{}, failed
		}
		v, err := value.Of(done)
		if err != nil {
			return value.Value{}, Errorf(Internal, "encoding the output of %s: %w", name, err)
		}
		return v, failed
	})
	if err != nil {
		return result, err
	}
	if err := value.Decode(output, &result); err != nil {
		return result, Errorf(Internal, "decoding the output of %s: %w", name, err)
	}
	return result, nil
}
