package prompt

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// evalTraced evaluates an expression whose result is printed, joined or assigned:
// when a rendering is traced, a result without an origin is computed from its elements
// or else from what the expression mentions.
func (m *evaluator) evalTraced(n node) (val, error) {
	if !m.trace {
		return m.eval(n)
	}
	outer, decided := m.touched, m.decided
	m.touched = nil
	v, err := m.eval(n)
	if m.isOfMask(v, err) {
		v, err = ofStr(maskText), nil
	}
	if v.origin().IsUnknown() {
		from, known := originsOf(v)
		if !known {
			from = m.touched
		}
		v = v.computedFrom(from)
	}
	if by := m.decided[len(decided):]; len(by) > 0 {
		v = v.withOrigin(v.origin().DecidedBy(by))
	}
	m.touched, m.decided = outer, decided
	m.touch(v.origin())
	return v, err
}

// tracePrinted records where a text of that length, just written, comes from.
func (m *evaluator) tracePrinted(v val, length, start, stop int) {
	if !m.trace || length == 0 {
		return
	}
	for _, p := range trace.PartsOf(printedOrigin(v), length) {
		if p.Stop == 0 {
			p.Start, p.Stop = start, stop
		}
		m.addPart(p)
	}
}

// addPart records where the text that was just written comes from.
func (m *evaluator) addPart(p trace.Part) {
	p.From = p.From.DecidedBy(m.decided)
	m.parts = append(m.parts, p)
}

// memberTracer lists the members of a result.
type memberTracer struct {
	list   []trace.Member
	stop   int // bytes of the expression
	masked bool
}

// add adds v, which left the template as out, below keys that were computed.
func (t *memberTracer) add(pointer string, v val, out value.Value, keys []trace.ValueRef) {
	if text, ok := out.Str(); ok {
		if text != "" || len(keys) > 0 {
			t.list = append(t.list, trace.Member{Pointer: pointer, Spans: trace.SpansOf(trace.PartsOf(v.origin(), len(text)), 0, t.stop, t.masked), Keys: keys})
		}
		return
	}
	isWhole := v.origin().IsReference()
	isEmpty := out.Map().Len()+len(out.List()) == 0
	switch {
	case isWhole, isEmpty && len(keys) > 0:
	case out.Map() != nil && v.isDict():
		for i := range dictLen(v) {
			name, member := dictAt(v, i)
			key, x := out.Map().Entry(i)
			t.add(pointer+"/"+value.Escape(key), member, x, slices.Concat(keys, trace.SourcesOf(name.origin())))
		}
		return
	case out.List() != nil:
		e := listElements(v)
		for i, x := range out.List() {
			member := val{v: x}.withOrigin(v.origin())
			if i < e.len() {
				member = e.at(i)
			}
			t.add(pointer+"/"+strconv.Itoa(i), member, x, keys)
		}
		return
	}
	t.list = append(t.list, trace.Member{Pointer: pointer, Spans: trace.SpansOf([]trace.Part{{From: v.origin()}}, 0, t.stop, t.masked), Keys: keys})
}
