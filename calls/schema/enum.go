package schema

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// relaxEnums rewrites the enums that the library refuses, although draft 7 only says
// that they should not be there: repeated values count once, and an empty enum
// admits no value. An enum with null beside OpenAPI's nullable admits null.
func relaxEnums(doc value.Value) value.Value {
	return Rewrite(doc, func(m *value.Map) {
		enum, ok := m.Get("enum")
		if !ok || enum.Kind() != value.List {
			return
		}
		if len(enum.List()) == 0 {
			m.Delete("enum")
			m.Set("not", value.OfMap(nil))
			return
		}
		m.Set("enum", value.OfList(distinctValues(enum.List())...))
		nullable, _ := m.Get("nullable")
		if yes, _ := nullable.Bool(); !yes || !slices.ContainsFunc(enum.List(), value.Value.IsNull) {
			return
		}
		types, typed := m.Get("type")
		if names := typeNames(types); typed && !slices.Contains(names, "null") {
			m.Set("type", value.Must(append(names, "null")))
		}
	})
}

// distinctValues returns the values without repetitions.
func distinctValues(values []value.Value) (kept []value.Value) {
	buckets := map[string][]value.Value{} // equal values are in one
	for _, v := range values {
		key := v.JSON()
		if f, isNumber := v.Float(); isNumber {
			key = strconv.FormatFloat(f, 'g', -1, 64) // 1 and 1.0
		}
		repeated := slices.ContainsFunc(buckets[key], func(other value.Value) bool { return value.Equal(other, v) })
		if !repeated {
			buckets[key] = append(buckets[key], v)
			kept = append(kept, v)
		}
	}
	return kept
}

// isEmptyEnum reports whether a schema has an enum without values.
func isEmptyEnum(doc value.Value) bool {
	enum, ok := doc.Get("enum")
	return ok && enum.Kind() == value.List && len(enum.List()) == 0
}
