package schema

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// FromText reads text as the schema's type wants it, for values that come from a
// command line: for a string the text itself, for anything else JSON. A schema
// that allows a string takes text that is no JSON as one. The value is not
// checked yet.
func FromText(schema value.Value, text string) (value.Value, error) {
	types, _ := schema.Get("type")
	names := listing(types)
	if _, ok := schema.Get("type"); !ok {
		names = "string, any"
	}
	if names == "string" {
		return value.OfString(text), nil
	}
	v, err := value.ParseJSON([]byte(text))
	switch {
	case err == nil:
		return v, nil
	case strings.Contains(names, "string"):
		return value.OfString(text), nil
	}
	return value.Value{}, fmt.Errorf("%q is not the JSON of a %s: %w", clip(text), names, err)
}

// Property is the schema of the property of that name; an empty schema where
// there is none.
func (s *Schema) Property(name string) value.Value {
	properties, _ := s.doc.Get("properties")
	property, ok := properties.Get(name)
	if !ok {
		return object()
	}
	return property
}
