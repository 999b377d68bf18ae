package agent

import (
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// overlayFixed lays the fixed members over the arguments: they win if both have a member.
func overlayFixed(arguments value.Value, fixed *value.Map) value.Value {
	if arguments.Kind() != value.Object {
		arguments = value.OfMap(nil)
	}
	m := arguments.Map().Clone()
	for name, v := range fixed.All() {
		if given, ok := m.Get(name); ok && given.Kind() == value.Object && v.Kind() == value.Object {
			v = overlayFixed(given, v.Map())
		}
		m.Set(name, v)
	}
	return value.OfMap(m)
}

// withoutFixed returns a schema of parameters without the fixed ones.
func withoutFixed(doc value.Value, fixed *value.Map) value.Value {
	properties, _ := doc.Get("properties")
	kept := value.NewMap(properties.Map().Len())
	for name, property := range properties.Map().All() {
		v, isFixed := fixed.Get(name)
		if isFixed {
			// An object with known members may be fixed in part.
			_, named := property.Get("properties")
			if v.Kind() != value.Object || !named {
				continue
			}
			property = withoutFixed(property, v.Map())
			if left, _ := property.Get("properties"); left.Map().Len() == 0 {
				continue
			}
		}
		kept.Set(name, property)
	}
	m := doc.Map().Clone()
	m.Set("properties", value.OfMap(kept))
	m.Delete("description")
	required, _ := doc.Get("required")
	var needed []value.Value
	for _, name := range required.List() {
		text, _ := name.Str()
		_, stays := kept.Get(text)
		_, isDeclared := properties.Get(text)
		_, isFixed := fixed.Get(text)
		isOpen := !isDeclared && !isFixed // it has no schema of its own
		if stays || isOpen {
			needed = append(needed, name)
		}
	}
	m.Delete("required")
	if len(needed) > 0 {
		m.Set("required", value.OfList(needed...))
	}
	if kept.Len() < properties.Map().Len() {
		// The model must not give a removed member by its name.
		return closeObject(value.OfMap(m))
	}
	return value.OfMap(m)
}

func closeObject(doc value.Value) value.Value {
	m := doc.Map().Clone()
	m.Set("additionalProperties", value.OfBool(false))
	return value.OfMap(m)
}

// withoutParams returns the schema of parameters without some of them.
func withoutParams(params *schema.Schema, names []string) (*schema.Schema, error) {
	if len(names) == 0 {
		return params, nil
	}
	doc := params.Doc().Map().Clone()
	properties, _ := doc.Get("properties")
	kept := properties.Map().Clone()
	for _, name := range names {
		kept.Delete(name)
	}
	doc.Set("properties", value.OfMap(kept))
	return schema.Parse(value.OfMap(doc))
}

// withoutMember returns a value without the member of an object at a path of escaped names. It leaves lists as
// they are.
func withoutMember(v value.Value, path []string) value.Value {
	if v.Kind() != value.Object || len(path) == 0 {
		return v
	}
	m, name := v.Map().Clone(), value.Unescape(path[0])
	if len(path) == 1 {
		m.Delete(name)
	} else if inner, given := m.Get(name); given {
		m.Set(name, withoutMember(inner, path[1:]))
	}
	return value.OfMap(m)
}
