package schema

import (
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// Rewrite returns a copy of a schema document in which edit has changed the keywords of every subschema, inner
// ones first. Data, such as defaults, is left unchanged; doc itself is not changed.
func Rewrite(doc value.Value, edit func(keywords *value.Map)) value.Value {
	return rewritePart(doc, false, edit)
}

// rewritePart is Rewrite for a part of a document. names means that the keys of v are
// names of the schema's own, not keywords.
func rewritePart(v value.Value, names bool, edit func(*value.Map)) value.Value {
	if list := v.List(); len(list) > 0 {
		items := make([]value.Value, len(list))
		for i, item := range list {
			items[i] = rewritePart(item, false, edit)
		}
		return value.OfList(items...)
	}
	if v.Kind() != value.Object {
		return v
	}
	m := value.NewMap(v.Map().Len())
	for key, member := range v.Map().All() {
		if names || !holdsData(key) {
			member = rewritePart(member, !names && holdsNames(key), edit)
		}
		m.Set(key, member)
	}
	if !names {
		edit(m)
	}
	return value.OfMap(m)
}

// holdsData reports whether the value of a keyword is data, not schemas.
func holdsData(keyword string) bool {
	switch keyword {
	case "const", "enum", "default", "examples":
		return true
	}
	return false
}

// holdsNames reports whether the members of a keyword's value are schemas by name.
func holdsNames(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas":
		return true
	}
	return false
}

// walkSchemas visits a schema and all below it with their pointers.
func walkSchemas(s value.Value, at string, visit func(s value.Value, at string)) {
	if s.Kind() != value.Object {
		return
	}
	visit(s, at)
	for key, member := range s.Map().All() {
		below := at + "/" + value.Escape(key)
		if holdsNames(key) {
			for name, sub := range member.Map().All() {
				walkSchemas(sub, below+"/"+value.Escape(name), visit)
			}
			continue
		}
		switch key {
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties",
			"unevaluatedProperties", "propertyNames", "contentSchema", "not", "if", "then", "else", "allOf", "anyOf", "oneOf":
			walkSchemas(member, below, visit)
			for i, sub := range member.List() {
				walkSchemas(sub, below+"/"+strconv.Itoa(i), visit)
			}
		}
	}
}

func objectOf(kv ...any) value.Value { return value.OfMap(value.Pairs(kv...)) }

// Within returns the document that checks one place of doc, a schema of an object: the schema of the place, with
// the definitions of doc that it may refer to. A null place allows any value.
func Within(doc, place value.Value) value.Value {
	m := value.NewMap(3)
	for key, member := range doc.Map().All() {
		switch key {
		case "type", "properties", "required":
		default:
			m.Set(key, member)
		}
	}
	if !place.IsNull() {
		m.Set("allOf", value.OfList(place))
	}
	return value.OfMap(m)
}

// WithProperty returns the schema of an object with another schema for one property; the
// property keeps its description.
func WithProperty(object value.Value, name string, property value.Value) value.Value {
	properties, _ := object.Get("properties")
	before, _ := properties.Get(name)
	if doc, described := before.Get("description"); described && property.Kind() == value.Object {
		m := property.Map().Clone()
		m.Set("description", doc)
		property = value.OfMap(m)
	}
	m := properties.Map().Clone()
	m.Set(name, property)
	out := object.Map().Clone()
	out.Set("properties", value.OfMap(m))
	return value.OfMap(out)
}
