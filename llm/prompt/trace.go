package prompt

import (
	"slices"
	"strconv"

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
	if v.origin().isUnknown() {
		from, known := originsOf(v)
		if !known {
			from = m.touched
		}
		v = v.computedFrom(from)
	}
	if by := m.decided[len(decided):]; len(by) > 0 {
		v = v.withOrigin(v.origin().decidedBy(by))
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
	for _, p := range partsOf(printedOrigin(v), length) {
		if p.stop == 0 {
			p.start, p.stop = start, stop
		}
		m.addPart(p)
	}
}

// addPart records where the text that was just written comes from.
func (m *evaluator) addPart(p part) {
	p.from = p.from.decidedBy(m.decided)
	m.parts = append(m.parts, p)
}

// memberTracer lists the members of a result.
type memberTracer struct {
	list   []Member
	stop   int // bytes of the expression
	masked bool
}

// add adds v, which left the template as out, below keys that were computed.
func (t *memberTracer) add(pointer string, v val, out value.Value, keys []ValueRef) {
	if text, ok := out.Str(); ok {
		if text != "" || len(keys) > 0 {
			t.list = append(t.list, Member{pointer, spansOf(partsOf(v.origin(), len(text)), 0, t.stop, t.masked), keys})
		}
		return
	}
	isWhole := v.origin().isReference()
	isEmpty := out.Map().Len()+len(out.List()) == 0
	switch {
	case isWhole, isEmpty && len(keys) > 0:
	case out.Map() != nil && v.isDict():
		for i := range dictLen(v) {
			name, member := dictAt(v, i)
			key, x := out.Map().Entry(i)
			t.add(pointer+"/"+value.Escape(key), member, x, slices.Concat(keys, sourcesOf(name.origin())))
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
	t.list = append(t.list, Member{pointer, spansOf([]part{{from: v.origin()}}, 0, t.stop, t.masked), keys})
}
