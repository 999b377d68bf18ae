package schema

import "github.com/callnode/scheduler/llm/value"

// Within returns the document that checks one place of doc, a schema of an object:
// the schema of the place, with the definitions of doc that it may refer to. A null
// place stands for any value.
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
