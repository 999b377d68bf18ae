package processor

import (
	"fmt"
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// AddNullToBasicTypes returns a schema in which booleans, numbers, integers and strings
// may be null as well, so that an answer can say that a value is not known. It is
// laid over properties, items and the branches of unions, not over definitions,
// additionalProperties and tuples; an enum or a const still refuses null.
func AddNullToBasicTypes(schema value.Value) value.Value {
	if schema.Kind() != value.Object {
		return schema
	}
	m := schema.Map().Clone()
	if types := typesOf(schema); slices.ContainsFunc(types, isBasicType) && !slices.Contains(types, "null") {
		m.Set("type", value.Must(append(slices.Clip(types), "null")))
	}
	if properties, ok := m.Get("properties"); ok && properties.Kind() == value.Object {
		nullable := value.NewMap(properties.Map().Len())
		for name, property := range properties.Map().All() {
			nullable.Set(name, AddNullToBasicTypes(property))
		}
		m.Set("properties", value.OfMap(nullable))
	}
	if items, ok := m.Get("items"); ok {
		m.Set("items", AddNullToBasicTypes(items))
	}
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		branches, ok := m.Get(union)
		if !ok || branches.Kind() != value.List {
			continue
		}
		nullable := make([]value.Value, len(branches.List()))
		for i, branch := range branches.List() {
			nullable[i] = AddNullToBasicTypes(branch)
		}
		m.Set(union, value.OfList(nullable...))
	}
	return value.OfMap(m)
}

func isBasicType(typeName string) bool {
	return slices.Contains([]string{"boolean", "number", "string", "integer"}, typeName)
}

// EmptySlot returns an example of the data that a schema describes: defaults, the first branches of unions that
// have an example, the objects of allOf as one, "" and 0 and false, one item in every array. It is null if the
// schema names no type, or the branches of allOf are more than one value.
func EmptySlot(schema value.Value) value.Value {
	if def, ok := schema.Get("default"); ok && !def.IsNull() {
		return def
	}
	for _, union := range []string{"anyOf", "oneOf"} {
		branches, _ := schema.Get(union)
		for _, branch := range branches.List() {
			if example := EmptySlot(branch); !example.IsNull() {
				return example
			}
		}
	}
	if branches, ok := schema.Get("allOf"); ok {
		return emptySlotOfAll(branches.List())
	}
	types := typesOf(schema)
	if len(types) == 0 {
		return value.Value{}
	}
	switch types[0] {
	case "string":
		return value.OfString("")
	case "integer", "number":
		return value.OfInt(0)
	case "boolean":
		return value.OfBool(false)
	case "array":
		items, _ := schema.Get("items")
		return value.OfList(EmptySlot(items))
	case "object":
		m := value.NewMap(0)
		properties, _ := schema.Get("properties")
		for name, property := range properties.Map().All() {
			m.Set(name, EmptySlot(property))
		}
		return value.OfMap(m)
	}
	return value.Value{}
}

func emptySlotOfAll(branches []value.Value) value.Value {
	var all value.Value
	for _, branch := range branches {
		example := deepCopy(EmptySlot(branch))
		switch {
		case all.IsNull():
			all = example
		case all.Kind() != value.Object || example.Kind() != value.Object:
			return value.Value{}
		default:
			for name, member := range example.Map().All() {
				all.Map().Set(name, member)
			}
		}
	}
	return all
}

// TypeDescription returns the types and descriptions in a schema, without its other keywords: {type, description,
// items}. items has the properties of an object, the one item of an array, the items of a tuple (item_0 ...), or
// the branches of a union, for which type is anyOf, oneOf, allOf, or union if the schema lists types.
func TypeDescription(schema value.Value) value.Value {
	description, _ := schema.Get("description")
	text, _ := description.Str()
	describe := func(kind string, items *value.Map) value.Value {
		m := value.Pairs("type", kind, "description", text)
		if items != nil {
			m.Set("items", value.OfMap(items))
		}
		return value.OfMap(m)
	}
	numbered := func(schemas []value.Value) *value.Map {
		items := value.NewMap(len(schemas))
		for i, sub := range schemas {
			items.Set(fmt.Sprintf("item_%d", i), TypeDescription(sub))
		}
		return items
	}
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		if branches, ok := schema.Get(union); ok && branches.Kind() == value.List {
			return describe(union, numbered(branches.List()))
		}
	}
	types, _ := schema.Get("type")
	if list := types.List(); len(list) == 1 {
		types = list[0]
	}
	if types.Kind() == value.List {
		items := value.NewMap(len(types.List()))
		for i, name := range types.List() {
			items.Set(fmt.Sprintf("item_%d", i), value.OfMap(value.Pairs("type", name, "description", "")))
		}
		return describe("union", items)
	}
	name, _ := types.Str()
	switch name {
	case "object":
		properties, ok := schema.Get("properties")
		if !ok {
			break
		}
		items := value.NewMap(properties.Map().Len())
		for property, sub := range properties.Map().All() {
			items.Set(property, TypeDescription(sub))
		}
		return describe(name, items)
	case "array":
		item, ok := schema.Get("items")
		if item.Kind() == value.List {
			return describe(name, numbered(item.List()))
		}
		if ok {
			return describe(name, value.Pairs("item", TypeDescription(item)))
		}
	}
	return describe(name, nil)
}

// ParamsNode returns the tree of parameters below a root of that name: {paramName, paramPath, paramType,
// subParams}. The path is the names from the root on, separated by slashes; the type is string, number, bool, list
// or dict; subParams are the properties of a dict, else null. Properties without a single type are left out; a
// schema without one gives null.
func ParamsNode(schema value.Value, name string) value.Value { return paramsNodeAt(schema, name, name) }

func paramsNodeAt(schema value.Value, name, path string) value.Value {
	var kind string
	switch typeName, _ := schema.Get("type"); typeName.JSON() {
	case `"string"`:
		kind = "string"
	case `"integer"`, `"number"`:
		kind = "number"
	case `"boolean"`:
		kind = "bool"
	case `"array"`:
		kind = "list"
	case `"object"`:
		kind = "dict"
	default:
		return value.Value{}
	}
	var sub value.Value
	if properties, has := schema.Get("properties"); has && kind == "dict" {
		children := []value.Value{}
		for property, schema := range properties.Map().All() {
			if child := paramsNodeAt(schema, property, path+"/"+property); !child.IsNull() {
				children = append(children, child)
			}
		}
		sub = value.OfList(children...)
	}
	return value.OfMap(value.Pairs("paramName", name, "paramPath", path, "paramType", kind, "subParams", sub))
}
