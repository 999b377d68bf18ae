package eval

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// memberTracer lists the members of a result.
type memberTracer struct {
	list   []trace.Member
	stop   int // bytes of the expression
	masked bool
}

// add adds v, which left the template as out, below keys that were computed.
func (t *memberTracer) add(pointer string, v pyvalue.Val, out value.Value, keys []trace.ValueRef) {
	if text, ok := out.Str(); ok {
		if text != "" || len(keys) > 0 {
			t.list = append(t.list, trace.Member{Pointer: pointer, Spans: trace.SpansOf(trace.PartsOf(v.Origin(), len(text)), 0, t.stop, t.masked), Keys: keys})
		}
		return
	}
	isWhole := v.Origin().IsReference()
	isEmpty := out.Map().Len()+len(out.List()) == 0
	switch {
	case isWhole, isEmpty && len(keys) > 0:
	case out.Map() != nil && v.IsDict():
		for i := range pyvalue.DictLen(v) {
			name, member := pyvalue.DictAt(v, i)
			key, x := out.Map().Entry(i)
			t.add(pointer+"/"+value.Escape(key), member, x, slices.Concat(keys, trace.SourcesOf(name.Origin())))
		}
		return
	case out.List() != nil:
		e := pyvalue.ListElements(v)
		for i, x := range out.List() {
			member := pyvalue.Val{V: x}.WithOrigin(v.Origin())
			if i < e.Len() {
				member = e.At(i)
			}
			t.add(pointer+"/"+strconv.Itoa(i), member, x, keys)
		}
		return
	}
	t.list = append(t.list, trace.Member{Pointer: pointer, Spans: trace.SpansOf([]trace.Part{{From: v.Origin()}}, 0, t.stop, t.masked), Keys: keys})
}
