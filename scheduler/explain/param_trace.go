package explain

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// recordKey identifies the record of one rendering: the parameters of a step, its list of items, or the outputs of
// the flow that it runs; a nil step means the outermost flow.
type recordKey struct {
	got *journal.StepState
	of  side
}

// recordedSpans are the spans of a rendered value, as the run has recorded them.
type recordedSpans struct {
	value   value.Value
	members []span.Member

	// at has the index of the first member of each pointer, below has the members at a pointer and below it: a
	// list may have many thousands.
	at    map[string]int
	below map[string][]int
}

// newRecordedSpans decodes the record of a value; nil if it has none, for example in a run of an earlier version.
func newRecordedSpans(v value.Value, record span.Record) *recordedSpans {
	members, err := record.Members()
	if err != nil || len(members) == 0 {
		return nil
	}
	r := &recordedSpans{value: v, members: members, at: make(map[string]int, len(members)), below: make(map[string][]int, len(members))}
	for i, m := range members {
		if _, isKnown := r.at[m.Pointer]; !isKnown {
			r.at[m.Pointer] = i
		}
		for above := range pointersAbove(m.Pointer) {
			r.below[above] = append(r.below[above], i)
		}
	}
	return r
}

// trace is the record of a template's or an expression's rendering: the part of a record at and below a pointer.
type trace struct {
	*recordedSpans
	pointer string // of the parameter
	source  string // of a template
	refs    []prompt.Ref
	offset  int // of the template, or the expression, in the text of the parameter
}

// traceOf returns the record of a parameter at a pointer of a root: the parameters of a step, its items, or the
// outputs of a flow. It is nil if nothing is recorded, or if the template has changed: a flow that was edited
// since may be shown with the values of a run.
func (x *explainer) traceOf(at site, root, p *flow.Param, pointer string) *trace {
	recorded := x.recordOf(at, root)
	if recorded == nil {
		return nil
	}
	if at.step != nil && root == at.step.With && recorded.isOfFiller {
		pointer = "/data" + pointer
	}
	t := &trace{recordedSpans: recorded.recordedSpans, pointer: pointer, offset: p.TextOffset}
	if p.Text != nil {
		t.source, t.refs = p.Text.Source().Text, p.Text.Refs()
	}
	return t
}

// filledSpans are the spans of parameters as they were rendered, before the call slot filled them or after.
type filledSpans struct {
	*recordedSpans
	isOfFiller bool // they belong to the data of slot
}

// recordOf returns the record of the rendering of a root.
func (x *explainer) recordOf(at site, root *flow.Param) *filledSpans {
	if at.got != nil {
		at.got = x.record.HostOf(at.got)
	}
	key, isOfFiller := recordKey{at.got, ofParams}, false
	var v value.Value
	var record span.Record
	switch {
	case at.step == nil:
		key = recordKey{at.around.got, ofOutput}
		v, record = x.record.Outputs, x.record.OutputSpans
		if got := at.around.got; got != nil {
			v, record = got.Output, got.OutputSpans
		}
	case root == at.step.ForEach:
		got := x.record.Step(at.prefix + at.step.ID)
		key = recordKey{got, ofInput}
		v, record = got.Input, got.Spans
	default:
		v, record = at.got.Params, at.got.Spans
		if filler, ok := x.fillerOf(at); ok && filler.got.Spans != nil {
			key.got, isOfFiller = filler.got, true
			v, record = filler.got.Params, filler.got.Spans
		}
	}
	known, isKnown := x.recorded[key]
	if !isKnown {
		if r := newRecordedSpans(v, record); r != nil {
			known = &filledSpans{r, isOfFiller}
		}
		x.recorded[key] = known
	}
	return known
}

// memberAt returns the member that covers the value at a pointer below the parameter: the first at the pointer
// itself or above it.
func (t *trace) memberAt(rest string) (m span.Member, ok bool) {
	first := len(t.members)
	for above := range pointersAbove(t.pointer + rest) {
		if i, isKnown := t.recordedSpans.at[above]; isKnown {
			first = min(first, i)
		}
	}
	if first == len(t.members) {
		return m, false
	}
	m = t.members[first]
	m.Pointer = strings.TrimPrefix(m.Pointer, t.pointer)
	return m, true
}

// membersBelow returns the members at a pointer below the parameter and below it.
func (t *trace) membersBelow(rest string) []span.Member {
	below := t.recordedSpans.below[t.pointer+rest]
	members := make([]span.Member, len(below))
	for i, at := range below {
		members[i] = t.members[at]
	}
	return members
}

// valueAt returns the value at a pointer below the parameter.
func (t *trace) valueAt(rest string) value.Value {
	v, _ := t.value.At(t.pointer + rest)
	return v
}

// isOfTemplate reports whether the spans of a text fit it and the template: each literal has the words of the template.
func (t *trace) isOfTemplate(spans []span.Span, text string) bool {
	end := 0
	for _, s := range spans {
		if s.Start != end || s.End > len(text) {
			return false
		}
		end = s.End
		isCopy := s.Kind == span.Literal && s.End-s.Start == s.TemplateEnd-s.TemplateStart
		if t.source == "" {
			continue
		}
		if s.TemplateEnd > len(t.source) || isCopy && t.source[s.TemplateStart:s.TemplateEnd] != text[s.Start:s.End] {
			return false
		}
	}
	return end == len(text)
}
