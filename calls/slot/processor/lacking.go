package processor

import (
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// missingDependents returns a fault for every member that is missing because another one is there: with
// dependencies {card: [code]}, {card: "x"} lacks /code. It returns nil for faults of other keywords.
func missingDependents(s *schema.Schema, fault schema.Fault, data value.Value) (missing []schema.Fault) {
	if fault.Keyword != "dependencies" && fault.Keyword != "dependentRequired" {
		return nil
	}
	have, _ := data.At(fault.Pointer)
	dependencies, _ := fault.Schema.Get(fault.Keyword)
	for present, names := range dependencies.Map().All() {
		if _, has := have.Get(present); !has {
			continue
		}
		for _, one := range names.List() {
			name, _ := one.Str()
			if _, has := have.Get(name); has {
				continue
			}
			lacking := fault
			lacking.Keyword, lacking.Pointer = "required", fault.Pointer+"/"+value.Escape(name)
			lacking.Schema = describedSchema(s, lacking.Pointer)
			missing = append(missing, lacking)
		}
	}
	return missing
}

// describedSchema returns the schema of a place; an empty one if the document says nothing of it.
func describedSchema(s *schema.Schema, pointer string) value.Value {
	switch schemas := s.Describe(pointer).Schemas; len(schemas) {
	case 0:
		return value.OfMap(nil)
	case 1:
		return schemas[0]
	default:
		return value.OfMap(value.Pairs("allOf", schemas))
	}
}

// narrowUnion returns the fault of a union with a schema that requires only members that are missing, so that no
// known one is asked for. Branches that a known discriminator rules out are dropped. For example {name: "Lin"}
// against required [name] and anyOf [{required: [name, email]}, {required: [phone]}] wants anyOf [{required:
// [email]}, {required: [phone]}].
func (f *Filling) narrowUnion(fault schema.Fault, data value.Value) schema.Fault {
	have, _ := data.At(fault.Pointer)
	if fault.Keyword == "minProperties" {
		fault.Schema = withoutMembers(fault.Schema, have)
		return fault
	}
	isUnion := fault.Keyword == "oneOf" || fault.Keyword == "anyOf"
	if !isUnion || have.Map().Len() == 0 {
		return fault
	}
	branches, _ := fault.Schema.Get(fault.Keyword)
	var open []value.Value
	for _, branch := range branches.List() {
		branch = f.resolveRef(branch)
		if branch.Kind() != value.Object {
			return fault
		}
		if !f.isRuledOut(branch, have) {
			open = append(open, withoutKnown(branch, have))
		}
	}
	if len(open) == 0 {
		return fault
	}
	narrowed := withoutKnown(fault.Schema, have).Map().Clone()
	narrowed.Set(fault.Keyword, value.OfList(open...))
	fault.Schema = value.OfMap(narrowed)
	return fault
}

// withoutMembers returns an object schema with minProperties without the members that an object has: it must have so many fewer.
func withoutMembers(object, have value.Value) value.Value {
	properties, _ := object.Get("properties")
	least, _ := object.Get("minProperties")
	n, _ := least.Int()
	open := properties.Map().Clone()
	for name := range have.Map().All() {
		open.Delete(name)
	}
	if open.Len() == 0 {
		return object
	}
	m := object.Map().Clone()
	m.Set("properties", value.OfMap(open))
	m.Set("minProperties", value.OfInt(n-int64(have.Map().Len())))
	return value.OfMap(m)
}

// isRuledOut reports whether an object has another value for a property that a branch fixes to one.
func (f *Filling) isRuledOut(branch, have value.Value) bool {
	properties, _ := branch.Get("properties")
	for name, property := range properties.Map().All() {
		only, isFixed := onlyValue(f.resolveRef(property))
		given, has := have.Get(name)
		if isFixed && has && !value.Equal(only, given) {
			return true
		}
	}
	return false
}

// withoutKnown returns an object schema that does not require the members that an object has.
func withoutKnown(object, have value.Value) value.Value {
	required, ok := object.Get("required")
	if !ok {
		return object
	}
	missing := slices.DeleteFunc(slices.Clone(required.List()), func(one value.Value) bool {
		name, _ := one.Str()
		_, has := have.Get(name)
		return has
	})
	m := object.Map().Clone()
	m.Set("required", value.OfList(missing...))
	if len(missing) == 0 {
		m.Delete("required")
	}
	return value.OfMap(m)
}
