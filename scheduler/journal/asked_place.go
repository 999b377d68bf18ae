package journal

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// AskedPlace is a place that a value is asked for. [WaitingFor.AskedPlace] makes it; it is only data.
type AskedPlace struct {
	Pointer string
	// Schema is the value's schema, references resolved.
	Schema value.Value
	// Either has places inside, one of which is enough: /email or /phone, of an object that requires one of them.
	Either []AskedPlace
}

// maxNested limits the depth to which objects are asked for member by member.
const maxNested = 6

// AskedPlace returns the place that people are asked for first. Of an object that names its members it is the first
// member that is required: for /address that is /address/street. Of a union it is the member that distinguishes
// the branches, /shape/kind, else the whole with a missing member of each branch as [AskedPlace.Either].
func (w WaitingFor) AskedPlace() AskedPlace {
	pointers := w.Pointers()
	if len(pointers) == 0 {
		return AskedPlace{}
	}
	properties, _ := w.RemainingSchema.Get("properties")
	property, _ := properties.Get(pointers[0])
	place := AskedPlace{Pointer: pointers[0], Schema: schema.Resolve(property, w.RemainingSchema)}
	for range maxNested {
		name, member, ok := w.discriminator(place.Schema)
		if !ok {
			name, member, ok = firstMember(place.Schema)
		}
		if !ok {
			break
		}
		place = w.memberPlace(place, name, member)
	}
	place.Either = w.eitherOf(place)
	if len(place.Either) == 1 {
		place = place.Either[0]
		place.Either = w.eitherOf(place)
	}
	return place
}

// memberPlace returns the place of a member.
func (w WaitingFor) memberPlace(of AskedPlace, name string, member value.Value) AskedPlace {
	return AskedPlace{Pointer: of.Pointer + "/" + value.Escape(name), Schema: schema.Resolve(member, w.RemainingSchema)}
}

// Place returns the place of a pointer that the step waits for, or below one.
func (w WaitingFor) Place(pointer string) AskedPlace {
	properties, _ := w.RemainingSchema.Get("properties")
	for at, property := range properties.Map().All() {
		rest, isWithin := strings.CutPrefix(pointer, at)
		if !isWithin || rest != "" && rest[0] != '/' {
			continue
		}
		place := AskedPlace{Pointer: pointer, Schema: schema.Resolve(property, w.RemainingSchema)}
		for name := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
			if rest == "" {
				break
			}
			place.Schema = w.memberSchema(place.Schema, value.Unescape(name))
		}
		name, _, hasMember := firstMember(place.Schema)
		isOwn := slices.Contains(w.Pointers(), pointer+"/"+value.Escape(name)) // the member is asked for by itself
		if !hasMember || isOwn {
			place.Either = w.eitherOf(place)
		}
		return place
	}
	return AskedPlace{Pointer: pointer}
}

// firstMember returns the first property of an object that is required.
func firstMember(object value.Value) (name string, member value.Value, ok bool) {
	properties, _ := object.Get("properties")
	for name, member := range properties.Map().All() {
		if requires(object, name) {
			return name, member, true
		}
	}
	return "", value.Value{}, false
}

func (p AskedPlace) isSamePlace(other AskedPlace) bool { return p.Pointer == other.Pointer }

// Name returns the last name of the pointer; "" of the value as a whole.
func (p AskedPlace) Name() string {
	return value.Unescape(p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:])
}

// IsFreeText reports whether any text fits, or any list of texts: only its length is limited. For example, the
// message "why?", which does not answer the question, would fit as well.
func (p AskedPlace) IsFreeText() bool { return isFreeText(p.Schema) }

func isFreeText(of value.Value) bool {
	for _, key := range []string{"enum", "const", "pattern", "oneOf", "anyOf", "allOf", "not"} {
		if _, ok := of.Get(key); ok {
			return false
		}
	}
	format, _ := of.Get("format")
	if _, isChecked := schema.FindFormat(format.PlainText()); isChecked {
		return false
	}
	switch schema.TypeName(of) {
	case "string":
		return true
	case "array":
		items, _ := of.Get("items")
		return isFreeText(items)
	case "":
		_, isTyped := of.Get("type")
		_, hasMembers := of.Get("properties")
		return !isTyped && !hasMembers
	}
	return false
}
