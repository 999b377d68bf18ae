package explain

import (
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// tracedParam is a parameter in its site.
type tracedParam struct {
	at    site
	param *flow.Param
}

// trace is what a parameter rendered to, with the spans of its texts.
type trace struct {
	value   value.Value
	members []prompt.Member
	source  string // of its expressions
	refs    []prompt.Ref
	offset  int // of the template, or the expression, in the text of the parameter

	// at has the index of the first member of each pointer, below those of the members at a pointer and below it: a list may have
	// many thousands.
	at    map[string]int
	below map[string][]int
}

// indexMembers makes members be found by their pointers.
func (t *trace) indexMembers() {
	t.at, t.below = make(map[string]int, len(t.members)), make(map[string][]int, len(t.members))
	for i, m := range t.members {
		if _, isKnown := t.at[m.Pointer]; !isKnown {
			t.at[m.Pointer] = i
		}
		for above := range pointersAbove(m.Pointer) {
			t.below[above] = append(t.below[above], i)
		}
	}
}

// memberAt returns the member that tells of what stands at a pointer: the first at the pointer itself or above it.
func (t *trace) memberAt(pointer string) (m prompt.Member, ok bool) {
	first := len(t.members)
	for above := range pointersAbove(pointer) {
		if i, isKnown := t.at[above]; isKnown {
			first = min(first, i)
		}
	}
	if first == len(t.members) {
		return m, false
	}
	return t.members[first], true
}

// membersBelow returns the members at a pointer and below it.
func (t *trace) membersBelow(pointer string) []prompt.Member {
	members := make([]prompt.Member, len(t.below[pointer]))
	for i, at := range t.below[pointer] {
		members[i] = t.members[at]
	}
	return members
}

// refsIn returns the names in the template that a span is from.
func (t *trace) refsIn(span prompt.Span) (refs []prompt.Ref) {
	for _, ref := range t.refs {
		if ref.Offset >= span.TemplateStart && ref.Offset < span.TemplateEnd {
			refs = append(refs, ref)
		}
	}
	return refs
}
