package openapi

import (
	"encoding/json"

	"github.com/getkin/kin-openapi/openapi2"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// keptKeywords is a member of parameters and schemas that holds what [setAsideKeywords] took out of them.
const keptKeywords = "x-scheduler-keywords"

// setAsideKeywords returns a document of Swagger 2.0 in which the library can decode every parameter and schema: one keyword of a
// wrong type (maximum: "10") makes it refuse the whole document. Such keywords go into keptKeywords, which the conversion carries along, and
// [restoreKeywords] puts them back, so that only what uses them is refused.
func setAsideKeywords(doc value.Value) value.Value {
	return withMembers(doc, func(key string, member value.Value) value.Value {
		switch key {
		case "paths":
			return withEach(member, decodablePath)
		case "definitions":
			return withEach(member, decodableSchema)
		case "parameters":
			return withEach(member, decodableParameter)
		case "responses":
			return withEach(member, decodableResponse)
		}
		return member
	})
}

func decodablePath(item value.Value) value.Value {
	return withMembers(item, func(key string, member value.Value) value.Value {
		if key == "parameters" {
			return withItems(member, decodableParameter)
		}
		return withMembers(member, func(key string, member value.Value) value.Value {
			switch key {
			case "parameters":
				return withItems(member, decodableParameter)
			case "responses":
				return withEach(member, decodableResponse)
			}
			return member
		})
	})
}

func decodableResponse(response value.Value) value.Value {
	return withMembers(response, func(key string, member value.Value) value.Value {
		switch key {
		case "schema":
			return decodableSchema(member)
		case "headers":
			return withEach(member, decodableParameter)
		}
		return member
	})
}

func decodableParameter(parameter value.Value) value.Value {
	parameter = withMembers(parameter, func(key string, member value.Value) value.Value {
		if key == "schema" || key == "items" {
			return decodableSchema(member)
		}
		return member
	})
	return withDecodable[openapi2.Parameter](parameter)
}

func decodableSchema(schema value.Value) value.Value {
	schema = withMembers(schema, func(key string, member value.Value) value.Value {
		switch key {
		case "properties":
			return withEach(member, decodableSchema)
		case "allOf":
			return withItems(member, decodableSchema)
		case "items", "additionalProperties", "not":
			return decodableSchema(member)
		}
		return member
	})
	return withDecodable[openapi2.SchemaRef](schema)
}

// withDecodable returns an object with the members that fit a type of the library, and the others in keptKeywords.
func withDecodable[T any](object value.Value) value.Value {
	if object.Kind() != value.Object {
		return object
	}
	if _, err := decode[T](object); err == nil {
		return object
	}
	fitting, kept := value.NewMap(0), value.NewMap(0)
	for key, member := range object.Map().All() {
		if _, err := decode[T](value.OfMap(value.Pairs(key, member))); err != nil {
			kept.Set(key, member)
			continue
		}
		fitting.Set(key, member)
	}
	fitting.Set(keptKeywords, value.OfMap(kept))
	return value.OfMap(fitting)
}

// decode returns a value as a type of the library.
func decode[T any](v value.Value) (*T, error) {
	decoded := new(T)
	return decoded, json.Unmarshal(v.AppendJSON(nil), decoded)
}

// restoreKeywords puts what [setAsideKeywords] took out of schemas back into those of the converted document. Parameters and bodies keep it, for
// [reader] to refuse them.
func restoreKeywords(v value.Value) value.Value {
	if v.Kind() == value.List {
		return withItems(v, restoreKeywords)
	}
	v = withEach(v, restoreKeywords)
	kept, hasKept := v.Get(keptKeywords)
	_, isParameter := v.Get("in")
	_, isBody := v.Get("content")
	if !hasKept || isParameter || isBody {
		return v
	}
	m := value.NewMap(v.Map().Len() + kept.Map().Len())
	for key, member := range v.Map().All() {
		if key != keptKeywords {
			m.Set(key, member)
		}
	}
	for key, member := range kept.Map().All() {
		m.Set(key, member)
	}
	return value.OfMap(m)
}

// checkKept returns an error where a converted parameter, or a body, had a keyword of the wrong type.
func checkKept(given value.Value) error {
	kept, _ := given.Get(keptKeywords)
	for key, member := range kept.Map().All() {
		return wording.Errorf("%s cannot be %s", key, value.Truncate(member.JSON(), 60))
	}
	return nil
}

// withMembers returns an object with its members edited, and any other value as it is.
func withMembers(v value.Value, edit func(key string, member value.Value) value.Value) value.Value {
	if v.Kind() != value.Object {
		return v
	}
	m := value.NewMap(v.Map().Len())
	for key, member := range v.Map().All() {
		m.Set(key, edit(key, member))
	}
	return value.OfMap(m)
}

// withEach is withMembers for an edit that is the same for all keys.
func withEach(v value.Value, edit func(value.Value) value.Value) value.Value {
	return withMembers(v, func(_ string, member value.Value) value.Value { return edit(member) })
}

// withItems returns a list with its items edited, and any other value as it is.
func withItems(v value.Value, edit func(value.Value) value.Value) value.Value {
	if v.Kind() != value.List {
		return v
	}
	items := make([]value.Value, len(v.List()))
	for i, item := range v.List() {
		items[i] = edit(item)
	}
	return value.OfList(items...)
}
