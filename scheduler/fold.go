package scheduler

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// fold makes the output of a step of the chunks of its call: the text joined, or
// the last data.
type fold struct {
	call string
	text strings.Builder
	data *value.Value
	some bool // there was text, be it empty
}

func (f *fold) add(c calls.Chunk) error {
	switch {
	case c.Data == nil && f.data != nil:
		return calls.Errorf(calls.Internal, "the call %s puts out text after data", f.call)
	case c.Data == nil:
		f.some = true
		f.text.WriteString(c.Text)
	case c.Data.Kind() != value.Object:
		return calls.Errorf(calls.Internal, "the call %s puts out data that is no object but %s", f.call, c.Data.Kind())
	default:
		f.data = c.Data
	}
	return nil
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
			return value.OfMap(nil)
		}
	}
	return value.OfMap(value.Pairs("text", f.text.String()))
}
