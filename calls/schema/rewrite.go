package schema

import "github.com/callnode/scheduler/llm/value"

// Rewrite returns a copy of a schema document in which edit has changed the keywords
// of every subschema, inner ones first. Data, such as defaults, is left as it is; doc
// itself is not changed.
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
