package processor

import (
	"maps"
	"slices"
	"strconv"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// finish checks the data with the answer in it, takes back the parts that do not fit, and returns how many pieces
// stay.
func (t *answerMerge) finish() int {
	faults := t.faults
	t.faults = t.findFaults(t.data)
	t.tryReplacingMembers()
	t.tryAnswerAlone()
	t.rejectReplacements()
	reason := t.p.say("the answer does not fit the schema")
	for range maxRounds {
		if why := uncheckedReason(t.faults); why != nil {
			reason = t.p.explain(why)
			break
		}
		spoilt := t.findMisfits()
		if len(spoilt) == 0 {
			return t.recordSources()
		}
		// From the last to the first, so that the places of the others stay.
		slices.SortFunc(spoilt, func(a, b misfit) int { return comparePlaces(b.tokens, a.tokens) })
		for _, u := range spoilt {
			t.removeMisfit(u)
		}
		t.faults = t.findFaults(t.data)
	}
	t.data, t.faults, t.changes, t.removed = t.before, faults, nil, 0
	t.reject("", value.Value{}, reason)
	return 0
}

// isRootWrong reports whether the data is still faulty as a whole.
func (t *answerMerge) isRootWrong() bool {
	return slices.ContainsFunc(t.faults, func(f schema.Fault) bool { return placeOfFault(f) == "" })
}

// tryReplacingMembers tries answers in place of members of a root that is still faulty with the additions: another
// branch of a union may want them.
func (t *answerMerge) tryReplacingMembers() {
	if len(t.instead) == 0 || !t.isRootWrong() {
		return
	}
	data, changes, faults := deepCopy(t.data), t.changes, t.faults
	for _, p := range t.instead {
		t.assignCleaned(p.tokens, p.v, true)
	}
	t.faults = t.findFaults(t.data)
	if !t.isRootWrong() {
		t.instead = nil
		return
	}
	t.data, t.changes, t.faults = data, changes, faults
}

// rejectReplacements rejects answers that did not replace members of the root.
func (t *answerMerge) rejectReplacements() {
	for _, p := range t.instead {
		if have, _ := t.data.At(value.FormatPointer(p.tokens...)); !value.Equal(have, p.v) {
			t.reject(value.FormatPointer(p.tokens...), p.v, t.p.say("another value is known and valid"))
		}
	}
}

// tryAnswerAlone tries, for a faulty object that was answered as a whole and is still
// faulty with both together, the answer alone: another branch of a union.
func (t *answerMerge) tryAnswerAlone() {
	for _, pointer := range slices.Sorted(maps.Keys(t.whole)) {
		v := t.whole[pointer]
		wrong := func() bool {
			for _, f := range t.faults {
				if isWithin(f.Pointer, pointer) {
					return true
				}
			}
			return false
		}
		tokens, err := parsePointer(pointer)
		if err != nil || !wrong() {
			continue
		}
		if pointer == "" && !t.isRootWrong() {
			continue
		}
		alone, ok := t.cleanAnswer(tokens, v)
		if !ok {
			continue
		}
		data, changes, faults := deepCopy(t.data), t.changes, t.faults
		t.setValue(tokens, alone, true)
		t.faults = t.findFaults(t.data)
		if wrong() {
			t.data, t.changes, t.faults = data, changes, faults
		}
	}
}

// misfit is a value to take back: at tokens, set by the change with that index.
type misfit struct {
	tokens []string
	change int
	reason string
}

// findMisfits finds the parts of the answer that do not fit. Missing values are not among them: an answer may be a
// part.
func (t *answerMerge) findMisfits() (all []misfit) {
	seen := map[string]bool{}
	add := func(pointer string, change int, reason string) {
		tokens, err := parsePointer(pointer)
		if err == nil && !seen[pointer] {
			seen[pointer] = true
			all = append(all, misfit{tokens, change, reason})
		}
	}
	for _, fault := range t.faults {
		if fault.Keyword == "required" || lacksNamed(fault) {
			continue
		}
		inner := -1
		for i, c := range t.changes {
			if !isWithin(fault.Pointer, c.pointer) {
				continue
			}
			if inner < 0 || len(c.pointer) >= len(t.changes[inner].pointer) {
				inner = i
			}
		}
		if inner >= 0 {
			add(fault.Pointer, inner, fault.In(t.p.language))
			continue
		}
		if i, ok := t.surplusChange(fault); ok {
			add(t.changes[i].pointer, i, fault.In(t.p.language))
			continue
		}
		place := placeOfFault(fault)
		known := slices.ContainsFunc(t.open[place], func(old schema.Fault) bool { return old.Keyword == fault.Keyword })
		wasValid := t.wasValid(place)
		for i, c := range t.changes {
			if !known && (wasValid || !c.asked) && isWithin(c.pointer, place) {
				add(c.pointer, i, fault.In(t.p.language))
			}
		}
	}
	return all
}

// lacksNamed reports whether an object has too few of the members that its schema names: others may come.
func lacksNamed(fault schema.Fault) bool {
	properties, _ := fault.Schema.Get("properties")
	return fault.Keyword == "minProperties" && properties.Map().Len() > 0
}

// maxSurplus bounds how many of the newest changes are looked at for one that is too much.
const maxSurplus = 20

// surplusChange returns the newest addition without which the object of a faulty oneOf is right, though it may lack members: the phone, if the
// answer has an email as well and one of them is wanted.
func (t *answerMerge) surplusChange(fault schema.Fault) (index int, ok bool) {
	if fault.Keyword != "oneOf" {
		return 0, false
	}
	for i := len(t.changes) - 1; i >= max(0, len(t.changes)-maxSurplus); i-- {
		c := t.changes[i]
		tokens, err := parsePointer(c.pointer)
		isBelow := err == nil && c.pointer != fault.Pointer && isWithin(c.pointer, fault.Pointer)
		if !isBelow || c.had {
			continue
		}
		left := t.findFaults(removeAt(deepCopy(t.data), tokens))
		isFaulty := slices.ContainsFunc(left, func(f schema.Fault) bool {
			return f.Keyword != "required" && isWithin(f.Pointer, fault.Pointer)
		})
		if !isFaulty {
			return i, true
		}
	}
	return 0, false
}

// wasValid reports whether nothing was wrong at a place before the answer: a part that spoils it is taken back,
// even if the answer repairs something above.
func (t *answerMerge) wasValid(place string) bool {
	if len(t.open[place]) > 0 || t.above[place] {
		return false
	}
	for above, faults := range t.open {
		if isWithin(place, above) && failsAsWhole(faults) {
			return false
		}
	}
	return true
}

// removeMisfit takes something back, and the containers that become empty by that.
func (t *answerMerge) removeMisfit(u misfit) {
	pointer := value.FormatPointer(u.tokens...)
	v, has := t.data.At(pointer)
	if !has {
		return // it went with something else
	}
	t.reject(pointer, deepCopy(v), u.reason)
	c := t.changes[u.change]
	for isWithin(pointer, c.pointer) {
		if pointer == c.pointer {
			t.revertChange(u.change, u.tokens)
			return
		}
		t.removeValue(u.tokens)
		u.tokens = u.tokens[:len(u.tokens)-1]
		pointer = value.FormatPointer(u.tokens...)
		if v, _ := t.data.At(pointer); v.Map().Len()+len(v.List()) > 0 {
			return
		}
	}
}

// revertChange restores the value before a change.
func (t *answerMerge) revertChange(i int, tokens []string) {
	c := t.changes[i]
	switch {
	case len(tokens) == 0:
		t.data = c.old
	case c.had:
		if data, err := t.p.setAt(t.data, nil, tokens, c.old, nil); err == nil {
			t.data = data
		}
	default:
		t.removeValue(tokens)
	}
	t.changes[i].pointer = gone
}

// gone is the pointer of a change that was taken back: no pointer at all.
const gone = "gone"

// removeValue removes the value at tokens; changes further on in an array move up.
func (t *answerMerge) removeValue(tokens []string) {
	last := len(tokens) - 1
	list, _ := t.data.At(value.FormatPointer(tokens[:last]...))
	t.data = removeAt(t.data, tokens)
	if list.Kind() != value.List {
		return
	}
	index, _ := strconv.Atoi(tokens[last])
	for i, c := range t.changes {
		other, err := parsePointer(c.pointer)
		if err != nil || len(other) <= last || !slices.Equal(other[:last], tokens[:last]) {
			continue
		}
		if n, err := strconv.Atoi(other[last]); err == nil && n > index {
			other[last] = strconv.Itoa(n - 1)
			t.changes[i].pointer = value.FormatPointer(other...)
		}
	}
}

// recordSources records the sources of the new values.
func (t *answerMerge) recordSources() int {
	taken := t.removed
	for _, c := range t.changes {
		if _, there := t.data.At(c.pointer); c.pointer == gone || !there {
			continue
		}
		taken++
		for other := range t.sources {
			if isWithin(other, c.pointer) {
				delete(t.sources, other)
			}
		}
		if t.sourceOf(c.pointer) != t.source {
			t.sources[c.pointer] = t.source
		}
	}
	return taken
}
