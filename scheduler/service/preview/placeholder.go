package preview

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// maxDepth limits the depth of a schema's placeholder.
const maxDepth = 5

// placeholderText returns the text that replaces an unknown value: ‹inputs.visitor›.
func placeholderText(name string) string { return "‹" + name + "›" }

// placeholderOf returns a value that fits a JSON Schema as far as its types go; the texts in it name their place.
// name is the path of the value as a template writes it.
func placeholderOf(schema value.Value, name string, depth int) value.Value {
	for _, key := range []string{"const", "default"} {
		if v, ok := schema.Get(key); ok {
			return v
		}
	}
	if choices, _ := schema.Get("enum"); len(choices.List()) > 0 {
		return choices.List()[0]
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		parts, _ := schema.Get(key)
		if len(parts.List()) > 0 && typeOf(schema) == "" {
			return placeholderOf(parts.List()[0], name, depth)
		}
	}
	switch typeOf(schema) {
	case "object":
		return placeholderObject(schema, name, depth)
	case "array":
		return placeholderList(schema, name, depth)
	case "number", "integer":
		least, ok := schema.Get("minimum")
		if !ok {
			return value.OfInt(0)
		}
		return least
	case "boolean":
		return value.OfBool(false)
	case "null":
		return value.Value{}
	}
	return value.OfString(placeholderText(name))
}

// typeOf returns the type of a schema: the first that is not null if it lists several, "" if it names none.
func typeOf(schema value.Value) string {
	named, _ := schema.Get("type")
	for _, one := range append([]value.Value{named}, named.List()...) {
		if text, ok := one.Str(); ok && (text != "null" || named.Kind() == value.String) {
			return text
		}
	}
	if properties, ok := schema.Get("properties"); ok && properties.Map().Len() > 0 {
		return "object"
	}
	return ""
}

// placeholderObject returns the members of an object: of a whole output only the required ones, for a template may
// ask whether others exist, such as tool_calls of chat.
func placeholderObject(schema value.Value, name string, depth int) value.Value {
	object := value.NewMap(4)
	if depth >= maxDepth {
		return value.OfMap(object)
	}
	properties, _ := schema.Get("properties")
	required := requiredOf(schema)
	for key, property := range properties.Map().All() {
		if depth > 0 || len(required) == 0 || slices.Contains(required, key) {
			object.Set(key, placeholderOf(property, name+"."+key, depth+1))
		}
	}
	return value.OfMap(object)
}

// requiredOf returns the names of the members that an object must have.
func requiredOf(schema value.Value) (names []string) {
	required, _ := schema.Get("required")
	for _, one := range required.List() {
		if name, ok := one.Str(); ok {
			names = append(names, name)
		}
	}
	return names
}

// placeholderList returns as many items as a list must have, and one at least if they are described.
func placeholderList(schema value.Value, name string, depth int) value.Value {
	items, isDescribed := schema.Get("items")
	if !isDescribed || depth >= maxDepth {
		return value.OfList()
	}
	count := 1
	if least, ok := schema.Get("minItems"); ok {
		if n, ok := least.Int(); ok {
			count = min(max(count, int(n)), maxDepth)
		}
	}
	list := make([]value.Value, count)
	for i := range list {
		list[i] = placeholderOf(items, name+"["+strconv.Itoa(i)+"]", depth+1)
	}
	return value.OfList(list...)
}

// maxIndex bounds the items of a list that is made because a template names one of them.
const maxIndex = 20

// methods are names behind a value that are not members of it, for example in {% for k, v in a.items() %}.
var methods = []string{"items", "keys", "values", "get"}

// withMentioned returns a value that has a member at a path that a template names, for example body.temperature of the answer of
// a server that no schema describes. name is the path of the value itself.
func withMentioned(v value.Value, path []string, name string) value.Value {
	if len(path) == 0 {
		if v.IsNull() {
			return value.OfString(placeholderText(name))
		}
		return v
	}
	if i, err := strconv.Atoi(path[0]); err == nil {
		list := slices.Clone(v.List())
		if i < 0 || i > maxIndex {
			return v
		}
		for len(list) <= i {
			list = append(list, value.Value{})
		}
		list[i] = withMentioned(list[i], path[1:], name+"["+path[0]+"]")
		return value.OfList(list...)
	}
	if v.Kind() == value.List || slices.Contains(methods, path[0]) {
		return v
	}
	object := value.NewMap(1)
	for key, member := range v.Map().All() {
		object.Set(key, member)
	}
	member, _ := object.Get(path[0])
	object.Set(path[0], withMentioned(member, path[1:], name+"."+path[0]))
	return value.OfMap(object)
}
