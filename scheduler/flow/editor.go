package flow

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// EditorSchema returns the JSON Schema (draft 7) of flow files for editors: it
// completes keys, the names of calls, and the parameters of the call that a step names. It is more lenient than
// lint at places that allow templates. providers are the model providers of the settings, which it completes after
// llm: as one name and in a list.
func EditorSchema(reg *calls.Registry, providers ...string) value.Value {
	doc := schema.MustFor[flowKeys]().Doc()
	properties, _ := doc.Get("properties")
	steps, _ := properties.Get("steps")
	step, _ := steps.Get("items")
	whole := withMembers(value.OfMap(value.Pairs(
		"$schema", "http://json-schema.org/draft-07/schema#",
		"title", "Flow",
		"description", "A flow: steps that call things, in the order that their needs give. Lint finds more than this schema.",
	)), schemaMembers(withMembers(doc,
		"patternProperties", keySchema("^x-", keySchema("description", "Anything: a place for anchors. Nothing reads it.")),
		"properties", withMembers(properties,
			"inputs", withMembers(memberOf(properties, "inputs"), "allOf", []value.Value{keySchema("$ref", "http://json-schema.org/draft-07/schema#")}),
			"steps", withMembers(steps, "minItems", 1, "items", editorStep(step, reg)))))...)
	if len(providers) == 0 {
		return whole
	}
	return changeProperties(whole, "llm", func(s value.Value) value.Value { return offerNames(s, providers) })
}

// offerNames returns a schema of a name, or of a list of names, that also knows some of them.
func offerNames(s value.Value, names []string) value.Value {
	known := keySchema("enum", names)
	if items, isList := s.Get("items"); isList {
		return withMembers(s, "items", keySchema("anyOf", []value.Value{known, items}))
	}
	branches, _ := s.Get("anyOf")
	if len(branches.List()) == 0 {
		return s
	}
	all := []value.Value{known}
	for _, branch := range branches.List() {
		all = append(all, offerNames(branch, names))
	}
	return withMembers(s, "anyOf", all)
}

// editorStep lays the calls over the schema of a step.
func editorStep(step value.Value, reg *calls.Registry) value.Value {
	properties, _ := step.Get("properties")
	var names, branches []value.Value
	for _, name := range reg.CallNames() {
		def, _ := reg.Call(name)
		names = append(names, keySchema("const", name, "description", def.Info.Summary.En))
		branches = append(branches, keySchema(
			"if", keySchema("properties", keySchema("call", keySchema("const", name)), "required", []string{"call"}),
			"then", suggestWords(editorParams(def.Info), importanceKey, reg.ImportanceNames())))
	}
	names = append(names, keySchema("type", "string", "pattern", `^[a-z0-9-]+\.[a-z0-9-]+$`, "description", "A call of a plugin."))
	step = withMembers(step, "properties", withMembers(properties,
		"when", withMembers(memberOf(properties, "when"), "pattern", `^\s*\{\{[\s\S]*\}\}\s*$`),
		"call", withMembers(memberOf(properties, "call"), "anyOf", value.OfList(names...)),
		"id", withMembers(memberOf(properties, "id"), "not", keySchema("enum", reservedNames))))
	if len(branches) > 0 {
		step = withMembers(step, "allOf", value.OfList(branches...))
	}
	return step
}

// importanceKey is how parameters of calls name importance functions.
const importanceKey = "importance_func"

// suggestWords returns the properties of that name, at any depth, words that an editor may
// complete.
func suggestWords(doc value.Value, property string, words []string) value.Value {
	if len(words) == 0 {
		return doc
	}
	return changeProperties(doc, property, func(s value.Value) value.Value { return withMembers(s, "examples", words) })
}

// changeProperties returns a schema with the schemas of the properties of that name, at any depth, changed.
func changeProperties(doc value.Value, property string, change func(value.Value) value.Value) value.Value {
	if doc.Kind() == value.List {
		items := make([]value.Value, len(doc.List()))
		for i, item := range doc.List() {
			items[i] = changeProperties(item, property, change)
		}
		return value.OfList(items...)
	}
	if doc.Kind() != value.Object {
		return doc
	}
	m := value.NewMap(doc.Map().Len())
	for key, member := range doc.Map().All() {
		member = changeProperties(member, property, change)
		if key == property && member.Kind() == value.Object {
			member = change(member)
		}
		m.Set(key, member)
	}
	return value.OfMap(m)
}

// editorParams returns the schema for a step of one call.
func editorParams(info *calls.Info) value.Value {
	params := allowExpressions(ParamsDoc(info))
	doc := keySchema("properties", keySchema("with", withMembers(params, "type", []string{"object", "string"})))
	required, _ := info.Params.Doc().Get("required")
	if len(required.List()) == 0 {
		return doc
	}
	filled := keySchema("properties", keySchema("enable_filling", keySchema("const", true)), "required", []string{"enable_filling"})
	needed := keySchema("properties", keySchema("with", keySchema("required", required)), "required", []string{"with"})
	return withMembers(doc, "if", filled, "else", needed)
}

// allowExpressions allows templates in the schema of parameters: a place that allows no text then allows one with
// {{, and a place for an object or a list any text, which may be the path of a !file. Required parameters are left
// to the caller.
func allowExpressions(doc value.Value) value.Value {
	m := doc.Map().Clone()
	m.Delete("required")
	doc = value.OfMap(m)
	if properties, ok := doc.Get("properties"); ok {
		loose := value.NewMap(properties.Map().Len())
		for name, p := range properties.Map().All() {
			loose.Set(name, orTemplate(allowExpressions(p)))
		}
		doc = withMembers(doc, "properties", value.OfMap(loose))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := doc.Get(key); ok && inner.Kind() == value.Object {
			doc = withMembers(doc, key, orTemplate(allowExpressions(inner)))
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		branches, ok := doc.Get(key)
		if !ok {
			continue
		}
		loose := make([]value.Value, len(branches.List()))
		for i, b := range branches.List() {
			loose[i] = allowExpressions(b)
		}
		doc = withMembers(doc, key, loose)
	}
	return doc
}

// orTemplate returns a schema that takes a template too.
func orTemplate(doc value.Value) value.Value {
	typed, _ := doc.Get("type")
	types := []string{}
	for _, t := range append(slices.Clone(typed.List()), typed) {
		if name, ok := t.Str(); ok {
			types = append(types, name)
		}
	}
	template := keySchema("type", "string", "pattern", `\{\{`)
	takesAny := len(types) == 0 && !hasAny(doc, "enum", "const")
	takesText := slices.Contains(types, "string") && !hasAny(doc, "enum", "pattern", "minLength", "maxLength", "const")
	if slices.Contains(types, "object") || slices.Contains(types, "array") || hasAny(doc, "anyOf", "oneOf", "allOf") {
		template = keySchema("type", "string")
	} else if takesAny || takesText {
		return doc
	}
	either := keySchema("anyOf", value.OfList(doc, template))
	for _, key := range []string{"description", "default", "examples"} {
		if v, ok := doc.Get(key); ok {
			either = withMembers(either, key, v)
		}
	}
	return either
}

// schemaMembers lists the members of an object as with takes them.
func schemaMembers(doc value.Value) (kv []any) {
	for k, v := range doc.Map().All() {
		kv = append(kv, k, v)
	}
	return kv
}
