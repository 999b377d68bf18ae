package scheduler

import (
	"context"
	"iter"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// fold makes the output of a step of the chunks of its call: the text joined, or
// the last data.
type fold struct {
	task *task
	ctx  context.Context
	call string
	// shown: text becomes events at once.
	shown bool
	mask  textMask
	text  strings.Builder
	data  *value.Value
	some  bool // there was text, be it empty
	err   error
}

// drain takes all chunks. Whatever the call does, it hears no more of them once
// ctx has ended.
func (f *fold) drain(chunks iter.Seq2[calls.Chunk, error], s *schema.Schema) (value.Value, error) {
	f.mask.secrets = f.task.run.secrets
	for chunk, err := range chunks {
		if !f.take(chunk, err) {
			break
		}
	}
	if f.err == nil {
		f.err = f.ctx.Err() // the call stopped without a word because it was told to
	}
	if f.err != nil {
		return value.Value{}, f.err
	}
	f.show(f.mask.rest())
	return f.output(s), nil
}

// take adds a chunk; false says that no more are wanted.
func (f *fold) take(c calls.Chunk, err error) bool {
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
		f.show(f.mask.next(c.Text))
	case c.Data.Kind() != value.Object:
		f.err = calls.Errorf(calls.Internal, "the call %s puts out data that is no object but %s", f.call, c.Data.Kind())
	default:
		f.data = c.Data
	}
	return f.err == nil
}

func (f *fold) show(text string) {
	if f.shown && text != "" {
		n := newNote(StepDelta)
		n.data.Text = text
		f.task.emit(n)
	}
}

// output is {} for a call that put out nothing, unless its schema promises text:
// then the text is empty.
func (f *fold) output(s *schema.Schema) value.Value {
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
