package processor

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// maxRounds bounds how often what an answer spoilt is taken back; each round takes
// something back.
const maxRounds = 20

// take is one answer being taken.
type take struct {
	*Filling
	source  Source
	open    map[string][]schema.Fault // the faults before, by place
	above   map[string]bool           // the places above those
	changes []change
	whole   map[string]value.Value // answers to faulty objects as a whole
	pieces  int
	removed int // members that were taken out
	before  value.Value
}

// change is a place where something of the answer was put.
type change struct {
	pointer string
	old     value.Value
	had     bool
	asked   bool // it was missing or wrong
}

func (f *Filling) newTake(source Source) *take {
	t := &take{
		Filling: f, source: source, before: copied(f.data),
		open: map[string][]schema.Fault{}, above: map[string]bool{}, whole: map[string]value.Value{},
	}
	for _, fault := range f.faults {
		place := placeOf(fault)
		t.open[place] = append(t.open[place], fault)
		addAbove(t.above, place)
	}
	return t
}

// offer takes v at a place, or the parts of it that are wanted. exact says that
// the answer names the place itself.
func (t *take) offer(tokens []string, v value.Value, exact bool) {
	pointer := join(tokens)
	if t.pieces++; t.pieces > maxPieces {
		t.reject(pointer, v, "the answer has too many pieces")
		return
	}
	place := t.p.schema.Describe(pointer)
	if !place.Known {
		t.reject(pointer, v, "the schema has no such property")
		return
	}
	have, has := t.data.At(pointer)
	if v.IsNull() && !allowsNull(place) {
		return // not known
	}
	if has && value.Equal(have, v) && len(t.open[pointer]) == 0 {
		return
	}
	faulty, replaceable := t.status(pointer, tokens)
	bothObjects := has && have.Kind() == value.Object && v.Kind() == value.Object
	switch {
	case pointer == "" && have.Kind() == value.Object && !bothObjects && t.p.TakesObjects():
		t.reject(pointer, v, "the answer is no object")
	case t.source == User && exact && pointer != "":
		t.assign(tokens, v, faulty)
	case bothObjects:
		if exact && len(t.open[pointer]) > 0 {
			t.mend(tokens, pointer, v)
		}
		for name, member := range v.Map().All() {
			t.offer(append(slices.Clip(tokens), name), member, false)
		}
	case !has || replaceable || t.source == User:
		t.assign(tokens, v, faulty)
	case have.Kind() == value.List && v.Kind() == value.List && t.above[pointer]:
		for i, item := range v.List()[:min(len(v.List()), len(have.List()))] {
			t.offer(append(slices.Clip(tokens), strconv.Itoa(i)), item, false)
		}
	default:
		t.reject(pointer, v, "another value is known and valid")
	}
}

// status says whether a place is at or below a fault, and whether what stands
// there may go for an answer.
func (t *take) status(pointer string, tokens []string) (faulty, replaceable bool) {
	if len(t.open[pointer]) > 0 {
		return true, true
	}
	for i := len(tokens) - 1; i >= 0; i-- {
		above := join(tokens[:i])
		faults := t.open[above]
		if len(faults) == 0 {
			continue
		}
		faulty = true
		have, _ := t.before.At(above)
		union := slices.ContainsFunc(faults, func(f schema.Fault) bool {
			return f.Keyword == "anyOf" || f.Keyword == "oneOf" || f.Keyword == "not"
		})
		if have.Kind() != value.Object || union && above != "" {
			return true, true
		}
	}
	return faulty, false
}

// mend answers a faulty object as a whole: members that must not be there go, if
// the answer has none of them.
func (t *take) mend(tokens []string, pointer string, v value.Value) {
	if pointer != "" {
		t.whole[pointer] = v
	}
	for _, fault := range t.open[pointer] {
		unknown, err := split(fault.Pointer)
		if fault.Keyword != "additionalProperties" || err != nil {
			continue
		}
		name := unknown[len(unknown)-1]
		if _, kept := v.Get(name); !kept {
			t.data = remove(t.data, append(slices.Clip(tokens), name))
			t.removed++
		}
	}
}

// assign puts v, without what the schema does not know, at a place.
func (t *take) assign(tokens []string, v value.Value, asked bool) {
	if cleaned, ok := t.clean(tokens, v); ok {
		t.place(tokens, cleaned, asked)
	}
}

// place puts v at a place as it is.
func (t *take) place(tokens []string, v value.Value, asked bool) {
	tokens, made := t.resolve(tokens)
	pointer := join(tokens[:made])
	old, had := t.data.At(pointer)
	mayGo := func(at string) bool { return len(t.open[at]) > 0 || t.source == User }
	data, err := t.p.put(t.data, nil, tokens, v, mayGo)
	if err != nil {
		t.reject(join(tokens), v, err.Error())
		return
	}
	t.data = data
	t.changes = append(t.changes, change{pointer, old, had, asked})
}

// resolve writes the index for every -, and tells how many tokens lead to the
// topmost value that changes when something is put there: one that is new, or one
// that is no container and goes.
func (t *take) resolve(tokens []string) (resolved []string, made int) {
	resolved = slices.Clone(tokens)
	at, exists := t.data, true
	for i, token := range resolved {
		if token == "-" && (!exists || at.Kind() == value.List) {
			resolved[i] = strconv.Itoa(len(at.List()))
		}
		if exists && at.Kind() != value.Object && at.Kind() != value.List {
			exists = false
		}
		if exists {
			made = i + 1
			at, exists = at.At("/" + value.Escape(resolved[i]))
		}
	}
	return resolved, made
}
