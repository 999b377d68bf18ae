package scheduler

import (
	"context"
	"iter"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// outputCollector runs a call and makes an output of its chunks: the text joined, or the
// last data.
type outputCollector struct {
	ctx  context.Context
	call string
	// task, where given, shows the input and the text as events.
	task *task
	mask textMask
	text strings.Builder
	data *value.Value
	some bool // there was text, be it empty
	err  error
}

// run takes the call from its construction to its output.
func (f *outputCollector) run(ctx context.Context, def calls.Definition, params value.Value, env *calls.Env) (value.Value, error) {
	f.ctx, f.call = ctx, def.Info.Name
	call, err := def.New(params)
	if err != nil {
		return value.Value{}, f.locateError(err)
	}
	input, err := call.Init(ctx, env.Vars)
	if err != nil {
		return value.Value{}, f.locateError(err)
	}
	if f.task != nil {
		f.task.showInput(input)
		f.mask.secrets = f.task.run.secrets
	}
	if err := f.drain(call.Exec(ctx, env, input)); err != nil {
		return value.Value{}, f.locateError(err)
	}
	output := f.output(def.Info.Output)
	if problems := def.Info.Output.Check(output); problems != nil {
		return value.Value{}, calls.Errorf(calls.Internal, "the output of the call %s does not fit its own schema: %w", f.call, problems)
	}
	return output, nil
}

// locateError finds the place of an error in a parameter of the step. A call that runs
// inside it has parameters of its own.
func (f *outputCollector) locateError(err error) error {
	if f.task == nil || f.task.around != nil {
		return err
	}
	return flow.Locate(err, f.task.step.With)
}

// drain takes all chunks. Whatever the call does, no more of them count once ctx
// has ended.
func (f *outputCollector) drain(chunks iter.Seq2[calls.Chunk, error]) error {
	for chunk, err := range chunks {
		if !f.addChunk(chunk, err) {
			break
		}
	}
	if f.err == nil {
		f.err = f.ctx.Err() // the call stopped without a word because it was told to
	}
	if f.err == nil && f.task != nil {
		f.emitDelta(f.mask.rest())
	}
	return f.err
}

// addChunk adds a chunk; false says that no more are wanted.
func (f *outputCollector) addChunk(c calls.Chunk, err error) bool {
	if err == nil {
		err = f.ctx.Err()
	}
	switch {
	case err != nil:
		f.err = err
	case c.Data == nil && f.data != nil:
		f.err = calls.Errorf(calls.Internal, "the call %s puts out text after data", f.call)
	case c.Data == nil:
		f.some = true
		f.text.WriteString(c.Text)
		if f.task != nil {
			f.emitDelta(f.mask.next(c.Text))
			if c.Text == "" {
				f.emitDelta(f.mask.images.flushText())
			}
		}
	case c.Data.Kind() != value.Object:
		f.err = calls.Errorf(calls.Internal, "the call %s puts out data that is no object but %s", f.call, c.Data.Kind())
	default:
		f.data = c.Data
	}
	return f.err == nil
}

func (f *outputCollector) emitDelta(text string) {
	if text != "" {
		n := newPendingEvent(journal.StepDelta)
		n.data.Text = text
		f.task.emit(n)
	}
}

// output is {} for a call that put out nothing, unless its schema promises text:
// then the text is empty.
func (f *outputCollector) output(s *schema.Schema) value.Value {
	if f.data != nil {
		return *f.data
	}
	if !f.some {
		properties, _ := s.Doc().Get("properties")
		if _, promised := properties.Get("text"); !promised {
			return emptyObject
		}
	}
	return value.OfMap(value.Pairs("text", f.text.String()))
}
