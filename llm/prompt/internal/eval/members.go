package eval

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// evalTraced evaluates an expression whose result is printed, joined or assigned:
// when a rendering is traced, a result without an origin is computed from its elements
// or else from what the expression mentions.
func (m *evaluator) evalTraced(n ast.Node) (pyvalue.Val, error) {
	if !m.Trace {
		return m.eval(n)
	}
	outer, decided := m.Touched, m.Decided
	m.Touched = nil
	v, err := m.eval(n)
	if m.isOfMask(v, err) {
		v, err = pyvalue.OfStr(maskText), nil
	}
	if v.Origin().IsUnknown() {
		from, known := pyvalue.OriginsOf(v)
		if !known {
			from = m.Touched
		}
		v = v.ComputedFrom(from)
	}
	if by := m.Decided[len(decided):]; len(by) > 0 {
		v = v.WithOrigin(v.Origin().DecidedBy(by))
	}
	m.Touched, m.Decided = outer, decided
	m.Touch(v.Origin())
	return v, err
}

// tracePrinted records where a text of that length, just written, comes from.
func (m *evaluator) tracePrinted(v pyvalue.Val, length, start, stop int) {
	if !m.Trace || length == 0 {
		return
	}
	for _, p := range trace.PartsOf(pyvalue.PrintedOrigin(v), length) {
		if p.Stop == 0 {
			p.Start, p.Stop = start, stop
		}
		m.addPart(p)
	}
}

// addPart records where the text that was just written comes from.
func (m *evaluator) addPart(p trace.Part) {
	p.From = p.From.DecidedBy(m.Decided)
	m.parts = append(m.parts, p)
}

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
