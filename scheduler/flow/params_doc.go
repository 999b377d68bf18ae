package flow

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// ParamsDoc returns the schema of a call's parameters as people read it: each has an example, also nested ones. It
// comes from its tag, from the example of a parameter around it or of the call, or is the default or an allowed
// value.
func ParamsDoc(info *calls.Info) value.Value {
	var uses []value.Value
	for _, e := range info.Examples {
		if with, err := yaml.ParseValue([]byte(e.With)); err == nil {
			uses = append(uses, with)
		}
	}
	return describeMembers(info.Params.Annotated(), uses)
}

// describeMembers returns a schema whose properties have examples. uses are values that fit
// it.
func describeMembers(doc value.Value, uses []value.Value) value.Value {
	m := doc.Map().Clone()
	if items, ok := m.Get("items"); ok && items.Kind() == value.Object {
		var inner []value.Value
		for _, use := range uses {
			inner = append(inner, use.List()...)
		}
		m.Set("items", describeMembers(items, inner))
	}
	properties, ok := m.Get("properties")
	if !ok {
		return value.OfMap(m)
	}
	described := value.NewMap(properties.Map().Len())
	for name, p := range properties.Map().All() {
		var inner []value.Value
		for _, use := range uses {
			if member, ok := use.Get(name); ok {
				inner = append(inner, member)
			}
		}
		described.Set(name, describeParam(p, inner))
	}
	m.Set("properties", value.OfMap(described))
	return value.OfMap(m)
}

// describeParam returns the schema of a parameter with an example.
func describeParam(doc value.Value, uses []value.Value) value.Value {
	if text, ok := doc.At("/examples/0"); ok {
		source, _ := text.Str()
		if v, err := yaml.ParseValue([]byte(source)); err == nil {
			uses = slices.Insert(uses, 0, v)
		}
	}
	m := describeMembers(doc, uses).Map()
	if len(uses) > 0 {
		m.Set("examples", value.OfList(uses[0]))
	} else if v, ok := usualValue(doc); ok {
		m.Set("examples", value.OfList(v))
	}
	return value.OfMap(m)
}

// usualValue returns a value that a schema names itself.
func usualValue(doc value.Value) (v value.Value, ok bool) {
	if v, ok := doc.Get("default"); ok {
		return v, true
	}
	if v, ok := doc.At("/enum/0"); ok {
		return v, true
	}
	kind, _ := doc.Get("type")
	name, _ := kind.Str()
	return value.OfBool(true), name == "boolean"
}

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
