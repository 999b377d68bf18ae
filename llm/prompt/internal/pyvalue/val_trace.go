package pyvalue

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// JoinedText returns the text of several, each with its origin.
func (m *Run) JoinedText(text string, parts []trace.Part) Val {
	v := OfStr(text)
	if m.Trace {
		v = v.WithOrigin(trace.JoinedOrigin(parts))
	}
	return v
}

// SubText returns a part of the text of v that begins at offset.
func (v Val) SubText(offset int, text string) Val {
	if whole, _ := v.V.Str(); v.Py() == nil && len(whole) == len(text) {
		return v
	}
	return Val{V: value.OfString(text)}.WithOrigin(trace.SliceOrigin(v.Origin(), offset, len(text)))
}

// ComputedFrom returns v with the unknown part of its origin computed from others.
func (v Val) ComputedFrom(from []*trace.Origin) Val {
	isTruth := v.Py() == nil && v.V.Kind() == value.Bool
	return v.WithOrigin(v.Origin().Completed(trace.HarmlessOrigin(from, isTruth)))
}

// ComputeResult returns the result of a filter, a test or a method, with an origin that names its operands and
// nothing else that the expression mentions. If the origin of an operand is not known, an unknown origin of the
// result stays unknown.
func (m *Run) ComputeResult(result, in Val, args CallArgs) (Val, error) {
	if !m.Trace || !result.Origin().IsUnknown() {
		return result, nil
	}
	operands := append([]Val{in}, args.Pos...)
	for _, kw := range args.Kw {
		operands = append(operands, kw.V)
	}
	var from []*trace.Origin
	for _, operand := range operands {
		of, known := OriginsOf(operand)
		if !known {
			return result, nil
		}
		from = append(from, of...)
	}
	return result.ComputedFrom(from), m.CountSteps(len(from) >> 4)
}

// OriginsOf returns the origins of the elements of a list, tuple or dict that an expression made, or else the
// value's own. A value in a template that is neither from the scope nor made of operands with origins has none.
func OriginsOf(v Val) (from []*trace.Origin, known bool) {
	var elements []Val
	switch x := v.Py().(type) {
	case Tuple:
		elements = x
	case *PyList:
		elements = x.Items
	case *PyDict:
		elements = append(slices.Clone(x.Keys), x.Vals...)
	}
	for _, element := range elements {
		of, known := OriginsOf(element)
		if !known {
			elements = nil
			break
		}
		from = append(from, of...)
	}
	if len(elements) > 0 {
		return from, true
	}
	return []*trace.Origin{v.Origin()}, !v.Origin().IsUnknown()
}

// KeepUsed forgets the origins that an expression has mentioned since a length of touched, except those of its
// value v.
func (m *Run) KeepUsed(since int, v Val) {
	if m.Trace && !v.Origin().IsUnknown() {
		m.Touched = append(m.Touched[:since], v.Origin())
	}
}

// Touch records that an expression mentions a value of this origin.
func (m *Run) Touch(o *trace.Origin) {
	if m.Trace && o != nil {
		m.Touched = append(m.Touched, o)
	}
}

// ItemOfText returns one of the texts that the text of v was split into. How many there are depends
// on all of it.
func (m *Run) ItemOfText(v Val, offset int, text string) Val {
	item := Val{V: value.OfString(text)}.WithOrigin(trace.SliceOrigin(v.Origin(), offset, len(text)))
	if m.Masked && v.Origin().UsesSecret() {
		item = item.WithOrigin(item.Origin().DecidedBy([]*trace.Origin{v.Origin()}))
	}
	return item
}
