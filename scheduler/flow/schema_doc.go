package flow

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

func hasAny(doc value.Value, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { _, ok := doc.Get(k); return ok })
}

// withMembers returns an object with members set to other values.
func withMembers(doc value.Value, kv ...any) value.Value {
	m := doc.Map().Clone()
	for k, v := range value.Pairs(kv...).All() {
		m.Set(k, v)
	}
	return value.OfMap(m)
}

func memberOf(doc value.Value, name string) value.Value {
	v, _ := doc.Get(name)
	return v
}

func keySchema(kv ...any) value.Value { return value.OfMap(value.Pairs(kv...)) }
