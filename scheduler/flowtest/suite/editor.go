package suite

import (
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
)

// EditorSchema returns the JSON Schema (draft 7) of test files for editors: it completes and explains keys, subjects and
// matchers. Lint finds more than it.
func EditorSchema() value.Value {
	m := value.Pairs(
		"$schema", "http://json-schema.org/draft-07/schema#",
		"title", "Test file",
		"description", "Cases of a flow, and what is expected of their runs. Lint finds more than this schema.",
	)
	for key, v := range withChecks(fileSchema().Annotated()).Map().All() {
		m.Set(key, v)
	}
	m.Set("definitions", value.OfMap(value.Pairs("check", check.ItemSchema())))
	return value.OfMap(m)
}

// withChecks returns a schema in which the items of expect are checks.
func withChecks(doc value.Value) value.Value {
	switch doc.Kind() {
	case value.List:
		items := make([]value.Value, len(doc.List()))
		for i, item := range doc.List() {
			items[i] = withChecks(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(doc.Map().Len())
		for key, v := range doc.Map().All() {
			v = withChecks(v)
			if key == checkMark {
				list := v.Map().Clone()
				list.Set("items", value.OfMap(value.Pairs("$ref", "#/definitions/check")))
				v = value.OfMap(list)
			}
			m.Set(key, v)
		}
		return value.OfMap(m)
	}
	return doc
}
