package processor

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// settle checks what the answer made of the data, takes back what does not fit,
// and says how many pieces stay.
func (t *take) settle() int {
	faults := t.faults
	t.faults = t.p.schema.Faults(t.data)
	t.override()
	t.replace()
	t.keep()
	reason := "the answer does not fit the schema"
	for range maxRounds {
		if why := unchecked(t.faults); why != nil {
			reason = why.Error()
			break
		}
		spoilt := t.spoilt()
		if len(spoilt) == 0 {
			return t.finish()
		}
		// From the last to the first, so that the places of the others stay.
		slices.SortFunc(spoilt, func(a, b undo) int { return before(b.tokens, a.tokens) })
		for _, u := range spoilt {
			t.undo(u)
		}
		t.faults = t.p.schema.Faults(t.data)
	}
	t.data, t.faults, t.changes, t.removed = t.before, faults, nil, 0
	t.reject("", value.Value{}, reason)
	return 0
}

// wrongRoot says whether the data is still faulty as a whole.
func (t *take) wrongRoot() bool {
	return slices.ContainsFunc(t.faults, func(f schema.Fault) bool { return placeOf(f) == "" })
}

// override tries, for a root that is still faulty with what was added to it, the
// answers in the place of its members: the kind that another branch of a union wants.
func (t *take) override() {
	if len(t.instead) == 0 || !t.wrongRoot() {
		return
	}
	data, changes, faults := copied(t.data), t.changes, t.faults
	for _, p := range t.instead {
		t.assign(p.tokens, p.v, true)
	}
	if t.faults = t.p.schema.Faults(t.data); !t.wrongRoot() {
		t.instead = nil
		return
	}
	t.data, t.changes, t.faults = data, changes, faults
}

// keep rejects what was not taken in the place of members of the root.
func (t *take) keep() {
	for _, p := range t.instead {
		if have, _ := t.data.At(join(p.tokens)); !value.Equal(have, p.v) {
			t.reject(join(p.tokens), p.v, knownValid)
		}
	}
}

// replace tries, for a faulty object that was answered as a whole and is still
// faulty with both together, the answer alone: another branch of a union.
func (t *take) replace() {
	for _, pointer := range slices.Sorted(maps.Keys(t.whole)) {
		v := t.whole[pointer]
		wrong := func() bool {
			for _, f := range t.faults {
				if within(f.Pointer, pointer) {
					return true
				}
			}
			return false
		}
		tokens, err := split(pointer)
		if err != nil || !wrong() || pointer == "" && !t.wrongRoot() {
			continue
		}
		alone, ok := t.clean(tokens, v)
		if !ok {
			continue
		}
		data, changes, faults := copied(t.data), t.changes, t.faults
		t.place(tokens, alone, true)
		t.faults = t.p.schema.Faults(t.data)
		if wrong() {
			t.data, t.changes, t.faults = data, changes, faults
		}
	}
}

// undo is something to take back: what stands at tokens, put there by the change
// of that index.
type undo struct {
	tokens []string
	change int
	reason string
}

// spoilt finds what of the answer does not fit. Something that is merely missing
// is not among it: an answer may be a part.
func (t *take) spoilt() (all []undo) {
	seen := map[string]bool{}
	add := func(pointer string, change int, reason string) {
		tokens, err := split(pointer)
		if err == nil && !seen[pointer] {
			seen[pointer] = true
			all = append(all, undo{tokens, change, reason})
		}
	}
	for _, fault := range t.faults {
		if fault.Keyword == "required" {
			continue
		}
		inner := -1
		for i, c := range t.changes {
			if within(fault.Pointer, c.pointer) && (inner < 0 || len(c.pointer) >= len(t.changes[inner].pointer)) {
				inner = i
			}
		}
		if inner >= 0 {
			add(fault.Pointer, inner, fault.Message)
			continue
		}
		known := false
		for _, old := range t.open[placeOf(fault)] {
			known = known || old.Keyword == fault.Keyword
		}
		for i, c := range t.changes {
			if !known && !c.asked && within(c.pointer, placeOf(fault)) {
				add(c.pointer, i, fault.Message)
			}
		}
	}
	return all
}

// undo takes something back, and the containers that become empty by that.
func (t *take) undo(u undo) {
	pointer := join(u.tokens)
	v, has := t.data.At(pointer)
	if !has {
		return // it went with something else
	}
	t.reject(pointer, copied(v), u.reason)
	c := t.changes[u.change]
	for within(pointer, c.pointer) {
		if pointer == c.pointer {
			t.revert(u.change, u.tokens)
			return
		}
		t.drop(u.tokens)
		u.tokens = u.tokens[:len(u.tokens)-1]
		pointer = join(u.tokens)
		if v, _ := t.data.At(pointer); v.Map().Len()+len(v.List()) > 0 {
			return
		}
	}
}

// revert brings back what was there before a change.
func (t *take) revert(i int, tokens []string) {
	c := t.changes[i]
	switch {
	case len(tokens) == 0:
		t.data = c.old
	case c.had:
		if data, err := t.p.put(t.data, nil, tokens, c.old, nil); err == nil {
			t.data = data
		}
	default:
		t.drop(tokens)
	}
	t.changes[i].pointer = gone
}

// gone is the pointer of a change that was taken back: no pointer at all.
const gone = "gone"

// drop removes what is at tokens; changes further on in an array move up.
func (t *take) drop(tokens []string) {
	last := len(tokens) - 1
	list, _ := t.data.At(join(tokens[:last]))
	t.data = remove(t.data, tokens)
	if list.Kind() != value.List {
		return
	}
	index, _ := strconv.Atoi(tokens[last])
	for i, c := range t.changes {
		other, err := split(c.pointer)
		if err != nil || len(other) <= last || !slices.Equal(other[:last], tokens[:last]) {
			continue
		}
		if n, err := strconv.Atoi(other[last]); err == nil && n > index {
			other[last] = strconv.Itoa(n - 1)
			t.changes[i].pointer = join(other)
		}
	}
}

// finish records where the new values come from.
func (t *take) finish() int {
	taken := t.removed
	for _, c := range t.changes {
		if _, there := t.data.At(c.pointer); c.pointer == gone || !there {
			continue
		}
		taken++
		for other := range t.sources {
			if within(other, c.pointer) {
				delete(t.sources, other)
			}
		}
		if t.sourceOf(c.pointer) != t.source {
			t.sources[c.pointer] = t.source
		}
	}
	return taken
}

// sourceOf is the source that holds for a place.
func (f *Filling) sourceOf(pointer string) Source {
	for {
		if source, ok := f.sources[pointer]; ok {
			return source
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return Known
		}
		pointer = pointer[:i]
	}
}
