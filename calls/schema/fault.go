package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
)

// Fault is a [Problem] with the subschema that it breaks. [Schema.Faults] creates it.
type Fault struct {
	Problem
	// Schema is the subschema whose keyword failed, as the document has it. For a missing property it is the
	// property's own, even if the document has it elsewhere; an empty schema if it has none.
	Schema value.Value
}

// Faults returns the problems of [Schema.Check], each with its subschema. The
// same problem may be there several times, with different subschemas.
func (s *Schema) Faults(v value.Value) []Fault {
	s.compileOnce()
	if s.err != nil {
		return []Fault{{uncheckable(s.err), objectOf()}}
	}
	var problems []problem
	certain := false
	if s.everyday {
		problems, certain = missingProperties(s.compiled, v)
		problems = sortByPointer(problems)
	}
	if !certain {
		problems = s.checkWithLibrary(v)
	}
	var faults []Fault
	for _, p := range problems {
		f := Fault{p.Problem, s.sourceOf(p.sub)}
		if p.Keyword == "required" {
			f.Schema = s.missingPropertySchema(p)
		}
		if !hasFault(faults, f) {
			faults = append(faults, f)
		}
	}
	return faults
}

// hasFault reports whether f is among the last faults, which have the same pointer.
func hasFault(faults []Fault, f Fault) bool {
	for i := len(faults) - 1; i >= 0 && faults[i].Pointer == f.Pointer; i-- {
		if faults[i].Problem == f.Problem && value.Equal(faults[i].Schema, f.Schema) {
			return true
		}
	}
	return false
}

// missingPropertySchema returns the schema of a missing property. The subschema that requires it may differ from
// the ones that describe it: it may be, for example, a branch of allOf.
func (s *Schema) missingPropertySchema(p problem) value.Value {
	_, name := cutLast(p.Pointer)
	if own, ok := p.sub.Properties[name]; ok {
		return s.sourceOf(own)
	}
	place := s.Describe(p.Pointer)
	switch len(place.Schemas) {
	case 0:
		return objectOf()
	case 1:
		return place.Schemas[0]
	}
	return objectOf("allOf", place.Schemas)
}

// Place is a schema's requirements for one place of the values that it describes. [Schema.Describe] creates it;
// its schemas are shared with the document and must not be changed.
type Place struct {
	// Schemas are the subschemas that speak of the place, in the order of the
	// document. A value there need not fit all of them: some may be of
	// branches of a union.
	Schemas []value.Value
	// All are Schemas with the targets of references and the branches of allOf,
	// anyOf, oneOf, then and else inside them.
	All []value.Value
	// Known is false if an object above the place is closed, or names its properties, and has no such name.
	Known bool
}

// Describe finds the subschemas about the place that the pointer names, independent of its value.
func (s *Schema) Describe(pointer string) Place {
	s.compileOnce()
	isPointer := pointer == "" || pointer[0] == '/'
	if s.err != nil || !isPointer {
		return Place{Known: true}
	}
	here, known := []*jsonschema.Schema{s.compiled}, true
	if pointer != "" {
		for token := range strings.SplitSeq(pointer[1:], "/") {
			next, ok := descendTo(withInPlace(here), value.Unescape(token))
			here, known = next, known && ok
		}
	}
	place := Place{Known: known}
	for _, sub := range here {
		place.Schemas = append(place.Schemas, s.sourceOf(sub))
	}
	for _, sub := range withInPlace(here) {
		place.All = append(place.All, s.sourceOf(sub))
	}
	return place
}

// withInPlace returns the subschemas and those for the same value, each once.
func withInPlace(subs []*jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	seen := map[*jsonschema.Schema]bool{}
	var add func(*jsonschema.Schema)
	add = func(sub *jsonschema.Schema) {
		if sub == nil || seen[sub] {
			return
		}
		seen[sub] = true
		all = append(all, sub)
		for _, in := range inPlaceSubschemas(sub) {
			if in != sub.Not && in != sub.If {
				add(in)
			}
		}
	}
	for _, sub := range subs {
		add(sub)
	}
	return all
}

// descendTo goes from subschemas of an object or an array to a member's subschemas. known is false if they list
// their members and this one is not among them.
func descendTo(subs []*jsonschema.Schema, token string) (next []*jsonschema.Schema, known bool) {
	add := func(sub *jsonschema.Schema) {
		known = true
		if !slices.Contains(next, sub) {
			next = append(next, sub)
		}
	}
	index, err := strconv.Atoi(token)
	if token == "-" {
		index, err = 0, nil
	}
	named := false // a subschema names its members
	for _, sub := range subs {
		matched := false
		if property, ok := sub.Properties[token]; ok {
			matched = true
			add(property)
		}
		for _, property := range matchingPatterns(sub, token) {
			matched = true
			add(property)
		}
		known = known || slices.Contains(sub.Required, token) || isDependent(sub, token)
		named = named || len(sub.Properties)+len(sub.PatternProperties) > 0
		switch rest := sub.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			if !matched {
				add(rest)
			}
		case bool:
			known, named = known || rest, named || !rest
		}
		if err == nil {
			item, ok := itemOf(sub, index)
			if item != nil {
				add(item)
			}
			known = known || ok
		}
	}
	return next, known || !named
}

// isDependent reports whether the presence of one member requires the member called name.
func isDependent(sub *jsonschema.Schema, name string) bool {
	for _, dependency := range sub.Dependencies {
		if names, ok := dependency.([]string); ok && slices.Contains(names, name) {
			return true
		}
	}
	for _, names := range sub.DependentRequired {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// maxName is the longest name, in bytes, that is looked up by patterns.
const maxName = 1000

// matchingPatterns returns the subschemas whose patterns match a name, in a stable order.
func matchingPatterns(sub *jsonschema.Schema, name string) (all []*jsonschema.Schema) {
	if len(name) > maxName {
		return nil
	}
	for pattern, property := range sub.PatternProperties {
		if pattern.MatchString(name) {
			all = append(all, property)
		}
	}
	slices.SortFunc(all, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	return all
}

// itemOf returns the subschema of an item of an array, if there is one. ok is false if sub does not mention items.
func itemOf(sub *jsonschema.Schema, index int) (item *jsonschema.Schema, ok bool) {
	tuple := sub.PrefixItems
	switch items := sub.Items.(type) {
	case *jsonschema.Schema:
		return items, true
	case []*jsonschema.Schema:
		tuple = items
	}
	if index >= 0 && index < len(tuple) {
		return tuple[index], true
	}
	if sub.Items2020 != nil {
		return sub.Items2020, true
	}
	if rest, isSchema := sub.AdditionalItems.(*jsonschema.Schema); isSchema {
		return rest, true
	}
	return nil, hasType(sub, value.List)
}
