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
	// Schema is that of the value, references resolved.
	Schema value.Value
}

// maxNested bounds how deep objects are asked for member by member.
const maxNested = 6

// AskedPlace returns the place that people are asked for first. Of an object that names its members it is the first
// member that is required: for /address that is /address/street.
func (w WaitingFor) AskedPlace() AskedPlace {
	pointers := w.Pointers()
	if len(pointers) == 0 {
		return AskedPlace{}
	}
	properties, _ := w.RemainingSchema.Get("properties")
	property, _ := properties.Get(pointers[0])
	place := AskedPlace{pointers[0], schema.Resolve(property, w.RemainingSchema)}
	for range maxNested {
		name, member, ok := firstMember(place.Schema)
		if !ok {
			break
		}
		place = AskedPlace{place.Pointer + "/" + value.Escape(name), schema.Resolve(member, w.RemainingSchema)}
	}
	return place
}

// Place returns the place of a pointer that the step waits for, or below one.
func (w WaitingFor) Place(pointer string) AskedPlace {
	properties, _ := w.RemainingSchema.Get("properties")
	for at, property := range properties.Map().All() {
		rest, isWithin := strings.CutPrefix(pointer, at)
		if !isWithin || rest != "" && rest[0] != '/' {
			continue
		}
		place := AskedPlace{pointer, schema.Resolve(property, w.RemainingSchema)}
		for name := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
			if rest == "" {
				break
			}
			members, _ := place.Schema.Get("properties")
			member, _ := members.Get(value.Unescape(name))
			place.Schema = schema.Resolve(member, w.RemainingSchema)
		}
		return place
	}
	return AskedPlace{Pointer: pointer}
}

// firstMember returns the first property of an object that is required.
func firstMember(object value.Value) (name string, member value.Value, ok bool) {
	required, _ := object.Get("required")
	properties, _ := object.Get("properties")
	for name, member := range properties.Map().All() {
		isRequired := slices.ContainsFunc(required.List(), func(r value.Value) bool {
			one, _ := r.Str()
			return one == name
		})
		if isRequired {
			return name, member, true
		}
	}
	return "", value.Value{}, false
}

// Name returns the last name of the pointer; "" of the value as a whole.
func (p AskedPlace) Name() string {
	return value.Unescape(p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:])
}

// IsFreeText reports whether any text of a length fits.
func (p AskedPlace) IsFreeText() bool {
	for _, key := range []string{"enum", "const", "format", "pattern", "oneOf", "anyOf", "allOf", "not"} {
		if _, ok := p.Schema.Get(key); ok {
			return false
		}
	}
	return schema.TypeName(p.Schema) == "string"
}
