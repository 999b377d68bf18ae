package schema

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// FromText reads text as the type of a property wants it, for values that come
// from a command line: for a string the text itself, for a boolean true, false or a word
// of [YesOrNo], for anything else JSON. A
// property that may be a string, or anything, takes text that is not JSON as a
// string. The value is not checked against the rest of the schema.
func (s *Schema) FromText(property, text string) (value.Value, error) {
	properties, _ := s.doc.Get("properties")
	own, _ := properties.Get(property)
	types, typed := own.Get("type")
	names := typeNames(types)
	if typed && slices.Equal(names, []string{"string"}) {
		return value.OfString(text), nil
	}
	v, err := value.ParseJSON([]byte(text))
	if err == nil {
		if _, err := value.ParseStrictJSON([]byte(text)); err != nil {
			return value.Value{}, wording.Errorf("the JSON at %w", err)
		}
		return v, nil
	}
	if !typed || slices.Contains(names, "string") {
		return value.OfString(text), nil
	}
	if yes, ok := YesOrNo(text); ok && slices.Contains(names, "boolean") {
		return yes, nil
	}
	return value.Value{}, wording.Errorf("want %s, got %q: %w", anyOfTypes(names), value.Truncate(text, 40), err)
}

// YesOrNo reads a boolean as people write it.
func YesOrNo(text string) (v value.Value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes", "true", "是", "对", "好":
		return value.OfBool(true), true
	case "n", "no", "false", "否", "不", "不是":
		return value.OfBool(false), true
	}
	return value.Value{}, false
}

// typeNames returns the value of the keyword type, which is a name or a list of them.
func typeNames(types value.Value) (names []string) {
	if name, ok := types.Str(); ok {
		return []string{name}
	}
	for _, item := range types.List() {
		name, _ := item.Str()
		names = append(names, name)
	}
	return names
}
