package processor

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// maxRounds bounds the rounds that take back parts of an answer that spoil the data; each round takes something
// back.
const maxRounds = 20

// answerMerge is the merge of one answer into the data. [Filling.Take] creates it
// and discards it with the call.
type answerMerge struct {
	*Filling
	source  Source
	open    map[string][]schema.Fault // the faults before, by place
	above   map[string]bool           // the places above those
	changes []change
	whole   map[string]value.Value // answers to faulty objects as a whole
	instead []answerPart           // answers that would replace members of a faulty root
	pieces  int
	removed int // members that were taken out
	before  value.Value
}

// answerPart is a part of an answer and its place.
type answerPart struct {
	tokens []string
	v      value.Value
}

// change is a place at which a part of the answer was put.
type change struct {
	pointer string
	old     value.Value
	had     bool
	asked   bool // it was missing or wrong
}

func (f *Filling) newMerge(source Source) *answerMerge {
	t := &answerMerge{
		Filling: f, source: source, before: deepCopy(f.data),
		open: map[string][]schema.Fault{}, above: map[string]bool{}, whole: map[string]value.Value{},
	}
	for _, fault := range f.faults {
		place := placeOfFault(fault)
		t.open[place] = append(t.open[place], fault)
		addAncestors(t.above, place)
	}
	return t
}

// offerValue takes v at a place, or the parts of it that are wanted. exact means that
// the answer names the place itself.
func (t *answerMerge) offerValue(tokens []string, v value.Value, exact bool) {
	pointer := value.FormatPointer(tokens...)
	t.pieces++
	if t.pieces > maxPieces {
		t.reject(pointer, v, t.p.say("the answer has too many pieces"))
		return
	}
	place := t.p.schema.Describe(pointer)
	if !place.Known {
		t.reject(pointer, v, t.p.say("the schema has no such property"))
		return
	}
	have, has := t.data.At(pointer)
	if v.IsNull() && !allowsNull(place) {
		return // not known
	}
	if has && value.Equal(have, v) && len(t.open[pointer]) == 0 {
		return
	}
	faulty, replaceable := t.placeStatus(pointer, tokens)
	bothObjects := has && have.Kind() == value.Object && v.Kind() == value.Object
	replacesData := pointer == "" && have.Kind() == value.Object && !bothObjects
	switch {
	case replacesData && t.p.TakesObjects() && !t.mendsWhole(v):
		t.reject(pointer, v, t.p.say("the answer is not an object"))
	case t.source == User && exact && pointer != "":
		t.assignCleaned(tokens, v, faulty)
	case bothObjects:
		if exact && len(t.open[pointer]) > 0 {
			t.offerWhole(tokens, pointer, v)
		}
		for name, member := range v.Map().All() {
			t.offerValue(append(slices.Clip(tokens), name), member, false)
		}
	case !has || replaceable || t.source == User:
		t.assignCleaned(tokens, v, faulty)
	case have.Kind() == value.List && v.Kind() == value.List && t.above[pointer]:
		for i, item := range v.List()[:min(len(v.List()), len(have.List()))] {
			t.offerValue(append(slices.Clip(tokens), strconv.Itoa(i)), item, false)
		}
	case failsAsWhole(t.open[""]):
		t.instead = append(t.instead, answerPart{tokens, v})
	default:
		t.reject(pointer, v, t.p.say("another value is known and valid"))
	}
}

// mendsWhole reports whether v, which is not an object, fits in place of all data that is faulty as a whole.
func (t *answerMerge) mendsWhole(v value.Value) bool {
	if !failsAsWhole(t.open[""]) {
		return false
	}
	cleaned, ok := t.cleanAnswer(nil, v)
	return ok && len(t.findFaults(cleaned)) == 0
}

// failsAsWhole reports whether one of the faults of a place is about the value as a whole: then it is not known
// which of its members are right.
func failsAsWhole(faults []schema.Fault) bool {
	return slices.ContainsFunc(faults, func(f schema.Fault) bool {
		return slices.Contains([]string{"anyOf", "oneOf", "not", "const", "enum"}, f.Keyword)
	})
}

// placeStatus reports whether a place is at or below a fault, and whether the value there may be removed for an
// answer.
func (t *answerMerge) placeStatus(pointer string, tokens []string) (faulty, replaceable bool) {
	if len(t.open[pointer]) > 0 {
		return true, true
	}
	for i := len(tokens) - 1; i >= 0; i-- {
		above := value.FormatPointer(tokens[:i]...)
		faults := t.open[above]
		if len(faults) == 0 {
			continue
		}
		faulty = true
		have, _ := t.before.At(above)
		isWrongWhole := above != "" && failsAsWhole(faults)
		if isWrongWhole || have.Kind() != value.Object {
			return true, true
		}
	}
	return faulty, false
}

// offerWhole answers a faulty object as a whole: members that must not be there are removed, except members of the
// answer that may be there in another branch.
func (t *answerMerge) offerWhole(tokens []string, pointer string, v value.Value) {
	t.whole[pointer] = v
	for _, fault := range t.open[pointer] {
		unknown, err := parsePointer(fault.Pointer)
		if fault.Keyword != "additionalProperties" || err != nil {
			continue
		}
		name := unknown[len(unknown)-1]
		if _, kept := v.Get(name); !kept || !t.p.schema.Describe(fault.Pointer).Known {
			t.data = removeAt(t.data, append(slices.Clip(tokens), name))
			t.removed++
		}
	}
}

// assignCleaned puts v, without parts that the schema does not know, at a place.
func (t *answerMerge) assignCleaned(tokens []string, v value.Value, asked bool) {
	if cleaned, ok := t.cleanAnswer(tokens, v); ok {
		t.setValue(tokens, cleaned, asked)
	}
}

// setValue puts v at a place as it is.
func (t *answerMerge) setValue(tokens []string, v value.Value, asked bool) {
	tokens, made := t.resolveTokens(tokens)
	pointer := value.FormatPointer(tokens[:made]...)
	old, had := t.data.At(pointer)
	data, err := t.p.setAt(t.data, nil, tokens, v, t.isReplaceable)
	if err != nil {
		t.reject(value.FormatPointer(tokens...), v, t.p.explain(err))
		return
	}
	t.data = data
	t.changes = append(t.changes, change{pointer, old, had, asked})
}

// isReplaceable reports whether the value at a place may be replaced for an answer below it.
func (t *answerMerge) isReplaceable(pointer string) bool {
	return len(t.open[pointer]) > 0 || t.source == User
}

// resolveTokens writes the index for every -, and returns how many tokens lead to the
// topmost value that changes when something is put there: one that is new, or one
// that is misplaced and goes.
func (t *answerMerge) resolveTokens(tokens []string) (resolved []string, made int) {
	resolved = slices.Clone(tokens)
	at, exists := t.data, true
	for i, token := range resolved {
		if exists && t.isReplaceable(value.FormatPointer(resolved[:i]...)) && t.p.isMisplaced(at, resolved[:i]) {
			at, exists = value.Value{}, false
		}
		canAppend := !exists || at.Kind() == value.List
		if token == "-" && canAppend {
			resolved[i] = strconv.Itoa(len(at.List()))
		}
		if exists {
			made = i + 1
			at, exists = at.At(value.FormatPointer(resolved[i]))
		}
	}
	return resolved, made
}

// cleanAnswer returns an answer for a place without parts that the schema does not know and with its scalars as
// the schema has them. ok is false if nothing is left.
func (t *answerMerge) cleanAnswer(tokens []string, v value.Value) (cleaned value.Value, ok bool) {
	return t.cleanPart(tokens, v, false)
}

// cleanPart is cleanAnswer for a part; item means that v is an item of an array, which
// has no name to be known.
func (t *answerMerge) cleanPart(tokens []string, v value.Value, item bool) (cleaned value.Value, ok bool) {
	t.pieces++
	if t.pieces > maxPieces || len(tokens) > maxTokens {
		t.reject(value.FormatPointer(tokens...), value.Value{}, t.p.say("the answer has too many pieces"))
		return value.Value{}, false
	}
	place := t.p.schema.Describe(value.FormatPointer(tokens...))
	v = parseContainer(v, place)
	switch {
	case !place.Known && !item:
		t.reject(value.FormatPointer(tokens...), v, t.p.say("the schema has no such property"))
		return value.Value{}, false
	case v.IsNull():
		return v, allowsNull(place)
	case v.Kind() == value.Object:
		m := value.NewMap(v.Map().Len())
		for name, member := range v.Map().All() {
			if inner, ok := t.cleanPart(append(slices.Clip(tokens), name), member, false); ok {
				m.Set(name, inner)
			}
		}
		return value.OfMap(m), m.Len() > 0 || v.Map().Len() == 0
	case v.Kind() == value.List:
		items := []value.Value{}
		for i, item := range v.List() {
			if inner, ok := t.cleanPart(append(slices.Clip(tokens), strconv.Itoa(i)), item, true); ok {
				items = append(items, inner)
			}
		}
		return value.OfList(items...), len(items) > 0 || len(v.List()) == 0
	}
	return t.cleanScalar(tokens, v, place)
}

// cleanScalar turns a scalar into the type that the schema wants, if that is certain.
func (t *answerMerge) cleanScalar(tokens []string, v value.Value, place schema.Place) (value.Value, bool) {
	if err := schema.Checkable(v); err != nil {
		t.reject(value.FormatPointer(tokens...), v, t.p.explain(err))
		return v, false
	}
	if t.isFromModel(t.source) && t.isPlaceholder(v, value.FormatPointer(tokens...), place) {
		t.reject(value.FormatPointer(tokens...), v, t.p.say("it says that the value is not known"))
		return v, false
	}
	takesBlank := slices.ContainsFunc(place.All, schema.TakesBlank)
	if t.source == User && schema.IsBlank(v) && !takesBlank {
		return v, false
	}
	converted, understood := t.p.convertFormat(v, place, t.now)
	if !understood {
		t.reject(value.FormatPointer(tokens...), v, t.p.say("it is not understood as %s", t.p.formatName(place)))
		return v, false
	}
	if enum, ok := matchEnum(converted, place); ok {
		return enum, true
	}
	return parseTyped(converted, place), true
}

// maxPieces bounds how many pieces of one answer are looked at.
const maxPieces = 2000
