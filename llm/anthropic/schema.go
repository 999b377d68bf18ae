package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

var (
	// takenKeywords are the keywords of a schema that the API takes; it refuses others.
	takenKeywords = []string{
		"$ref", "$defs", "definitions", "type", "anyOf", "allOf", "description", "title", "enum", "const",
		"properties", "additionalProperties", "required", "items", "minItems", "format", "pattern",
	}
	// takenFormats are the values of format that it takes.
	takenFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

// translateSchema returns a schema with keywords that the API does not take said in
// descriptions: {type: integer, minimum: 1} becomes {type: integer, description: "{minimum: 1}"}.
func translateSchema(raw json.RawMessage) (json.RawMessage, error) {
	var schema map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&schema); err != nil {
		return nil, wording.Errorf("the schema of the answer: %w", err)
	}
	if translated, ok := taken(schema).(map[string]any); ok {
		return endpoint.MustEncode(translated), nil
	}
	return nil, wording.Errorf("the schema of the answer cannot be translated")
}

// taken returns a schema as the API takes it; true for one that says nothing about the shape
// of a value.
func taken(schema any) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out, left := map[string]any{}, map[string]any{}
	for name, v := range s {
		if slices.Contains(takenKeywords, name) {
			out[name] = v
		} else {
			left[name] = v
		}
	}
	for _, name := range []string{"$defs", "definitions", "properties"} {
		takenMembers(out, name)
	}
	if ref, isRef := out["$ref"]; isRef { // no other keyword is allowed beside it
		maps.DeleteFunc(out, func(name string, _ any) bool { return name != "$defs" && name != "definitions" })
		out["$ref"] = ref
		return out
	}
	takenVariants(out, left)
	if !saysShape(out) {
		return true
	}
	takenOfType(out, left)
	describeLeft(out, left)
	return out
}

// takenMembers translates the schemas in a member that maps names to them.
func takenMembers(out map[string]any, name string) {
	members, ok := out[name].(map[string]any)
	if !ok {
		return
	}
	translated := make(map[string]any, len(members))
	for member, schema := range members {
		translated[member] = taken(schema)
	}
	out[name] = translated
}

// takenVariants translates anyOf and allOf. oneOf becomes anyOf; variants of it that say
// nothing would allow anything and are left out.
func takenVariants(out, left map[string]any) {
	one := left["oneOf"]
	delete(left, "oneOf")
	if out["anyOf"] == nil && one != nil {
		out["anyOf"] = one
	}
	for _, name := range []string{"anyOf", "allOf"} {
		list, ok := out[name].([]any)
		if !ok {
			continue
		}
		var variants []any
		for _, schema := range list {
			v := taken(schema)
			_, wasObject := schema.(map[string]any)
			isEmptied := wasObject && v == true
			if name == "allOf" || !isEmptied {
				variants = append(variants, v)
			}
		}
		out[name] = variants
	}
}

func saysShape(s map[string]any) bool {
	for _, name := range []string{"type", "anyOf", "allOf", "enum", "const"} {
		if _, ok := s[name]; ok {
			return true
		}
	}
	return false
}

// takenOfType translates the keywords that go with the type of a schema.
func takenOfType(out, left map[string]any) {
	switch out["type"] {
	case "object":
		_, isClosed := out["properties"]
		more, isOpen := out["additionalProperties"]
		switch {
		case isClosed:
			out["additionalProperties"] = false
		case isOpen:
			out["additionalProperties"] = taken(more)
		default:
			out["properties"], out["additionalProperties"] = map[string]any{}, false
		}
	case "string":
		if format, ok := out["format"].(string); ok && !slices.Contains(takenFormats, format) {
			left["format"] = format
			delete(out, "format")
		}
	case "array":
		if items, ok := out["items"]; ok {
			out["items"] = taken(items)
		}
		if n, ok := out["minItems"].(json.Number); ok && n != "0" && n != "1" {
			left["minItems"] = n
			delete(out, "minItems")
		}
	}
}

// describeLeft writes leftover keywords into the description.
func describeLeft(out, left map[string]any) {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(left)) {
		switch v := left[name].(type) {
		case nil, bool:
			if v == true {
				words = append(words, name+": true")
			}
		case map[string]any, []any:
			words = append(words, name+": "+string(endpoint.MustEncode(v)))
		default:
			words = append(words, fmt.Sprintf("%s: %v", name, v))
		}
	}
	if words == nil {
		return
	}
	said := "{" + strings.Join(words, ", ") + "}"
	if before, _ := out["description"].(string); before != "" {
		said = before + "\n\n" + said
	}
	out["description"] = said
}
