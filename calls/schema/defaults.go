package schema

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// ApplyDefaults returns v with the defaults of missing properties filled in, at every level that v has and inside
// the defaults themselves. Defaults inside unions are ignored: the branch that was meant is unknown. v itself is
// not changed.
func (s *Schema) ApplyDefaults(v value.Value) value.Value { return s.withDefaults(s.doc, v) }

func (s *Schema) withDefaults(schema, v value.Value) value.Value {
	schema = s.resolveRef(schema)
	switch v.Kind() {
	case value.Object:
		return s.memberDefaults(schema, v)
	case value.List:
		items, ok := schema.Get("items")
		if !ok || items.Kind() != value.Object {
			return v
		}
		var changed []value.Value
		for i, item := range v.List() {
			if filled := s.withDefaults(items, item); !isUnchanged(filled, item) {
				if changed == nil {
					changed = slices.Clone(v.List())
				}
				changed[i] = filled
			}
		}
		if changed != nil {
			return value.OfList(changed...)
		}
	}
	return v
}

func (s *Schema) memberDefaults(schema, v value.Value) value.Value {
	properties, _ := schema.Get("properties")
	var changed *value.Map
	set := func(k string, x value.Value) {
		if changed == nil {
			changed = v.Map().Clone()
		}
		changed.Set(k, x)
	}
	for name, property := range properties.Map().All() {
		member, ok := v.Get(name)
		if !ok {
			if def, has := property.Get("default"); has {
				// References are not followed: they may lead back here.
				if _, refers := property.Get("$ref"); !refers {
					def = s.withDefaults(property, def)
				}
				set(name, def)
			}
			continue
		}
		if filled := s.withDefaults(property, member); !isUnchanged(filled, member) {
			set(name, filled)
		}
	}
	if changed == nil {
		return v
	}
	return value.OfMap(changed)
}

// resolveRef goes after references inside the document to the schema they name.
func (s *Schema) resolveRef(schema value.Value) value.Value {
	for range 16 {
		ref, ok := schema.Get("$ref")
		if !ok {
			return schema
		}
		text, _ := ref.Str()
		fragment, local := strings.CutPrefix(text, "#")
		schema, ok = s.doc.At(decodeLocation(fragment))
		if !ok || !local {
			return value.Value{}
		}
	}
	return value.Value{}
}

// isUnchanged reports whether withDefaults returned its argument.
func isUnchanged(a, b value.Value) bool {
	if a.Map() != nil || b.Map() != nil {
		return a.Map() == b.Map()
	}
	la, lb := a.List(), b.List()
	if len(la) != len(lb) {
		return false
	}
	return len(la) == 0 || &la[0] == &lb[0]
}
