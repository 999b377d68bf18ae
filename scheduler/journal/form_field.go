package journal

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// FormField is a value that a form asks for. [WaitingFor.FormFields] makes it; it is only data.
type FormField struct {
	AskedPlace
	IsOptional bool
}

// FormFields returns the fields of a form for all that the step waits for. An object that names its members has a field for each
// of them: /address has /address/street and /address/town. A union has one for the member that distinguishes its
// branches; the other members are asked for when that is known.
func (w WaitingFor) FormFields() []FormField {
	properties, _ := w.RemainingSchema.Get("properties")
	required, _ := w.RemainingSchema.Get("required")
	var fields []FormField
	for pointer := range properties.Map().All() {
		isLater := pointer == "" && properties.Map().Len() > 1 // asked for when the members are there
		if isLater {
			continue
		}
		isNeeded := slices.ContainsFunc(required.List(), func(one value.Value) bool { return one.PlainText() == pointer })
		fields = w.appendFields(fields, FormField{w.Place(pointer), !isNeeded})
	}
	return fields
}

// Needs reports whether a form cannot leave the field of a pointer out.
func (w WaitingFor) Needs(pointer string) bool {
	return !slices.ContainsFunc(w.FormFields(), func(f FormField) bool { return f.Pointer == pointer && f.IsOptional })
}

// appendFields adds the fields of a place.
func (w WaitingFor) appendFields(fields []FormField, of FormField) []FormField {
	if kind, ok := w.KindPlace(of.Pointer); ok {
		return append(fields, FormField{kind, of.IsOptional})
	}
	members, _ := of.Schema.Get("properties")
	isLeaf := len(of.Either) > 0 || members.Map().Len() == 0 || schema.Choices(of.Schema) != nil
	if isLeaf || strings.Count(of.Pointer, "/") > maxNested {
		return append(fields, of)
	}
	for name := range members.Map().All() {
		member := w.Place(of.Pointer + "/" + value.Escape(name))
		fields = w.appendFields(fields, FormField{member, of.IsOptional || !requires(of.Schema, name)})
	}
	return fields
}
