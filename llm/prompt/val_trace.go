package prompt

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// joinedText returns the text of several, each with its origin.
func (m *run) joinedText(text string, parts []trace.Part) val {
	v := ofStr(text)
	if m.trace {
		v = v.withOrigin(trace.JoinedOrigin(parts))
	}
	return v
}

// subText returns a part of the text of v that begins at offset.
func (v val) subText(offset int, text string) val {
	if whole, _ := v.v.Str(); v.py() == nil && len(whole) == len(text) {
		return v
	}
	return val{v: value.OfString(text)}.withOrigin(trace.SliceOrigin(v.origin(), offset, len(text)))
}

// computedFrom returns v with what is unknown of its origin computed from others.
func (v val) computedFrom(from []*trace.Origin) val {
	isTruth := v.py() == nil && v.v.Kind() == value.Bool
	return v.withOrigin(v.origin().Completed(trace.HarmlessOrigin(from, isTruth)))
}

// computeResult returns what a filter, a test or a method made of its operands, with an
// origin that names them and nothing else that the expression mentions. Where the origin
// of an operand is not known, that of an unknown result stays so.
func (m *run) computeResult(result, in val, args callArgs) (val, error) {
	if !m.trace || !result.origin().IsUnknown() {
		return result, nil
	}
	operands := append([]val{in}, args.pos...)
	for _, kw := range args.kw {
		operands = append(operands, kw.v)
	}
	var from []*trace.Origin
	for _, operand := range operands {
		of, known := originsOf(operand)
		if !known {
			return result, nil
		}
		from = append(from, of...)
	}
	return result.computedFrom(from), m.countSteps(len(from) >> 4)
}

// originsOf returns the origins of the elements of a list, tuple or dict that an
// expression made, and else that of the value. A value in a template that is neither
// from the scope nor made of operands with origins has none.
func originsOf(v val) (from []*trace.Origin, known bool) {
	var elements []val
	switch x := v.py().(type) {
	case tuple:
		elements = x
	case *pyList:
		elements = x.items
	case *pyDict:
		elements = append(slices.Clone(x.keys), x.vals...)
	}
	for _, element := range elements {
		of, known := originsOf(element)
		if !known {
			elements = nil
			break
		}
		from = append(from, of...)
	}
	if len(elements) > 0 {
		return from, true
	}
	return []*trace.Origin{v.origin()}, !v.origin().IsUnknown()
}

// keepUsed forgets what an expression has mentioned since a length of touched, but for
// what its value v comes from.
func (m *run) keepUsed(since int, v val) {
	if m.trace && !v.origin().IsUnknown() {
		m.touched = append(m.touched[:since], v.origin())
	}
}

// touch records that an expression mentions a value of this origin.
func (m *run) touch(o *trace.Origin) {
	if m.trace && o != nil {
		m.touched = append(m.touched, o)
	}
}

// printedOrigin returns the origin of the text that a value prints as. The text of
// a list or a dict is computed from it.
func printedOrigin(v val) *trace.Origin {
	if v.origin() == nil || isText(v) || !isIterable(v) {
		return v.origin()
	}
	return trace.ComputedOrigin([]*trace.Origin{v.origin()})
}

// itemOfText returns one of the texts that the text of v was split into. How many there are depends
// on all of it.
func (m *run) itemOfText(v val, offset int, text string) val {
	item := val{v: value.OfString(text)}.withOrigin(trace.SliceOrigin(v.origin(), offset, len(text)))
	if m.masked && v.origin().UsesSecret() {
		item = item.withOrigin(item.origin().DecidedBy([]*trace.Origin{v.origin()}))
	}
	return item
}
